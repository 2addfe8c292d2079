"""The changelog's top version is the package's: part of `make check`."""

import re
import sys
from pathlib import Path

import tacit

top = re.search(r"^## \[(.+?)\]", (Path(__file__).parents[1] / "CHANGELOG.md").read_text(), re.MULTILINE)
if top is None or top.group(1) != tacit.__version__:
    sys.exit(f"Expected CHANGELOG.md to start with version {tacit.__version__}, got {top and top.group(1)}.")
