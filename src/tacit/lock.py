"""One call at a time: two threads that close the same step would noise the same people's data twice."""

import functools
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

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


class Durable(Lockable, Protocol):
    """What can refuse to show a release that is not on disk yet."""

    def _may_show(self) -> None: ...


T = TypeVar("T", bound=Lockable)
D = TypeVar("D", bound=Durable)


def locked(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """A method that runs under the lock."""

    @functools.wraps(method)
    def call(self: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return call


def requires_durable(method: Callable[Concatenate[D, P], R]) -> Callable[Concatenate[D, P], R]:
    """A method that shows released state: it runs under the lock, and only once the release is durable."""

    @functools.wraps(method)
    def call(self: D, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            self._may_show()
            return method(self, *args, **kwargs)

    return call
