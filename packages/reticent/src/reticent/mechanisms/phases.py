"""Two mechanisms side by side, for people of different phases: of the first phase each step's sums are released once,
with discrete Laplace noise of their own, and those of the second as ever.

Sensitivity of the first. A contribution v becomes whole cells, each number at most half a cell away, so that two
people who are D apart in l1 norm are at most floor(D (1 + slack) / h) + size cells apart. Each person is in one step,
whichever: where a reward that comes late moves its person from one step to another, the model's D has to hold for
|v| + |v'|, too."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.compile import kernel
from reticent.kernels.continual import NOTHING, Closing, ContinualState, PrefixState, noise_step
from reticent.mechanisms.grid import LENGTH_SLACK, Grid
from reticent.privacy.ledger import PureRelease, laplace_std


class StepsState(NamedTuple):
    """The sums of the open step, and those of all closed ones with their noise."""

    open: Exact
    released: Released
    step: Integers  # (1,)


@dataclass(frozen=True, kw_only=True)
class LaplaceSteps:
    """Guarantee: (rounds cells / scale, 0)-differential privacy for replacing so many rounds of a person.
    Reference: Ghosh, Roughgarden & Sundararajan 2009 (the geometric mechanism).
    Departure: none."""

    size: int
    cell: float
    cells: int  # how far one round moves the sums of its step
    scale: int  # of the noise, in cells

    @classmethod
    def of(cls, *, size: int, sensitivity: float, cell: float, epsilon: float, rounds: int) -> "LaplaceSteps":
        cells = math.floor(sensitivity * (1 + LENGTH_SLACK) / cell) + size
        return cls(size=size, cell=cell, cells=cells, scale=math.ceil(rounds * cells / epsilon))

    @property
    def std(self) -> float:
        """Of the noise of one step."""
        return self.cell * laplace_std(self.scale)

    def entry(self, statistic: str, steps: int, relation: str) -> PureRelease:
        numbers = steps * self.size
        return PureRelease("laplace", statistic, self.cells, self.scale, numbers, self.cell, relation=relation)

    def measured(self, sums: Exact, source: Any) -> Released:
        return Released((sums + source.laplaces(self.size, self.scale)) * self.cell)


class PhasesState(NamedTuple):
    """As a PrefixState, of which `one` and `two` have parts: views of the same memory."""

    open: Exact
    closed: Exact
    discount: Array
    noise: ContinualState
    released: Released
    one: StepsState
    two: PrefixState


class PhasesNoise(NamedTuple):
    """Of whoever reads noisy leaves."""

    total: Released
    two: ContinualState


@dataclass(frozen=True, kw_only=True)
class Phases(Grid):
    """The first numbers by `first`, the others by `second`, in the same cells."""

    first: LaplaceSteps
    second: Grid

    @classmethod
    def of(cls, first: LaplaceSteps, second: Grid, longest: float) -> "Phases":
        own = {f.name: getattr(second, f.name) for f in dataclasses.fields(Grid) if f.init}
        return cls(**own | {"size": first.size + second.size, "longest": longest}, first=first, second=second)

    @property
    def step(self) -> float:
        return self.second.step

    @property
    def capacity(self) -> int:
        return min(self.second.capacity, (1 << 53) // self.first.cells)

    @property
    def fading(self) -> float:
        return self.second.fading

    @property
    def kept(self) -> int:
        return self.second.kept

    def sensitivity(self, exact: float, size: int | None = None) -> float:
        return self.second.sensitivity(exact, size)

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return self.second.sum_norm_after(steps, weeks)

    def gain(self, steps: Array) -> Array:
        return self.second.gain(steps)

    def noise_state(self, source: Any) -> Any:
        return PhasesNoise(Released(np.zeros(self.first.size)), self.second.noise_state(source))

    def prefix(self, noise: Any, noisy: Released) -> Released:
        size, out = self.first.size, np.zeros(self.size)
        noise.total[:] += noisy[:size]
        out[:size] = noise.total
        noise_step(noise.two, noisy[size:][None], out[size:])
        return Released(out)

    def init(self, source: Any) -> Any:
        size, two = self.first.size, self.second.init(source)
        opened, released = Exact(np.zeros(self.size, np.int64)), Released(np.zeros(self.size))
        one = StepsState(Exact(opened[:size]), Released(released[:size]), np.zeros(1, np.int64))
        two = two._replace(open=Exact(opened[size:]), released=Released(released[size:]))
        return PhasesState(opened, two.closed, two.discount, two.noise, released, one, two)

    def release(self, state: Any, source: Any, closing: Closing = NOTHING) -> Released:
        """Who is interrupted between the two goes on with the second."""
        if state.one.step[0] == state.two.noise.step[0]:
            _close(state.one, self.first.measured(state.one.open, source))
        self.second.release(state.two, source, closing)
        released: Released = state.released
        return released

    def close(self, state: Any, step: int, sums: Exact) -> None:
        state.one.step[0] = step + 1
        self.second.close(state.two, step, Exact(sums[self.first.size :]))

    def measure(self, state: Any, sums: Exact, source: Any) -> Released:
        size = self.first.size
        one = self.first.measured(Exact(sums[:size]), source)
        return Released(np.concatenate([one, self.second.measure(state.two, Exact(sums[size:]), source)]))


@kernel
def _close(state: StepsState, leaf: Array) -> None:
    for i in range(leaf.size):
        state.released[i] += leaf[i]
        state.open[i] = 0
    state.step[0] += 1
