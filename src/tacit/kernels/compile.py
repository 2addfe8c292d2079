"""The decorators of every kernel: compiled once, cached on disk, and running without Python's lock.

No fastmath (it deletes NaN checks), no parallel sums (their order is part of the result).

numba renews a cached function when its own file changes, but not when a function it calls does. So the cache lives in
a folder named after the contents of all that may be compiled (kernels/, model/, and the *_kernel.py elsewhere): what
runs is always what is written.

A fork waits until no thread is compiling: numba's lock would stay shut in the child."""

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import numba
from numba.core.compiler_lock import global_compiler_lock as compiling
from numba.extending import overload

from tacit.data import Exact, Released

P = ParamSpec("P")
R = TypeVar("R")

os.register_at_fork(before=compiling.acquire, after_in_parent=compiling.release, after_in_child=compiling.release)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    return _compile(function, inline="never")


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """For small steps that draw random numbers in hot loops: a call that passes a generator costs 40 ns."""
    return _compile(function, inline="always")


def _compile(function: Callable[P, R], *, inline: str) -> Callable[P, R]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _folder(before)
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, inline=inline)(function)
        return compiled
    finally:
        numba.config.CACHE_DIR = before


@functools.cache
def _folder(given: str) -> str:
    """A folder within NUMBA_CACHE_DIR if that is set, else within the user's cache."""
    contents = hashlib.sha256()
    package = Path(__file__).parent.parent
    for path in sorted([*package.glob("kernels/*.py"), *package.glob("model/*.py"), *package.rglob("*_kernel.py")]):
        contents.update(path.read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return str(Path(given or home / "tacit") / f"kernels-{contents.hexdigest()[:16]}")


@overload(Exact)
@overload(Released)
def _itself(array):
    """Within kernels, too, the types are names alone."""
    return lambda array: array
