"""Worlds as users have them: sizes, rates, fields and faults at random."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator, default_rng

from reticent.data import Array, Integers
from reticent.environments.base import World, orthonormal
from reticent.environments.curve_kernel import Curve, to_means
from reticent.environments.delay import Delay
from reticent.environments.disjoint import Disjoint
from reticent.environments.people import NO_CROSS, effects, tables
from reticent.environments.people_kernel import Tastes, fill_people
from reticent.features.schema import Schema
from reticent.kernels.block import BERNOULLI, Block
from reticent.model import links
from reticent.model.links import Link
from reticent_lab.environments.drawn import WorldSetting, setting
from reticent_lab.environments.fitting import at_rate
from reticent_lab.environments.offers_kernel import OfferedArms, Slopes, fill_offers

CONSTANT = 0.7  # of vectors of two numbers or more
CROSS = 0.7  # of two numbers, and
CROSSED = 2.0  # of two fields: how much an interaction matters beside all else
BEND = 0.7
DECAY = 0.6  # of how much a field matters, or an axis of numbers that depend on each other, beside the one before
SAMPLE = 200  # rounds by which scores are measured, before the first

Scores = Callable[[Generator, Block, Integers], None]  # the last: rounds so far, which are changed


@dataclass(frozen=True, kw_only=True)
class random(Disjoint):
    """A family of worlds whose public settings (`setting`) are drawn from its number, once and for all; every run draws
    a new world from it.

    In half of the families people have 1 to 8 fields (categories and numbers) and actions are disjoint; in the other
    half arms are vectors, in part the same in all rounds. 1 to 30 numbers of a person or of an arm with the constant, 2
    to 50 arms, a link, a mean reward of 0.5 to 50 % for uniform play, 500 to 100 000 rounds (`horizon`); fields that do
    not matter, fields that depend on each other, arms that are alike. In half of the families the link is not all: two
    fields or numbers interact, or the mean is bent so that no link fits. In a quarter tastes turn by half a right angle
    within the horizon. In three of ten rewards come late (`delay`). The radius that a bandit is told is a guess: half,
    once or twice what the settings make likely.

    Numbers have purposes: tune a bandit on TUNING, decide between few on VALIDATION, and look at REPORTING once, for a
    report. link and radius: what a bandit is told, by default as the settings have it."""

    number: int
    dim: int = 0
    arms: int = 0
    radius: float = 0.0
    link: str | Link = ""
    TUNING: ClassVar[range] = range(100)
    VALIDATION: ClassVar[range] = range(100, 200)
    REPORTING: ClassVar[range] = range(200, 300)

    def __post_init__(self) -> None:
        if isinstance(self.number, bool) or not isinstance(self.number, int) or self.number < 0:
            raise ValueError(f"Expected number to be a whole number of at least 0, got {self.number!r}.")
        drawn, schema = self.setting, self.features
        for name, actual in (("arms", drawn.arms), ("dim", drawn.features if schema is None else schema.dim)):
            if getattr(self, name) not in (0, actual):
                raise ValueError(f"Expected {name}={actual} for random {self.number}, got {getattr(self, name)}.")
            object.__setattr__(self, name, actual)
        for name in ("radius", "link"):
            object.__setattr__(self, name, getattr(self, name) or getattr(drawn, name))
        super().__post_init__()

    @property
    def setting(self) -> WorldSetting:
        return setting(self.number)

    @property
    def horizon(self) -> int:
        """Rounds that its users have."""
        return self.setting.horizon

    @property
    def delay(self) -> Delay | None:
        return self.setting.delay

    @property
    def features(self) -> Schema | None:
        return _schema(self.number)

    @property
    def blocks(self) -> int | None:
        return super().blocks if self.setting.schema else None

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        turn = 0.5 * np.pi * self.setting.drift / horizon
        scores = (self._people if self.setting.schema else self._offers)(rng, turn)
        sample, clock = self.block(SAMPLE), np.zeros(1, np.int64)
        scores(default_rng(0), sample, clock.copy())
        link = links.named(self.setting.link).code
        curve = _fitted(sample.means, self.setting)

        def fill(block: Block) -> None:
            scores(rng, block, clock)
            to_means(curve, link, block.means)

        return World(fill, None)

    def _people(self, rng: Generator, turn: float) -> Scores:
        drawn, fields, schema = self.setting, self.setting.fields, self.features
        assert schema is not None
        relevant = list(fields)[: max(1, round((1 - drawn.irrelevant) * len(fields)))]
        spread = {name: DECAY**i for i, name in enumerate(relevant)}  # the first matters most
        total = float(np.sqrt(sum(each**2 for each in spread.values())))

        def tastes() -> Tastes:
            own, common = rng.standard_normal(self.arms), rng.standard_normal()
            alone = np.sqrt(drawn.alone) * total * (np.sqrt(1 - drawn.alike) * own + np.sqrt(drawn.alike) * common)
            found, cross = effects(fields, spread, self.arms, drawn.alike, rng), NO_CROSS
            if drawn.wrong == "interaction":
                more = effects(fields, dict.fromkeys(fields, 1.0), self.arms, drawn.alike, rng)
                cross = CROSSED * total * more[:, 0, :, None] * more[:, 1, None, :]
            return Tastes(alone, found, cross)

        given = tables(fields, schema, drawn.dependent, rng), tastes(), tastes(), turn
        disjoint = bool(self.disjoint)
        return lambda rng, block, clock: fill_people(rng, block, *given, clock, disjoint)

    def _offers(self, rng: Generator, turn: float) -> Scores:
        drawn, constant = self.setting, CONSTANT * (self.dim > 1)
        size = self.dim - (self.dim > 1)
        axes = (1 - drawn.dependent * (1 - DECAY)) ** np.arange(size)
        offers = OfferedArms(
            items=rng.standard_normal((self.arms, size)),
            mixing=np.ascontiguousarray(orthonormal(rng, size) * axes),
            still=drawn.alone,
            alike=drawn.alike,
            constant=constant,
        )
        relevant = max(1, round((1 - drawn.irrelevant) * size))

        def slopes() -> Slopes:
            theta = np.where(np.arange(size) < relevant, rng.standard_normal(size), 0.0)
            crossed = drawn.wrong == "interaction"
            return Slopes(theta, CROSS * float(np.sqrt(relevant * size)) if crossed else 0.0)

        before, after = slopes(), slopes()
        return lambda rng, block, clock: fill_offers(rng, block, offers, before, after, turn, clock)


def _fitted(scores: Array, drawn: WorldSetting) -> Curve:
    """The curve by which uniform play has the setting's rate, for such scores."""
    strength = drawn.strength * (drawn.rate if drawn.link == "identity" else 1.0)
    curve = Curve(
        middle=float(scores.mean()),
        spread=float(max(scores.std(), 1e-9)),
        strength=strength,
        bend=BEND * (drawn.wrong == "bend"),
    )
    return at_rate(curve, links.named(drawn.link).code, scores, drawn.rate)


@functools.cache
def _schema(number: int) -> Schema | None:
    drawn = setting(number)
    if not drawn.schema:
        return None
    columns = {name: field.column for name, field in drawn.fields.items()}
    return Schema(context=columns, arms="disjoint", actions=tuple(f"action {a}" for a in range(drawn.arms)))
