"""What the devices of both models share: checks of arms and rewards, links, and the choice that is reported once.

A report is made once for each choice and kept with it: a retry sends the same bytes, so that no noise is drawn again.
Once an arm was chosen there is a report, whatever the reward: a report that fails to come would tell it without noise.
"""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from reticent.data import Array, Sent
from reticent.errors import BadBillboard, TooManyReports
from reticent.features.schema import Schema
from reticent.model import arms as arm_sets
from reticent.model.arms import Arms
from reticent.model.chances import Chance, Later
from reticent.model.links import Code, named
from reticent.privacy import randomness
from reticent.privacy.budget import Budget
from reticent.privacy.randomness import System

DRAWS = 4096  # by which a device estimates a propensity
REPORT = -2  # under which number a choice keeps its report; devices of several rounds have further ones
CHOICE_BYTES = 16  # of a choice's random id
ID_BYTES = 8  # of an id in a report of the local and shuffle models, by which a server knows a retry
NUMBERS = int | float | np.bool_ | np.integer | np.floating


@dataclass(frozen=True, slots=True, eq=False)
class DeviceChoice:
    """The arm for this device's user: its index, and its name if the arms had names. reported: whether there is a
    report of it. Holds raw data: it stays on the device, where it may be pickled with its client until the reward
    comes. report_id is drawn with it: a report that a copy of the device makes anew is counted once."""

    index: int
    name: str | None
    features: Array = field(repr=False)
    _propensity: Callable[[], float] = field(repr=False)
    report_id: bytes = field(default_factory=lambda: randomness.octets(CHOICE_BYTES), repr=False)
    reported: bool = True
    displayed: float | None = None  # epsilon of what is displayed, where a floor was asked for
    _made: dict[int, Any] = field(default_factory=dict, repr=False)  # its report, and those of further rounds

    @property
    def made(self) -> Mapping[int, Any]:
        """What was kept, to be read. Nothing is kept twice under one number: one datum has one noise."""
        return MappingProxyType(self._made)

    def keep(self, number: int, what: Any) -> None:
        if number in self._made:
            raise TooManyReports("Expected one report of a choice in a round, got a second one.")
        self._made[number] = what

    @property
    def propensity(self) -> float:
        """The probability with which this user got this arm; computed when asked for."""
        with np.errstate(all="ignore"):
            return self._propensity()

    @property
    def propensity_error(self) -> float:
        """The standard error of `propensity`: 0 where it is exact (docs/evaluation.md)."""
        with np.errstate(all="ignore"):
            return getattr(self._propensity, "error", 0.0)


