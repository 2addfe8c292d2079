"""What only some need, from extras: loaded when it is used, with a clear word where it is missing."""

import importlib
from typing import Any

from reticent.errors import NotInstalled

DISTRIBUTIONS = {"dp_accounting": "dp-accounting"}  # where they are named differently


def load(module: str, what: str, *, extra: str, package: str = "reticent") -> Any:
    """That module; NotInstalled if its distribution is missing. what: its purpose, e.g. "logs". extra: of which package
    it is."""
    top = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != top:
            raise  # it is there, and something that it needs is not
    name = DISTRIBUTIONS.get(top, top)
    raise NotInstalled(f"Expected {name} for {what}, got none: pip install '{package}[{extra}]'.")
