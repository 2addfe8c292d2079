"""The decorators of every kernel: compiled once, cached on disk, and running without Python's lock.

No fastmath (it deletes NaN checks), no parallel sums (their order is part of the result).

numba renews a cached function when its own file changes, but not when a function it calls does. So the cache lives in
a folder named after the contents of all that may be compiled with it (kernels/, model/, models/ and the *_kernel.py
elsewhere, of its package and of those whose kernels these call): what runs is always what is written, and what one
package changes compiles nothing anew in those below it.

Whoever waits for that is told once, on standard error.

A fork waits until no thread is compiling: numba's lock would stay shut in the child."""

import functools
import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock as compiling
from numba.extending import overload, register_jitable

from reticent.data import Exact, Released

P = ParamSpec("P")
R = TypeVar("R")

os.register_at_fork(before=compiling.acquire, after_in_parent=compiling.release, after_in_child=compiling.release)


class Notice(event.Listener):  # type: ignore[misc]
    """Says that kernels are being compiled: once in a process, and only where none is in the cache."""

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__.startswith("reticent"):
            numba.core.event.unregister("numba:compile", self)
            sys.stderr.write("reticent: compiling, once on this machine: some seconds for each kind of bandit.\n")

    def on_end(self, event: Any) -> None:
        pass


numba.core.event.register("numba:compile", Notice())


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    return _compile(function, inline="never")


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """For small steps that draw random numbers in hot loops: a call that passes a generator costs 40 ns."""
    return _compile(function, inline="always")


def formula(function: Callable[P, R]) -> Callable[P, R]:
    """Kernels may call it; everybody else gets plain Python."""
    out: Callable[P, R] = register_jitable(function)
    return out


def _compile(function: Callable[P, R], *, inline: str) -> Callable[P, R]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _folder(before, function.__module__.partition(".")[0])
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, inline=inline)(function)
        return compiled
    finally:
        numba.config.CACHE_DIR = before


@functools.cache
def _folder(given: str, package: str) -> str:
    """A folder within NUMBA_CACHE_DIR if that is set, else within the user's cache."""
    contents, packages = hashlib.sha256(), list(dict.fromkeys(["reticent", package]))
    for each in packages:
        for path in _compiled(each):
            source = path.read_bytes()
            contents.update(source)
            called = re.findall(r"^from (reticent\w*)", source.decode(), re.MULTILINE)
            packages += [name for name in dict.fromkeys(called) if name not in packages]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return str(Path(given or home / "reticent") / f"kernels-{contents.hexdigest()[:16]}")


def _compiled(package: str) -> list[Path]:
    """The files of a package that may be compiled; of a single module none."""
    module = importlib.import_module(package)
    folders = [Path(folder) for folder in getattr(module, "__path__", ())]
    patterns = "kernels/*.py", "model/*.py", "models/*.py", "**/*_kernel.py"
    return [path for folder in folders for path in sorted(one for each in patterns for one in folder.glob(each))]


@overload(Exact)
@overload(Released)
def _itself(array):
    """Within kernels, too, the types are names alone."""
    return lambda array: array
