"""One call at a time: two threads that close the same step would noise the same people's data twice."""

import functools
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from tacit.forks import Renewed

P = ParamSpec("P")
R = TypeVar("R")


class Turn(Renewed):
    """A lock that its holder may take again. A forked child has its own: nobody there would let go of the parent's."""

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._here()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Takes(Protocol):
    """What has a turn, and may refuse to show what it has released."""

    _turn: Turn

    def _may_show(self) -> None: ...


T = TypeVar("T", bound=Takes)


def in_turn(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """A method that waits for its turn."""

    @functools.wraps(method)
    def call(self: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._turn:
            return method(self, *args, **kwargs)

    return call


def shown(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """A method that shows released state."""

    @functools.wraps(method)
    def call(self: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._turn:
            self._may_show()
            return method(self, *args, **kwargs)

    return call
