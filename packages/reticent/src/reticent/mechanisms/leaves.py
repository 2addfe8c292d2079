"""A continual release on a grid, one leaf at a time, for a store: what is released is one noisy leaf after the other,
and every prefix is computed from those.

Two parties each work on a state of their own. The one that releases knows the exact sums of all closed steps
(`ClosedSteps`) and computes the next noisy leaf, which changes nothing yet: a leaf counts only once its
row is committed.
The one that serves knows noisy leaves alone (`Prefixes`), as they were read from committed rows (`read`)."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from reticent.data import Array, Exact, Integers, Raw, Released
from reticent.errors import BadState
from reticent.kernels.continual import PrefixState
from reticent.mechanisms.continual import RowAdder
from reticent.mechanisms.entering import EnteringRows
from reticent.mechanisms.grid import Grid
from reticent.mechanisms.opening import opened, sealed, unsealed
from reticent.privacy.noise import Simulated


def nothing_released(size: int | tuple[int, ...]) -> Released:
    """Zeros: what stands where nothing has been released."""
    return Released(np.zeros(size))


class RowSum(Protocol):
    def __call__(self, rows: Array, rewards: Array) -> Exact:
        """The sum over checked rows at one estimate; a row whose reward is NaN contributes nothing."""
        ...


class Summer(NamedTuple):
    """At the estimate of one release: an adder, how many numbers a row adds to, and what they are rounded by
    (mechanisms.grid). Public numbers alone, so that it may go to another machine."""

    adder: RowAdder
    size: int
    cell: float
    longest: float

    def __call__(self, rows: Array, rewards: Array) -> Exact:
        """In whole cells."""
        out = Exact(np.zeros(self.size, np.int64))
        self.adder.add(rows, rewards, self.cell, self.longest, out)
        return out


class Whole(NamedTuple):
    """All of a step."""

    total: Raw[Exact]
    wrong: Integers  # by row: what is wrong with it, or 0


def no_rows(rows: Array, rewards: Array) -> Exact:
    """A RowSum that adds none: for whoever asks what is wrong with rows."""
    return Exact(np.zeros(0, np.int64))


NO_KEY = "Expected the key that sums are sealed with, got a folder without it."


def left(grid: Grid, step: int) -> int | None:
    """The step whose exact sums no release needs after that of `step`, if there is one."""
    gone = step + 1 - grid.window
    return gone if gone >= 0 else None


def after(prior: Released, fading: float, steps: int, released: Released) -> Released:
    """The sum of what an earlier run released, faded by so many steps, and of what this one has released."""
    return Released(fading**steps * prior + released)


def nothing(size: int) -> Released:
    """So many zeros: what was released before anything was."""
    return Released(np.zeros(size))


def part(released: Released, where: slice) -> Released:
    """Some of the numbers that were released."""
    return Released(released[where].copy())


def scaled(released: Released, by: float) -> Released:
    """What was released, in another unit."""
    return Released(by * released)


def read(row: bytes, size: int) -> Released:
    """A noisy leaf, or prior, from the row that it was committed in."""
    if len(row) != 8 * size:
        raise BadState("Expected a released row of this bandit's size, got another.")
    return Released(np.frombuffer(row, np.float64).copy())


def written(noisy: Released) -> bytes:
    return np.asarray(noisy, np.float64).tobytes()


def gains_after(gains: Array, prior: float, fading: float) -> Array:
    """The std of each release per unit of sigma where a prior of that std (per unit of sigma) fades below it."""
    out: Array = np.hypot(gains, prior * fading ** np.arange(len(gains)))
    return out


class Prefixes:
    """Released prefixes from noisy leaves, one after the other. No noise is drawn here."""

    def __init__(self, grid: Grid) -> None:
        self._grid, self._noise = grid, grid.noise_state(Simulated(0))  # which draws nothing here

    def following(self, noisy: Released) -> Released:
        """The prefix that ends with the next leaf."""
        return self._grid.prefix(self._noise, noisy)


class StepSums(Raw[Exact]):
    """The exact sums of a step, in whole cells, closed."""

    __slots__ = ("_grid",)

    def __init__(self, grid: Grid, total: Integers | None = None) -> None:
        super().__init__(Exact(np.zeros(grid.size, np.int64) if total is None else total))
        self._grid = grid

    @classmethod
    def unsealed(cls, grid: Grid, text: bytes, unseal: Callable[[bytes], bytes | None]) -> "StepSums":
        """BadState if the key is destroyed, or they are of another bandit."""
        found = unsealed(text, unseal)
        if found is None:
            raise BadState(NO_KEY)
        row = opened(found)
        if len(row) != 8 * grid.size:
            raise BadState("Expected sums of this bandit's size, got others.")
        return cls(grid, np.frombuffer(row, np.int64).copy())

    def sealed(self, seal: Callable[[bytes], bytes]) -> bytes:
        return sealed(Raw(opened(self).tobytes()), seal)

    def add(self, rows: Raw[EnteringRows], adder: RowAdder) -> None:
        """Rows at one public estimate. One whose reward is NaN adds nothing, and is the same work: it is added, with a
        reward of 0, to sums that are thrown away."""
        total, (features, rewards) = opened(self), opened(rows)
        silent = np.where(np.isnan(rewards), 0.0, np.nan)
        for y, out in ((rewards, total), (silent, np.zeros_like(total))):
            adder.add(features, y, self._grid.cell, self._grid.longest, out)


class ClosedSteps(Raw[PrefixState]):
    """The exact sums of the steps that are released, as the next release needs them, closed."""

    __slots__ = ("_grid",)

    def __init__(self, grid: Grid, source: Any) -> None:
        super().__init__(grid.init(source))
        self._grid = grid

    @property
    def step(self) -> int:
        """The next one. Public."""
        return int(opened(self).noise.step[0])

    def close(self, step: int, sums: StepSums) -> None:
        """A step that has been released, by whomever (Grid.close)."""
        self._grid.close(opened(self), step, opened(sums))

    def measured(self, sums: StepSums, source: Any) -> Released:
        """The noisy leaf of the next step, which has these sums, with fresh noise. Nothing is closed."""
        return self._grid.measure(opened(self), opened(sums), source)
