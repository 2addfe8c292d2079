"""What a bandit's file is written from and read into. RAW: that file is its owner's alone (reticent.core.snapshot)."""

from typing import Any

import numpy as np

from reticent.data import Raw
from reticent.mechanisms.opening import opened


def arrays(state: Any) -> list[Any]:
    """The arrays of a nested NamedTuple, in order, also of its closed parts; other numbers in it are settings."""
    if isinstance(state, Raw):
        return arrays(opened(state))
    if isinstance(state, tuple):
        return [leaf for part in state for leaf in arrays(part)]
    return [state] if isinstance(state, np.ndarray) else []
