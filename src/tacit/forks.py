"""Forks. A child has one thread and a copy of everything: a lock that another thread of the parent held stays shut
there for ever, and numbers that the parent drew would be used by both."""

import os
import threading
import weakref
from abc import ABC, abstractmethod


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


class Gate(Renewed):
    """Work that a fork must not cut in two, one thread at a time: a fork waits until nobody is inside. Who waits at the
    door goes in next, so that a thread that comes again and again keeps nobody out."""

    def __init__(self) -> None:
        super().__init__()
        os.register_at_fork(before=self._close, after_in_parent=self._open)  # the child has locks of its own

    def _renew(self) -> None:
        self._door, self._inside = threading.RLock(), threading.RLock()
        self._owner, self._depth = 0, 0

    def __enter__(self) -> None:
        self._here()
        if self._owner == threading.get_ident():  # a signal's handler, say: nobody else can be inside
            self._inside.acquire()
        else:
            with self._door:
                self._inside.acquire()
        self._owner, self._depth = threading.get_ident(), self._depth + 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
        self._inside.release()

    def _close(self) -> None:
        self._door.acquire()
        self._inside.acquire()

    def _open(self) -> None:
        self._inside.release()
        self._door.release()


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
