"""A continual release on a grid, one leaf at a time, for a store: what is released is one noisy leaf after the other,
and every prefix is computed from those.

Two parties each work on a state of their own. The one that releases knows the exact sums of all closed steps
(`Grid.close`) and computes the next noisy leaf (`Grid.measure`), which changes nothing yet: a leaf counts only once its
row is committed.
The one that serves knows noisy leaves alone (`show`), as they were read from committed rows (`read`)."""

from typing import Any

import numpy as np

from tacit.data import Array, Integers, Exact, Released
from tacit.errors import BadState
from tacit.kernels.continual import PrefixState, Public, noise_step
from tacit.mechanisms.continual import Batch
from tacit.mechanisms.grid import Grid
from tacit.privacy.noise import Simulated


def left(grid: Grid, step: int) -> int | None:
    """The step whose exact sums no release needs after that of `step`, if there is one."""
    gone = step + 1 - grid.window
    return gone if gone >= 0 else None


def show(state: PrefixState, noisy: Released) -> Released:
    """The released prefix that ends with the next leaf."""
    noise_step(state.noise, noisy[None], state.released)
    return state.released


def after(prior: Released, fading: float, steps: int, released: Released) -> Released:
    """The sum of what an earlier run released, faded by so many steps, and of what this one has released."""
    return Released(fading**steps * prior + released)


def nothing(size: int) -> Released:
    """So many zeros: what was released before anything was."""
    return Released(np.zeros(size))


def public(size: int) -> Public:
    """What public contexts sum to before anybody came, in so many numbers; 0: contexts are private."""
    return Public(np.zeros(size), np.zeros(size), nothing(size))


def part(released: Released, where: slice) -> Released:
    """Some of the numbers that were released."""
    return Released(released[where].copy())


def placed(released: Released, places: Integers) -> Released:
    """The numbers of what was released that are in these places; 0 for -1."""
    return Released(np.where(places < 0, 0.0, released[places]))


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


def exact(row: bytes, size: int) -> Exact:
    """Exact sums from the row that they were sealed in."""
    if len(row) != 8 * size:
        raise BadState("Expected sums of this bandit's size, got others.")
    whole: Integers = np.frombuffer(row, np.int64).copy()
    return Exact(whole)


class Prefixes:
    """Released prefixes from noisy leaves, one after the other. No noise is drawn here."""

    def __init__(self, grid: Grid) -> None:
        self._noise, self._size = grid.noise_state(Simulated(0)), grid.size  # which draws nothing here

    def following(self, noisy: Released) -> Released:
        """The prefix that ends with the next leaf."""
        out = np.zeros(self._size)
        noise_step(self._noise, noisy[None], out)
        return Released(out)


class Sums:
    """The exact sums of a step that is not released yet, in whole cells. RAW."""

    def __init__(self, grid: Grid, row: bytes | None = None) -> None:
        self._grid = grid
        self._total = np.zeros(grid.size, np.int64) if row is None else exact(row, grid.size)

    def add(self, rows: Array, rewards: Array, adder: Batch) -> None:
        """Rows at one public estimate. One whose reward is NaN adds nothing, and is the same work: it is added, with a
        reward of 0, to sums that are thrown away."""
        silent = np.where(np.isnan(rewards), 0.0, np.nan)
        for y, out in ((rewards, self._total), (silent, np.zeros_like(self._total))):
            adder.cells(rows, y, *adder.given, self._grid.cell, self._grid.longest, out)

    def measured(self, state: PrefixState, source: Any) -> Released:
        """The step's noisy leaf, with fresh noise. Nothing is closed."""
        return self._grid.measure(state, Exact(self._total), source)

    def written(self) -> bytes:
        """To be sealed."""
        return self._total.tobytes()
