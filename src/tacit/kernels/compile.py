"""The decorators of every kernel: compiled once, cached on disk, and running without Python's lock.

No fastmath (it deletes NaN checks), no parallel sums (their order is part of the result)."""

from collections.abc import Callable
from typing import Any

import numba


def kernel(function: Callable[..., Any]) -> Any:
    return numba.njit(cache=True, nogil=True)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """For small steps that draw random numbers in hot loops: a call that passes a generator costs 40 ns."""
    return numba.njit(inline="always", cache=True, nogil=True)(function)
