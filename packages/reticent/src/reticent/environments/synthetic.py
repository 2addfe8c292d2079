"""Synthetic worlds: the papers' settings, and harder ones."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from reticent import checks
from reticent.environments.base import Environment, World, orthonormal
from reticent.environments.worlds_kernel import (
    ball_point,
    direction,
    fill_ball,
    fill_drift,
    fill_fixed,
    fill_gap,
    fill_rare,
    fill_shift,
    fill_skewed,
    fill_sphere,
    fill_tail,
)
from reticent.kernels.block import BERNOULLI

TOP = 0.75  # gap: <x, theta*> / |theta*| of the best arm (Shariff & Sheffet 2018, appendix D)
CHANGES = ("flip", "redraw", "turn")  # of drift: in the order of worlds_kernel's FLIP, REDRAW, TURN
CONSTANT, DECAY = 0.5, 0.6  # skewed: the constant entry, and the ratio of one axis to the one before


@dataclass(frozen=True, kw_only=True)
class ball(Environment):
    """Arms drawn anew each round, uniform in the unit ball: the setting of most papers, and the kindest."""

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        return World(lambda block: fill_ball(rng, block, theta, self.code), theta)


@dataclass(frozen=True, kw_only=True)
class drift(Environment):
    """Arms as in `ball`, and preferences that change: whoever does not forget is wrong for long.

    change: "flip", theta* becomes its opposite after each `every` rounds; "redraw", it is drawn anew at random times,
    `every` rounds apart on average; "turn", it turns steadily, by a right angle in `every` rounds.
    every: half of the horizon by default."""

    least_dim = 2
    change: str = "flip"
    every: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(CHANGES, change=self.change)
        if self.every is not None:
            checks.positive_int(every=self.every)

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        every = max(1, horizon // 2) if self.every is None else self.every
        change, clock = CHANGES.index(self.change), np.zeros(1, np.int64)
        across = np.empty(self.dim)
        direction(rng, across)
        across -= (across @ theta) / self.radius**2 * theta
        plane = np.stack([theta / self.radius, across / np.linalg.norm(across)])
        return World(lambda block: fill_drift(rng, block, clock, change, every, plane, theta, self.code), None)


@dataclass(frozen=True, kw_only=True)
class sphere(Environment):
    """Arms drawn anew each round, uniform on the unit sphere."""

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        return World(lambda block: fill_sphere(rng, block, theta, self.code), theta)


@dataclass(frozen=True, kw_only=True)
class fixed(Environment):
    """One arm set for the whole run, uniform in the unit ball: nothing explores for you."""

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        arms = np.empty((self.arms, self.dim))
        for arm in arms:
            ball_point(rng, arm)
        return World(lambda block: fill_fixed(rng, block, arms, theta, self.code), theta)


@dataclass(frozen=True, kw_only=True)
class basis(Environment):
    """The unit vectors as arms: a plain multi-armed bandit, where no arm tells about another."""

    arms: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arms != self.dim:
            raise ValueError(f"Expected as many arms as dimensions for basis, got {self.arms} and {self.dim}.")

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        arms = np.eye(self.dim)
        return World(lambda block: fill_fixed(rng, block, arms, theta, self.code), theta)


@dataclass(frozen=True, kw_only=True)
class gap(Environment):
    """One best arm in every round, a gap above all others (Shariff & Sheffet 2018, appendix D).

    Unit arms: one with <x, theta*> = .75 |theta*|, the others uniform where <x, theta*> / |theta*| lies in
    [-.75, .75 - gap]. The gap is in <x, theta*> / |theta*|, before the link."""

    least_dim = 2
    gap: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.gap <= 1:
            raise ValueError(f"Expected gap in [0, 1], got {self.gap!r}.")

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        unit = theta / self.radius
        return World(lambda block: fill_gap(rng, block, unit, TOP, self.gap, theta, self.code), theta)


@dataclass(frozen=True, kw_only=True)
class rare(Environment):
    """The direction that matters most is offered in 5 % of rounds, and it may be good or bad.

    theta* = radius (+-.8 e + .6 v); arms uniform in the unit ball across e; in a share `chance` of the rounds one of
    them is e itself."""

    least_dim = 2
    chance: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.chance <= 1:
            raise ValueError(f"Expected chance in (0, 1], got {self.chance!r}.")

    def start(self, rng: Generator, horizon: int) -> World:
        columns = orthonormal(rng, self.dim)
        good, across = np.ascontiguousarray(columns[:, 0]), np.ascontiguousarray(columns[:, 1:])
        rest = np.empty(self.dim - 1)
        direction(rng, rest)
        sign = 1.0 if rng.random() < 0.5 else -1.0
        theta = self.radius * (0.8 * sign * good + 0.6 * across @ rest)
        return World(lambda block: fill_rare(rng, block, across, good, self.chance, theta, self.code), theta)


@dataclass(frozen=True, kw_only=True)
class shift(Environment):
    """Low-rank contexts that change subspace half-way: what was learnt does not help, and nobody may be too sure.

    Arms uniform in the unit ball of a random subspace of dimension dim // 2, orthogonal ones before and after."""

    least_dim = 2

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        rank = self.dim // 2
        columns = orthonormal(rng, self.dim)[:, : 2 * rank]
        bases = np.ascontiguousarray(columns.reshape(self.dim, 2, rank).transpose(1, 0, 2))
        clock = np.zeros(1, np.int64)
        return World(lambda block: fill_shift(rng, block, bases, clock, horizon // 2, theta, self.code), theta)


@dataclass(frozen=True, kw_only=True)
class skewed(Environment):
    """Anisotropic arms and a constant entry that saturates the link in half of the rounds.

    On isotropic arms a linear bandit ranks a generalised linear model's arms correctly, so those alone prove nothing.
    Here some features vary mostly where the link is flat and others where it is steep: a linear fit weighs them
    wrongly."""

    least_dim = 2
    radius: float = 6.0
    link: str = "logistic"

    def start(self, rng: Generator, horizon: int) -> World:
        axes = DECAY ** np.arange(self.dim - 1.0)
        axes *= np.sqrt(1 - CONSTANT**2) / np.linalg.norm(axes)
        rest = np.empty(self.dim - 1)
        direction(rng, rest)
        theta = self.radius * np.concatenate([[0.6], 0.8 * rest])
        return World(lambda block: fill_skewed(rng, block, axes, CONSTANT, theta, self.code), theta)


@dataclass(frozen=True, kw_only=True)
class tail(Environment):
    """A random direction of norm 1 / sqrt 2 and a constant last entry, arms and parameter alike (Chowdhury & Zhou
    2022).

    With radius 1 and link="identity" the means lie in [0, 1] and rewards are 0 or 1."""

    least_dim = 2
    arms: int = 100

    @property
    def reward_kind(self) -> tuple[int, float]:
        if self.noise == "bounded" and self.radius <= 1:
            return BERNOULLI, 1.0
        return super().reward_kind

    def start(self, rng: Generator, horizon: int) -> World:
        rest = np.empty(self.dim - 1)
        direction(rng, rest)
        theta = self.radius * np.sqrt(0.5) * np.concatenate([rest, [1.0]])
        return World(lambda block: fill_tail(rng, block, theta, self.code), theta)
