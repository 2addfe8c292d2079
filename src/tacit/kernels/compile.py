"""The decorators of every kernel: compiled once, cached on disk, and running without Python's lock.

No fastmath (it deletes NaN checks), no parallel sums (their order is part of the result)."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    compiled: F = numba.njit(cache=True, nogil=True)(function)
    return compiled


def inlined(function: F) -> F:
    """For small steps that draw random numbers in hot loops: a call that passes a generator costs 40 ns."""
    compiled: F = numba.njit(inline="always", cache=True, nogil=True)(function)
    return compiled
