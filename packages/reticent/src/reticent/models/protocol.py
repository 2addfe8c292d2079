"""What a model is. It is a frozen value of public settings with pure functions: it holds no state, draws no noise and
keeps nobody's data. An estimate is public and is never written to: the next one is made from it (a fold)."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

from reticent.algorithms.chances import Values
from reticent.data import Array, Exact, Integers, Released
from reticent.features.schema import Schema
from reticent.kernels.glm import Known, Tuning
from reticent.kernels.noise import NoiseLaw
from reticent.kernels.rounds import Schedule
from reticent.model.links import Link

E = TypeVar("E")


class ModelSettings(NamedTuple):
    """What a model is made from, all of it public. blocks: of coordinates, of which each arm has one to itself. unit:
    of rewards, where the link is the identity. prior: what is known from elsewhere. mu: of the budget, for one round.
    forget: rounds after which what was learnt counts 1 / e."""

    schema: Schema | None
    dim: int
    blocks: int
    link: Link
    low: float
    high: float
    radius: float
    unit: float
    base_rate: float | None
    tuning: Tuning
    prior: Known
    mu: float
    forget: float | None

    @property
    def own(self) -> int:
        """Numbers of one block."""
        return self.dim // self.blocks

    @property
    def known(self) -> bool:
        return bool(self.prior.theta.size)

    @property
    def parts(self) -> dict[str, Any]:
        """Of a contribution."""
        return {"dim": self.dim, "blocks": self.blocks, "low": self.low, "high": self.high}


class ModelSums(NamedTuple):
    """What is released: so many numbers. Replacing a person moves them by at most `sensitivity` in that norm ("l2", for
    Gaussian noise), which the model's docstring derives. statistic: in words. kept: numbers that are kept of a choice
    beside its arm until it enters. phases: the sums of each, where each has a mechanism of its own. norm: "l1" is for
    Laplace noise."""

    size: int
    sensitivity: float
    norm: str
    statistic: str
    kept: int = 0
    phases: "tuple[ModelSums, ...]" = ()


class Pace(NamedTuple):
    """How steps grow, how earlier ones fade at each step, and how many more people are in the smallest step for each
    unit of the noise's std. None of them touches privacy."""

    growth: float
    discount: float
    per_sigma: float


class Course(NamedTuple):
    """What an estimate may know of the mechanism: when steps close, the noise's law and sigma, gains[k] = std of
    release k per unit of sigma (the last one also that of all later ones), how earlier steps fade, and how many steps
    there are. Public."""

    schedule: Schedule
    law: NoiseLaw
    sigma: float
    gains: Array
    fading: float
    leaves: int
    first: "Course | None" = None  # of the first phase, where it has a mechanism of its own

    def std(self, step: int) -> float:
        """Of the noise in each number of that release."""
        return self.sigma * float(self.gains[min(step, len(self.gains) - 1)])


class Adder(Protocol):
    """Contributions at one estimate: public numbers alone, so that it may go to another machine."""

    def add(
        self, rows: Array, rewards: Array, cell: float, longest: float, out: Exact, weights: Array | None = None
    ) -> None:
        """out += the contributions of rows, in whole cells of a grid (mechanisms.grid); cell = 0 stands for floats. A
        row counts `weights` times, 1 by default. One whose reward is NaN adds nothing; in cells, one that is longer
        than `longest`, or no number, neither."""
        ...


class Compiled(NamedTuple):
    """An Adder by one compiled function, so that no Python looks into rows, and the public numbers that it is given."""

    sums: Callable[..., None]  # (rows, rewards, weights, *given, cell, longest, out)
    given: tuple[Any, ...]

    def add(
        self, rows: Array, rewards: Array, cell: float, longest: float, out: Exact, weights: Array | None = None
    ) -> None:
        weights = np.ones(len(rewards)) if weights is None else weights
        self.sums(rows, rewards, weights, *self.given, cell, longest, out)


# Simulated rounds, compiled: (policy, rng, block, held, state, live); state and the block's out arrays are changed.
Rounds = Callable[..., None]


class Loop(NamedTuple):
    """by_step: whether `play` is for rounds of one step at a time, since the estimate that follows is made outside."""

    play: Rounds
    by_step: bool


class Model(Protocol[E]):
    """Arms are rows as in model.arms: x, or (z, a) where each arm has one of several blocks to itself. live: the blocks
    that are on offer."""

    @property
    def sums(self) -> ModelSums: ...

    @property
    def pace(self) -> Pace: ...

    @property
    def knows(self) -> bool:
        """Whether something is known before anything was released: else the people of the first step get random
        arms."""
        ...

    @property
    def reports(self) -> bool:
        """Whether `report` says what is learnt of people, from the first release on."""
        ...

    def blank(self, live: Integers) -> E:
        """The estimate before anything was released: a NamedTuple of arrays, `theta` among them."""
        ...

    def fit(self, before: E, released: Released, step: int, live: Integers, course: Course, chosen: int) -> E:
        """From the sums as they were released at that step. before: the estimate of the step before; or of this one,
        for other live blocks. chosen: after so many releases the people of this step made their choices, the last of
        them."""
        ...

    def pick(self, estimate: E, arms: Array, rng: Generator) -> Integers:
        """For each user of (n, K, width) the arm to play, by a fresh draw."""
        ...

    def values(self, estimate: E, arms: Array) -> Values:
        """Of the (K, width) arms of a user under such a draw: for probabilities."""
        ...

    def beliefs(self, estimate: E, arms: Array, level: float) -> tuple[Array, Array]:
        """For each row x: the estimate of <x, theta*>, and half the width of its interval."""
        ...

    def mean(self, z: Array) -> Array:
        """The mean reward where <x, theta*> is z."""
        ...

    def keep(self, estimate: E, x: Array, place: int, name: str | None, names: tuple[str, ...]) -> Array:
        """RAW. What is kept of a choice until it enters: its arm x, and as many numbers more as the sums say. place,
        name: of the arm in the request; names: of all actions."""
        ...

    def adder(self, estimate: E) -> Adder:
        """What adds rows, as they are kept, to the sums of a step."""
        ...

    def loop(self, course: Course) -> Loop | None:
        """None where simulated rounds are played one by one."""
        ...

    def report(self, estimate: E, live: Integers, course: Course) -> Any:
        """What may be shown of people (models.segments.Segments); None where nothing is, or nothing was released."""
        ...


def copied(estimate: Any) -> Any:
    """One that may be written to until it is shown."""
    return type(estimate)(*(part.copy() for part in estimate))


def like(estimate: Any, found: Iterator[Array]) -> Any:
    """A nested NamedTuple of arrays, with these in their place."""
    if isinstance(estimate, np.ndarray):
        return next(found)
    return type(estimate)(*(like(part, found) for part in estimate))
