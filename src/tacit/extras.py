"""What only experiments or only a store need, from the extras of those names: loaded when it is used, with a clear word
where it is missing."""

import importlib
from typing import Any

from tacit.errors import NotInstalled

DISTRIBUTIONS = {"dp_accounting": "dp-accounting", "sklearn": "scikit-learn"}  # where they are named differently


def load(module: str, what: str, *, extra: str = "experiments") -> Any:
    """That module; NotInstalled if its package is missing. what: the purpose, e.g. "figures"."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # it is there, and something that it needs is not
    name = DISTRIBUTIONS.get(package, package)
    raise NotInstalled(f"Expected {name} for {what}, got none: pip install '.[{extra}]' in a checkout of tacit.")
