"""A bandit that may release estimates of what is earned, beside what it learns from (algorithms.earnings)."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.algorithms import accounting, earnings
from tacit.algorithms.earnings import TAIL, Earned, Earnings, Purse
from tacit.bandits.joint.continual import SummedBandit
from tacit.data import Array, Raw, Released
from tacit.lock import requires_durable
from tacit.mechanisms import leaves
from tacit.privacy.ledger import GaussianRelease


@dataclass(kw_only=True, eq=False)
class EarningBandit(SummedBandit):
    """earnings: what share of the budget goes to an estimate of the average reward, which `earned` then has; without it
    there is none. Where arms are declared, each choice computes its propensity.

    A bandit calls `_open_purse` before it makes its mechanism, for `_size` and `_sensitivity` of all that is summed,
    `_for_learning` with what was released, and `_add` with each user's numbers."""

    earnings: Earnings | None = None
    _zeroes = True  # it has a claim for the zero-out relation, too; there the purse has more noise than it would take
    _purse: Purse | None = field(default=None, init=False, repr=False)
    _filled: Released | None = field(default=None, init=False, repr=False)  # the purse's part of what was last released

    def _open_purse(self, size: int, sensitivity: float) -> None:
        """For a bandit that learns from so many numbers, of that sensitivity."""
        self._learns, self._from = size, sensitivity
        self._purse = earnings.purse(
            self.earnings,
            rewards=self.rewards,
            blocks=self._blocks,
            actions=() if self.features is None else self.features.actions,
            room=0 if self.features is None else self.features.room,
            sensitivity=sensitivity,
        )
        if self.earnings is not None:
            self.earnings = Earnings(*self.earnings)

    @property
    def _size(self) -> int:
        return self._learns + (0 if self._purse is None else self._purse.size)

    @property
    def _sensitivity(self) -> float:
        """Of both parts as one vector."""
        return self._from if self._purse is None else float(np.hypot(self._from, self._purse.sensitivity))

    @abstractmethod
    def _std(self) -> float:
        """Of the noise in each number of the latest release."""

    def _entries(self, statistic: str, steps: int) -> tuple[GaussianRelease, ...]:
        """What the ledger has after so many steps: of the sums that the bandit learns from, and of the purse's."""
        rounds = self.max_rounds_per_person or 1
        parts = self._learns, self._from, self._purse
        return accounting.entries(statistic, self.mechanism, *parts, rounds, self._relation, steps)

    # what is kept of a choice

    @property
    def _weighs(self) -> bool:
        return self._purse is not None and self._purse.arms > 0

    @property
    def _arms_known(self) -> tuple[str, ...]:
        """The names of declared arms, as they are now."""
        own = () if self.features is None else self.features.actions
        return own or (() if self._purse is None else self._purse.names)

    @property
    def _keeps(self) -> int:
        return self._width + (0 if self._purse is None else TAIL)

    def _kept(
        self, offered: Array, picked: int, place: int, name: str | None, propensity: Callable[[], float] | None
    ) -> Array:
        x = super()._kept(offered, picked, place, name, propensity)
        if self._purse is None:
            return x
        chance = (propensity or self._propensity(offered, picked))() if self._weighs else 1.0
        return np.concatenate([x, self._purse.tail(x, place, name, self._arms_known, chance)])

    def _undeclared(self, count: int, names: tuple[str, ...] | None) -> str | None:
        return None if self._purse is None else self._purse.problem(count, names, self._arms_known)

    # sums

    def _add(self, kept: Array, reward: float, own: Callable[[Raw], None], where: Any) -> None:
        """One user's numbers join the open step: its own `where` they belong (a slice, or places), the purse's after
        all of those."""

        def both(out: Raw) -> None:
            mine = Raw(out[where])
            own(mine)
            out[where] = mine
            if self._purse is not None:
                self._purse.add(kept[self._width :], reward, Raw(out[self._learns :]))

        self._absorb(both)

    def _for_learning(self, released: Released) -> Released:
        """What the bandit learns from; the rest is for `earned`."""
        if self._purse is None:
            return released
        self._filled = leaves.part(released, slice(self._learns, None))
        return leaves.part(released, slice(0, self._learns))

    # what may be shown

    @property
    @requires_durable
    def earned(self) -> Earned | None:
        """The average reward with an interval of level LEVEL, from released sums alone; None before the first release,
        and without `earnings`."""
        if self._purse is None or (self._filled is None and self._steps == 0):
            return None
        told = self._filled
        if told is None:  # it was loaded
            told = leaves.part(self._state.prefix.released, slice(self._learns, None))
        return self._purse.earned(told, self._std())
