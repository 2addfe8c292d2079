"""The changelog's top version is the package's, and that of the device in JavaScript: part of `make check`."""

import json
import re
import sys
from pathlib import Path

import tacit

root = Path(__file__).parents[1]
top = re.search(r"^## \[(.+?)\]", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
found = {
    "CHANGELOG.md": top and top.group(1),
    "js/package.json": json.loads((root / "js/package.json").read_text())["version"],
}
for name, version in found.items():
    if version != tacit.__version__:
        sys.exit(f"Expected {name} to have version {tacit.__version__}, got {version}.")
