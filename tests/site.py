"""The site that `make docs` has built asks nothing from elsewhere: it can be read without a network."""

import re
import sys
from pathlib import Path

# What a browser fetches by itself; where a link leads to is the reader's choice.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|embed|object|link)\b[^>]*?\b(?:src|href|data|srcset)=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""",
    re.IGNORECASE,
)


def outside(text: str) -> list[str]:
    """Addresses elsewhere that a page or a style sheet fetches."""
    return [first or second for first, second in FETCHED.findall(text)]


def main(folder: Path) -> None:
    assert outside('<script src="https://a.example/x.js">') and outside("a {b: url(//a.example/x.png)}")
    assert not outside('<a href="https://a.example/">') and not outside('<img src="images/x.png">')
    pages = [path for path in folder.rglob("*") if path.suffix in (".html", ".css")]
    found = {f"{path.relative_to(folder)}: {address}" for path in pages for address in outside(path.read_text())}
    if not (folder / "index.html").exists() or found:
        sys.exit(f"Expected a site in {folder} that fetches nothing from elsewhere, got {sorted(found) or 'no site'}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
