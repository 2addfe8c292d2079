"""What the devices of both models share: checks of arms and rewards, links, and the choice that is reported once.

A report is made once for each choice and kept with it: a retry sends the same bytes, so that no noise is drawn again.
"""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.model import arms as arm_sets
from tacit.model.arms import Arms

Array = npt.NDArray[np.float64]
LINKS = ("identity", "logistic", "probit")
TINY = 1e-150  # features of a smaller norm contribute nothing: below, x / |x| could come out longer than 1


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """The arm for this device's user: its index, and its name if the arms had names. Holds raw data: it stays on the
    device, where it may be pickled with its client until the reward comes."""

    index: int
    name: str | None
    _x: Array = field(repr=False)
    _propensity: Callable[[], float] = field(repr=False)
    _report: list[bytes] = field(default_factory=list, repr=False)

    @property
    def propensity(self) -> float:
        """The probability with which this user got this arm; computed when asked for."""
        return self._propensity()


@dataclass(kw_only=True, eq=False)
class Device(ABC):
    """One user's device, at one billboard. `rewards`: the range that rewards must lie in."""

    dim: int
    link: str
    rewards: tuple[float, float]

    @abstractmethod
    def pick(self, features: Array) -> int:
        """The arm among (K, d) checked ones."""

    @abstractmethod
    def report(self, x: Array, reward: float | None) -> bytes:
        """A fresh randomized report of the arm played and its reward, both checked; None: a reward that never came,
        whose report is noise alone."""

    @abstractmethod
    def chance(self, features: Array, index: int) -> float:
        """The probability with which `pick` returns `index` among (K, d) arms."""

    def choose(self, arms: Arms, *, available: npt.ArrayLike | None = None) -> Picked:
        """The arm for this user. `arms`: (K, d) numbers of norm at most 1, or a mapping name -> features."""
        features, names = arm_sets.check(arms, self.dim)
        index = arm_sets.check_mask(available, len(features))
        offered = features if index is None else features[index]
        picked = self.pick(offered)
        chosen = picked if index is None else int(index[picked])
        propensity = functools.partial(self.chance, offered, picked)
        return Picked(chosen, names[chosen] if names else None, features[chosen].copy(), propensity)

    def randomize(self, choice: Picked, reward: float | None) -> bytes:
        """The report for the server: the same bytes however often it is asked for."""
        if not isinstance(choice, Picked):
            raise ValueError(f"Expected what choose returned, got {type(choice).__name__}.")
        if not choice._report:
            if reward is not None:
                problem = reward_problem(reward, self.rewards)
                if problem:
                    raise ValueError(problem)
                reward = float(reward)
            choice._report.append(self.report(choice._x, reward))
        return choice._report[0]

    def unit(self, reward: float) -> float:
        """A reward in units of the link: [0, 1] for logistic and probit."""
        low, high = self.rewards
        return reward if self.link == "identity" else (reward - low) / (high - low)


def reward_problem(reward: object, rewards: tuple[float, float]) -> str | None:
    low, high = rewards
    if not isinstance(reward, int | float | np.bool_ | np.integer | np.floating):
        return f"Expected a reward that is a number, got {type(reward).__name__}."
    try:
        inside = low <= float(reward) <= high and math.isfinite(reward)
    except OverflowError:
        inside = False
    if not inside:
        return f"Expected a finite reward in [{low:g}, {high:g}], got one outside."
    return None


@functools.cache
def corner(size: int) -> tuple[Any, Any, Array]:
    """Rows and columns of a symmetric matrix's upper half, and what its entries count: sqrt 2 off the diagonal."""
    i, j = np.triu_indices(size)
    return i, j, np.where(i == j, 1.0, math.sqrt(2))


def mean(link: str, z: float) -> float:
    """mu(z): z, 1 / (1 + exp(-z)), or Phi(z)."""
    if link == "logistic":
        if z >= 0:
            return 1 / (1 + math.exp(-z))
        e = math.exp(z)
        return e / (1 + e)
    if link == "probit":
        return 0.5 * math.erfc(-z / math.sqrt(2))
    return z


def slope(link: str, z: float) -> float:
    """mu'(z)."""
    if link == "logistic":
        e = math.exp(-abs(z))
        return e / (1 + e) ** 2
    if link == "probit":
        return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return 1.0
