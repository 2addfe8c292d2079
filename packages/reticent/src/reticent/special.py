"""scipy.special, loaded when something of it is first used: it takes a tenth of a second."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("scipy.special"), name)
