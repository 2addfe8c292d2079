"""`make generated`: files, or parts of files, that follow from the code and are written by nobody. A test fails while
one of them is not what the code says (tests/whole/test_generated.py)."""

import functools
import importlib
from collections.abc import Callable
from pathlib import Path

import reticent_devices
import reticent_papers
import reticent_serve
from reticent import registry
from tools import layers, links, names, path

ROOT = Path(__file__).parents[1]
NAMES = {
    "reticent": registry.HOMES | {"environments": "reticent"},
    "reticent.environments": {name: home for home, name in registry.ENVIRONMENTS.values()}
    | dict.fromkeys(("Environment", "World"), "reticent.environments.base")
    | {"Delay": "reticent.environments.delay"},
    "reticent_serve": reticent_serve.HOMES,
    "reticent_devices": reticent_devices.HOMES,
    "reticent_papers": reticent_papers.HOMES,
}
FILES: dict[str, Callable[[], str]] = {
    "packages/reticent-devices/js/src/links.js": links.text,
    "docs/images/layers.svg": layers.text,
    "docs/images/path.svg": path.text,
    **{
        file.relative_to(ROOT).as_posix(): functools.partial(names.text, file, homes)
        for package, homes in NAMES.items()
        for file in [Path(str(importlib.import_module(package).__file__))]
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
