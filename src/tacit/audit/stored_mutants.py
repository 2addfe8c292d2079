"""Planted bugs of bandits on a database: the real code with one thing wrong, for as long as a context lasts.

The schema, the seal and the certificate are as they should be, and each bug claims what the sound code claims."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from tacit.data import Integers, Raw, Released
from tacit.errors import TacitError
from tacit.holders import face, rows
from tacit.holders.database import Run
from tacit.holders.leaf_rows import Leaf
from tacit.holders.requests import Report
from tacit.holders.rounds import Rounds
from tacit.holders.rows import Waiting
from tacit.holders.versions import Versions
from tacit.mechanisms import leaves
from tacit.mechanisms.grid import Grid


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
    """A leaf is the exact sums."""
    measure: Any = Grid.measure

    def exact(grid: Grid, state: Any, sums: Raw, _source: Any) -> Released:
        out: Released = measure(grid, state, sums, Silent())
        return out

    return put(Grid, "measure", exact)


class Redrawn(Versions):
    """Leaves are kept exact, and get their noise when they are read: one noise for each process."""

    def _show(self, leaf: Leaf) -> None:
        grid: Any = self._bandit.mechanism
        noise = grid.step * self._bandit.source.integers(1, grid.size, grid.cells)[0]
        noisy = Released(leaves.read(leaf.noisy, grid.size) + noise)
        super()._show(leaf._replace(noisy=leaves.written(noisy)))


@contextlib.contextmanager
def redrawn_on_restart() -> Iterator[None]:
    with raw_release(), put(face, "Versions", Redrawn):
        yield


def counted_twice() -> AbstractContextManager[None]:
    """A reward looks for its waiting row and leaves it there: sent again, it counts again."""

    def looked(run: Run, uid: str, ticket: bytes) -> Waiting | None:
        found = run("SELECT number, made_at, sealed FROM waiting WHERE bandit = ? AND ticket = ?", uid, ticket)
        return Waiting(int(found[0][0]), float(found[0][1]), bytes(found[0][2])) if found else None

    return put(rows, "take", looked)


class Triggered(Rounds):
    """A step closes when as many rewards have come as it should have choices."""

    _came = 0

    def observe(self, reports: Sequence[Report]) -> list[TacitError | None]:
        out = super().observe(reports)
        self._came += sum(report.reward is not None for report in reports)
        if self._came >= self._bandit._schedule.first:
            self._came = 0
            with self._database.transaction() as run:
                head = rows.head(run, self._line.uid, self._database.locking)
                rows.advance(run, self._line.uid, self._close_step(run, head))
            self._wake.set()
        return out


def triggered_by_rewards() -> AbstractContextManager[None]:
    return put(face, "Rounds", Triggered)


RAW_RELEASE = Plant("A leaf is the exact sums.", raw_release)
REDRAWN = Plant("Noise is drawn when a leaf is read, anew after a restart.", redrawn_on_restart)
COUNTED_TWICE = Plant("A reward that is sent again counts again.", counted_twice)
TRIGGERED = Plant("A step closes by the number of rewards.", triggered_by_rewards)
