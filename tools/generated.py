"""`make generated`: files, or parts of files, that follow from the code and are written by nobody. A test fails while
one of them is not what the code says (tests/whole/test_generated.py)."""

import functools
from collections.abc import Callable
from pathlib import Path

from tacit import bandits, papers, registry
from tools import layers, links, names, path

ROOT = Path(__file__).parents[1]
NAMES = {
    "tacit": registry.HOMES | {"environments": "tacit"},
    "tacit.bandits": bandits.HOMES,
    "tacit.environments": {name: home for home, name in registry.ENVIRONMENTS.values()}
    | dict.fromkeys(("Environment", "World"), "tacit.environments.base")
    | {"Delay": "tacit.environments.delay"},
    "tacit.papers": papers.HOMES,
}
FILES: dict[str, Callable[[], str]] = {
    "js/src/links.js": links.text,
    "docs/images/layers.svg": layers.text,
    "docs/images/path.svg": path.text,
    **{
        f"src/{package.replace('.', '/')}/__init__.py": functools.partial(names.text, package, homes)
        for package, homes in NAMES.items()
    },
}


def main() -> None:
    for name, text in FILES.items():
        file, now = ROOT / name, text()
        if not file.exists() or file.read_text() != now:
            file.write_text(now)
            print(f"{name} written")


if __name__ == "__main__":
    main()
