"""Where a command will write, tried before it works for it."""

import tempfile
from pathlib import Path

PICTURES = (".png", ".svg", ".pdf")


def check_figure(path: Path | None) -> None:
    """Refuse a picture that could not be drawn or kept."""
    if path is None:
        return
    if path.suffix not in PICTURES:
        raise ValueError(f"Expected a .png, .svg or .pdf file to plot to, got {path}.")
    check_folder(path.parent)
    if path.exists():
        try:
            path.open("ab").close()
        except OSError as error:
            raise ValueError(f"Expected a file that can be written, got {path}: {error.strerror}.") from None


def check_folder(path: Path | None) -> None:
    """Make that folder, and refuse one that cannot be written to."""
    if path is None:
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise ValueError(f"Expected a folder that can be written to, got {path}: {error.strerror}.") from None
