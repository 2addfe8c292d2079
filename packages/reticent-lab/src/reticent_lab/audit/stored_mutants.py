"""Planted bugs of bandits on a database: the real code with one thing wrong, for as long as a context lasts.

The schema, the seal and the certificate are as they should be, and each bug claims what the sound code claims."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from reticent.data import Exact, Integers, Released
from reticent.mechanisms import leaves
from reticent.mechanisms.grid import Grid
from reticent.privacy.noise import Secure
from reticent_serve.holders import rows, stored
from reticent_serve.holders.choosing import Choosing
from reticent_serve.holders.database import Run
from reticent_serve.holders.leaf_rows import Leaf
from reticent_serve.holders.requests import Report
from reticent_serve.holders.rows import OpenStep
from reticent_serve.holders.served import ServedEstimates
from reticent_serve.holders.steps import Steps


class Plant(NamedTuple):
    """A bug: in words, and what puts it into the code."""

    what: str
    planted: Callable[[], AbstractContextManager[None]]


@contextlib.contextmanager
def put(owner: Any, name: str, wrong: Any) -> Iterator[None]:
    kept = getattr(owner, name)
    setattr(owner, name, wrong)
    try:
        yield
    finally:
        setattr(owner, name, kept)


class Silent:
    """A source without noise."""

    def integers(self, count: int, size: int, cells: float) -> Integers:
        return np.zeros((count, size), np.int64)


def raw_release() -> AbstractContextManager[None]:
    """A leaf is the exact sums, whatever it claims."""
    measure: Any = Grid.measure

    def wrong(grid: Grid, state: Any, sums: Exact, _source: Any) -> Released:
        out: Released = measure(grid, state, sums, Silent())
        return out

    return put(Grid, "measure", wrong)


class RedrawnOnRestart(ServedEstimates):
    """Leaves are kept exact, and get their noise when they are read: one noise for each process."""

    def _show(self, leaf: Leaf) -> None:
        grid: Any = self.estimator.algorithm.plan.mechanism
        noise = grid.step * Secure().integers(1, grid.size, grid.cells)[0]
        noisy = Released(leaves.read(leaf.noisy, grid.size) + noise)
        super()._show(leaf._replace(noisy=leaves.written(noisy)))


@contextlib.contextmanager
def redrawn_on_restart() -> Iterator[None]:
    with raw_release(), put(stored, "ServedEstimates", RedrawnOnRestart):
        yield


@contextlib.contextmanager
def counted_twice() -> Iterator[None]:
    """A choice enters once for each time that its reward was sent."""
    sent: Counter[bytes] = Counter()

    class Counting(Choosing):
        def write(self, reports: Sequence[Report]) -> list[bool]:
            sent.update(report.ticket.text for report in reports)
            return super().write(reports)

    class Again(Steps):
        def _enter(self, run: Run, opened: OpenStep, part: Any) -> None:
            waiting = [one for one in part.waiting for _ in range(max(1, sent[one.ticket]))]
            super()._enter(run, opened, part._replace(waiting=waiting))

    with put(stored, "Choosing", Counting), put(stored, "Steps", Again):
        yield


class Triggered(Choosing):
    """A step gets longer when as many rewards have come as it should have choices."""

    _came = 0

    def write(self, reports: Sequence[Report]) -> list[bool]:
        out = super().write(reports)
        self._came += len(reports)
        if self._came >= self._served.estimator.algorithm.plan.schedule.first:
            self._came = 0
            with self._database.transaction() as run:
                head = rows.head(run, self._store.uid, self._database.locking)
                rows.advance(run, self._store.uid, head._replace(boundary=head.boundary + 1))
        return out


def triggered_by_rewards() -> AbstractContextManager[None]:
    return put(stored, "Choosing", Triggered)


RAW_RELEASE = Plant("A leaf is the exact sums.", raw_release)
REDRAWN = Plant("Noise is drawn when a leaf is read, anew after a restart.", redrawn_on_restart)
COUNTED_TWICE = Plant("A reward that is sent again counts again.", counted_twice)
TRIGGERED = Plant("A step closes by the number of rewards.", triggered_by_rewards)
