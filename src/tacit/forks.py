"""What a forked child must not share with its parent. A child has one thread and a copy of everything: a lock that
another thread of the parent held stays shut there for ever, and numbers that the parent drew would be used by both."""

import os
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
