"""The changelog's top version is the package's, and that of the device in JavaScript: part of `make check`."""

import json
import re
import sys
import tomllib
from pathlib import Path

import reticent

root, JS = Path(__file__).parents[1], "packages/reticent-devices/js/package.json"
top = re.search(r"^## \[(.+?)\]", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
found = {
    "CHANGELOG.md": top and top.group(1),
    "CITATION.cff": re.search(r"^version: (.+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)[1],
    JS: json.loads((root / JS).read_text())["version"].replace("-a.", "a"),  # npm has 1.0.0-a.1 for 1.0.0a1
    **{
        path.relative_to(root).as_posix(): tomllib.loads(path.read_text())["project"]["version"]
        for path in [*root.glob("packages/*/pyproject.toml"), *root.glob("experimental/*/pyproject.toml")]
        if path.parent.name != "reticent"  # whose version is the package's
    },
}
for name, version in found.items():
    if version != reticent.__version__:
        sys.exit(f"Expected {name} to have version {reticent.__version__}, got {version}.")