@dataclass(kw_only=True, eq=False)
class Device(ABC):
    """One user's device, at one billboard. `rewards`: the range that rewards are clipped to. `features`: the
    application's schema; what is made of fields is never the server's to say. `cost`: what the reports of one choice
    cost the user, as the device has worked it out or checked it; None in simulation.
    `batch`: the number of the batch that reports go to, None where each is private by itself. The sum of a batch is
    private for one choice of a user: its first choice is reported, whatever comes of it, and no other."""

    dim: int
    link: str
    rewards: tuple[float, float]
    features: Schema | None = None
    cost: Budget | None = None
    batch: int | None = None
    _chosen: bool = field(default=False, init=False)

    @abstractmethod
    def pick(self, features: Array) -> int:
        """The arm among (K, d) checked ones."""

    @abstractmethod
    def report(self, x: Array, reward: float | None, id: bytes | None = None) -> Sent:
        """A fresh randomized report of the arm played and its reward, both checked; None: a reward that never came,
        whose report is noise alone. id: the choice's, of which reports have as many bytes as they need; without it a
        new one is drawn."""

    @abstractmethod
    def chance(self, features: Array, index: int) -> Chance:
        """The probability with which `pick` returns `index` among (K, d) arms, and its error."""

    def choose(
        self,
        arms: Arms | Mapping[str, Any],
        *,
        actions: Any = None,
        available: npt.ArrayLike | None = None,
        floor: float = 0.0,
    ) -> DeviceChoice:
        """The arm for this user. `arms`: (K, d) numbers of norm at most 1, or a mapping name -> features; where the
        application gave its schema, the user's fields, and `actions` as in Schema.vectors.

        floor: with this probability the arm is drawn uniformly from the K available ones. Without a floor nothing
        protects the features of a person from somebody who sees which arm is displayed and made the billboard. With a
        floor g in (0, 1] each arm has a probability between g / K and 1 - g + g / K, so that the arm that is displayed
        is epsilon-private for replacing the features, epsilon = ln(1 + (1 - g) K / g): `displayed` of the choice."""
        if not (isinstance(floor, NUMBERS) and 0 <= floor <= 1):
            raise ValueError("Expected floor in [0, 1], got another.")
        features, names = arm_sets.asked(self.features, self.dim, arms, actions)
        index = arm_sets.check_mask(available, len(features))
        offered = features if index is None else features[index]
        with np.errstate(all="ignore"):  # the square of a tiny feature may vanish
            picked = self.pick(offered)
        if floor:
            drawn = System().uniforms(2)
            picked = int(drawn[1] * len(offered)) if drawn[0] < floor else picked
        chosen = picked if index is None else int(index[picked])
        propensity = Later(functools.partial(self._chance, offered, picked, float(floor)))
        displayed = math.log1p((1 - floor) * len(offered) / floor) if floor else None
        name = names[chosen] if names else None
        reported = self.batch is None or not self._chosen
        self._chosen = True
        x = features[chosen].copy()
        return DeviceChoice(chosen, name, x, propensity, reported=reported, displayed=displayed)

    def _chance(self, features: Array, index: int, floor: float) -> Chance:
        """`chance`, with the floor."""
        value, error = self.chance(features, index)
        return Chance((1 - floor) * value + floor / len(features), (1 - floor) * error)

    def randomize(self, choice: DeviceChoice, reward: float | None) -> Sent:
        """The report for the server: the same bytes however often it is asked for.

        Every number and None give a report, of the same length and by the same work. A number outside the range is
        clipped to it, since an error here would tell the server that it was outside. NaN counts as None: no reward
        came. What is no number at all is an error of the program, whatever the billboard and the datum say, and
        raises; TooManyReports for a choice that is not `reported`."""
        if not isinstance(choice, DeviceChoice):
            raise ValueError(f"Expected what choose returned, got {type(choice).__name__}.")
        if choice.features.shape != (self.dim,):
            raise ValueError(f"Expected a choice among arms of {self.dim} features, got one among others.")
        if reward is not None and not isinstance(reward, NUMBERS):
            raise ValueError(f"Expected a reward that is a number, got {type(reward).__name__}.")
        if not choice.reported:
            raise TooManyReports("Expected one choice of a user in a batch to be reported, got another.")
        if REPORT not in choice.made:
            bounded = within(reward, self.rewards)
            with np.errstate(all="ignore"):
                choice.keep(REPORT, self.report(choice.features, bounded, choice.report_id))
            self._keep(choice, bounded)
        report: Sent = choice.made[REPORT]
        return report

    def _keep(self, choice: DeviceChoice, reward: float | None) -> None:  # noqa: B027
        """Keep what later questions about this choice need: nothing, where there are none."""

    @functools.cached_property
    def code(self) -> Code:
        """Of the link, for the formulas of model.links."""
        return named(self.link).code


def agreed_schema(own: Schema | None, given: str | None) -> Schema | None:
    """The application's `own`, if it has one; then the billboard must be for the same, of which it has the digest."""
    if own is not None and not isinstance(own, Schema):
        raise ValueError(f"Expected features to be None or a Schema, got {type(own).__name__}.")
    if own is not None:
        own.check_for_devices()
    if own is not None and own.digest != given:
        raise BadBillboard("Expected a billboard for the application's features, got one for others or for vectors.")
    return own


def check_limit(budget: Budget | None) -> None:
    """The caller's own, which is None or a Budget."""
    if budget is not None and not isinstance(budget, Budget):
        raise ValueError(f"Expected budget to be None or a Budget, got {type(budget).__name__}.")


def agreed(own: tuple[float, float] | None, given: tuple[float, float]) -> tuple[float, float]:
    """The range of rewards: the application's `own`, if it states one, and then the billboard's must be the same."""
    if own is None:
        return given
    pair = isinstance(own, tuple | list) and len(own) == 2 and all(isinstance(end, NUMBERS) for end in own)
    if not (pair and -math.inf < own[0] < own[1] < math.inf):
        raise ValueError("Expected rewards to be None or a pair low < high of finite numbers, got another.")
    if tuple(own) != given:
        raise BadBillboard(
            f"Expected a billboard for rewards in [{own[0]:g}, {own[1]:g}], got one for [{given[0]:g}, {given[1]:g}]."
        )
    return given


def within(reward: float | None, rewards: tuple[float, float]) -> float | None:
    """A reward within its range; None for one that never came, and for NaN."""
    if reward is None or reward != reward:
        return None
    try:
        return min(max(float(reward), rewards[0]), rewards[1])
    except OverflowError:  # a whole number beyond all doubles
        return rewards[reward > 0]
