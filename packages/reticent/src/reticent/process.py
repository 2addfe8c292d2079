"""What a forked child must not share with its parent. A child has one thread and a copy of everything: a lock that
another thread of the parent held stays shut there for ever, and numbers that the parent drew would be used by both."""

import contextlib
import functools
import os
import signal
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np


class Renewed(ABC):
    """Makes anew in a forked child what belongs to the parent, before anything else runs there."""

    def __init__(self) -> None:
        self._renew()
        self._process = process()
        _alive.add(self)

    @abstractmethod
    def _renew(self) -> None:
        """Set what a child must not share: called at the start, and in each child."""

    def _here(self) -> None:
        """Call this first: some servers fork without telling Python."""
        if self._process != process():
            self._renew()
            self._process = process()


_alive: "weakref.WeakSet[Renewed]" = weakref.WeakSet()
_generation = 0  # how many forks lie between this process and the first one


def process() -> tuple[int, int]:
    """What tells this process from the one that it was forked from. Not its number alone: in a new namespace a child
    may have its parent's."""
    return os.getpid(), _generation


def _in_child() -> None:
    global _generation
    _generation += 1
    for one in list(_alive):
        one._here()


os.register_at_fork(after_in_child=_in_child)


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


JUMP = 1.0  # seconds: a clock that moves by more from one look to the next was set


class Steady:
    """Seconds since 1970, as the system's clock had them when this was made, and what has passed since."""

    def __init__(self, wall: Callable[[], float] = time.time, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._elapsed = wall, elapsed
        self._start = wall() - elapsed()
        self._apart = 0.0

    def __call__(self) -> float:
        return self._start + self._elapsed()

    def jumped(self) -> bool:
        """Whether the system's clock was set since this was last asked. It is not followed."""
        before, self._apart = self._apart, self._wall() - self()
        return abs(self._apart - before) > JUMP


@contextlib.contextmanager
def stopping_at_once() -> Iterator[None]:
    """While a process compiles, and until its databases are open, SIGTERM and SIGINT end it where it is: what is on
    disk stands whenever that happens. An exception might be raised in one of the compiler's callbacks, which print it
    and go on."""

    def stop(*_: object) -> None:
        os.write(2, b"Stopped.\n")
        os._exit(130)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
