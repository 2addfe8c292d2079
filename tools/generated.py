"""`make generated`: files, or parts of them, that follow from the code and are written by no one. A test fails while one
of them is not what the code says (tests/whole/test_generated.py)."""

from collections.abc import Callable
from pathlib import Path

from tools import links

ROOT = Path(__file__).parents[1]
FILES: dict[str, Callable[[], str]] = {
    "js/src/links.js": links.text,
}


def main() -> None:
    for name, text in FILES.items():
        path, now = ROOT / name, text()
        if not path.exists() or path.read_text() != now:
            path.write_text(now)
            print(f"{name} written")


if __name__ == "__main__":
    main()
