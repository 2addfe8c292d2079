"""One call at a time: two threads that close the same step would noise the same people's data twice."""

import functools
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from tacit.forks import Renewed

P = ParamSpec("P")
R = TypeVar("R")


class Lock(Renewed):
    """A lock that its holder may take again. A forked child gets a new one, because there nobody would release the
    parent's."""

    def _renew(self) -> None:
        self._held = threading.RLock()

    def __enter__(self) -> None:
        self._here()
        self._held.acquire()

    def __exit__(self, *_: object) -> None:
        self._held.release()


class Lockable(Protocol):
    """What has a lock."""

    _lock: Lock


class Owned(Lockable, Protocol):
    """What can refuse to be used where another goes on from its state."""

    def _own(self) -> None: ...


T = TypeVar("T", bound=Lockable)
Q = TypeVar("Q", bound=Owned)


def locked(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """A method that runs under the lock. Whatever floating-point errors the program raises: what is too small for a
    number is 0, and one person's tiny features fail in nobody's call."""

    @functools.wraps(method)
    def call(self: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock, np.errstate(under="ignore"):
            return method(self, *args, **kwargs)

    return call


def owner_only(method: Callable[Concatenate[Q, P], R]) -> Callable[Concatenate[Q, P], R]:
    """A method that shows released state: it runs under the lock, and raises BadState in a forked copy and in a bandit
    whose saved state another has gone on from."""

    @functools.wraps(method)
    def call(self: Q, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock, np.errstate(under="ignore"):
            self._own()
            return method(self, *args, **kwargs)

    return call
