"""Imports that follow from the registry's tables. They stand under TYPE_CHECKING where names are loaded when they are
first used: type checkers then know them, too."""

import re
from collections.abc import Mapping
from pathlib import Path

BLOCK = re.compile(r"(?:^(?: {4})?from .* import (\w+) as \1\n)+", re.MULTILINE)


def text(file: Path, homes: Mapping[str, str]) -> str:
    """A package's __init__.py that imports these names, each from its module."""
    now = file.read_text()
    (block,) = BLOCK.finditer(now)
    indent = "    " * block[0].startswith(" ")
    pairs = sorted((home, name) for name, home in homes.items())
    return now.replace(block[0], "".join(f"{indent}from {home} import {name} as {name}\n" for home, name in pairs))
