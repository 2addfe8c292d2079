"""The one decorator of every kernel: compiled once, cached on disk, and running without Python's lock."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile with a disk cache; no fastmath (it deletes NaN checks), no parallel sums (order is the result)."""
    compiled: F = numba.njit(cache=True, nogil=True)(function)
    return compiled
