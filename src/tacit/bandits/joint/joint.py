"""A bandit in memory whose algorithm is a value (protocols.Algorithm): what choices, rewards and steps do to its state.

It has a base of its own, three levels up, since published algorithms (tacit.papers) share settings, persons and
certificates with it, and other bandits the face."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit import checks
from tacit.algorithms import earnings
from tacit.algorithms.earnings import Earned, Earnings, Purse
from tacit.bandits.joint.continual import ContinualBandit
from tacit.bandits.joint.summing import Summer
from tacit.core import entering
from tacit.core.choices import Index
from tacit.core.entering import NOBODY, Entry
from tacit.core.persons import LEARNS, SILENT
from tacit.data import Array, Released
from tacit.errors import UnknownChoice
from tacit.kernels.rounds import BOUNDARY, CHOICES, ENTERED, Held
from tacit.lock import owner_only
from tacit.mechanisms.grid import Grid
from tacit.model.arms import Arms
from tacit.model.chances import Later
from tacit.privacy.ledger import Release
from tacit.protocols import Adder, Algorithm

OWN = ("source", "policy", "pending", "hold", "missing_as")  # settings that no plan depends on


@dataclass(kw_only=True, eq=False)
class Joint(ContinualBandit):
    """hold: a choice enters the sums once so many later ones have been made, with the reward that came by then; one
    that comes later never counts. Without, a reward joins the step that is open when it comes. missing_as: the reward
    of a choice that has none by then; without, it teaches nothing. earnings: what share of the budget goes to an
    estimate of the average reward, which `earned` then has; where arms are declared, each choice computes its
    propensity."""

    earnings: Earnings | None = None
    hold: int | None = None
    missing_as: float | None = None
    algorithm: Algorithm[Any] = field(init=False, repr=False)
    _zeroes = True  # it has a claim for the zero-out relation, too; there the purse has more noise than it would take
    _purse: Purse | None = field(default=None, init=False, repr=False)
    _filled: Released | None = field(default=None, init=False, repr=False)  # the purse's part of what was last released
    _adder: tuple[Any, Adder] | None = field(default=None, init=False, repr=False)

    # settings

    def _check_hold(self) -> None:
        if self.missing_as is not None and self.hold is None:
            raise ValueError("Expected hold= with missing_as=, the later choices after which a reward is missing.")
        if self.hold is not None:
            checks.positive_int(hold=self.hold)
            if self.hold >= self.pending:
                raise ValueError(f"Expected hold below pending = {self.pending}, got {self.hold}.")
            self.hold = int(self.hold)
        problem = None if self.missing_as is None else self._problem(self.missing_as)
        if problem:
            raise ValueError(problem)

    def _open_purse(self, size: int, sensitivity: float) -> None:
        """Before the mechanism is made, for sums of so many numbers to learn from, of that sensitivity."""
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

    @property
    def _weighs(self) -> bool:
        """Whether a choice is kept with its propensity, which then is computed with each."""
        return self._purse is not None and self._purse.arms > 0

    def _releases(self, steps: int) -> tuple[Release, ...]:
        return self.algorithm.plan.releases(steps)

    def _caveats(self) -> tuple[str, ...]:
        return *super()._caveats(), *self.algorithm.plan.caveats

    def _plan_numbers(self) -> list[float]:
        return list(self.algorithm.plan.numbers)

    # estimates

    @property
    @abstractmethod
    def _estimate(self) -> Any:
        """What choices are made by now."""

    @abstractmethod
    def _show(self, new: Any) -> None:
        """From now on they are made by that estimate."""

    def _contexts(self) -> Array:
        """What public contexts of closed steps sum to."""
        return np.zeros(0)

    def _update(self, released: Released) -> None:
        self._show(self.algorithm.estimate(self._estimate, released, self._contexts(), self._steps, self._live))

    def _reestimate(self) -> None:
        if self._steps:
            self._update(self._state.prefix.released)
        else:
            self._show(self.algorithm.blank(self._live))

    def _pick(self, features: Array) -> Index:
        return self.algorithm.pick(self._estimate, features, self._generator)

    @property
    def _generator(self) -> Any:
        return getattr(self, "policy", None)

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        algorithm, now = self.algorithm, self._estimate
        return Later(lambda: algorithm.chance(now, features, index))

    # choices

    @property
    def _keeps(self) -> int:
        return self.algorithm.plan.row

    @property
    def _arms_known(self) -> tuple[str, ...]:
        """The names of declared arms, as they are now."""
        own = () if self.features is None else self.features.actions
        return own or (() if self._purse is None else self._purse.names)

    def _kept(
        self, offered: Array, picked: int, place: int, name: str | None, propensity: Callable[[], float] | None
    ) -> Array:
        chance = propensity or self._propensity(offered, picked)
        return self.algorithm.row(offered, picked, place, name, self._arms_known, chance)

    def _undeclared(self, count: int, names: tuple[str, ...] | None) -> str | None:
        return self.algorithm.problem(count, names, self._arms_known)

    # entries

    @property
    def _hold(self) -> int | None:
        return self.hold

    @property
    def _held(self) -> Held:
        ring = self._tickets
        return Held(self.hold or 0, ring.ids, ring.features, ring.rewards.reshape(-1))

    @property
    def _entries(self) -> int:
        return int(self._state.counts[CHOICES if self.hold is None else ENTERED])

    def _step(self) -> None:
        """With hold: choices whose deadline has passed enter, and each step that they fill is closed."""
        while self.hold is not None and self._enter():
            super()._step()
        super()._step()

    def _enter(self) -> bool:
        """They join the open step, up to its end. Whether it is full, and more may be due."""
        counts = self._state.counts
        numbers = np.arange(counts[ENTERED] + 1, 1 + min(counts[CHOICES] - (self.hold or 0), counts[BOUNDARY]))
        if numbers.size:
            ring, slots = self._tickets, numbers % self.pending
            entering.enter(
                [self._entry(int(number)) for number in numbers],
                algorithm=self.algorithm,
                estimate=self._estimate,
                missing_as=self.missing_as,
                once_more=lambda person: self._persons.enters(person, self._steps),
                add=lambda rows, rewards, adder: self.mechanism.add(
                    self._state.prefix, rows, rewards, adder, counts[ENTERED : ENTERED + 1]
                ),
                contexts=self._opened_contexts(),
            )
            ring.ids[slots], ring.features[slots], ring.rewards[slots] = 0, 0.0, np.nan
        return bool(numbers.size) and self._due

    def _opened_contexts(self) -> Array:
        """What public contexts of the open step sum to; changed in place."""
        return np.zeros(0)

    def _entry(self, number: int) -> Entry:
        """RAW. The choice of that number, at its deadline; nothing where it was refused."""
        ring, slot = self._tickets, number % self.pending
        mark, reward = ring.people[slot].tobytes(), float(ring.rewards[slot, 0])
        person = mark if mark.strip(b"\0") and mark != SILENT else NOBODY
        teaches = bool(ring.ids[slot] == number) and mark != SILENT
        return Entry(ring.features[slot].copy(), person, teaches, True, None if np.isnan(reward) else reward)

    def _ticket(self, x: Array, mark: bytes = LEARNS) -> int:
        kept = np.zeros(self._keeps) if mark == SILENT else x if self.hold is not None else self._counted(x)
        return super()._ticket(kept, mark)

    def _observed(self, slot: int, reward: float) -> bool:
        """With hold, a reward is only written down."""
        if self.hold is None:
            return super()._observed(slot, reward)
        if self._tickets.ids[slot] <= self.choices - self.hold:
            return False
        if not np.isnan(self._tickets.rewards[slot, 0]):
            raise UnknownChoice("Expected one reward for each choice, got a second one.")
        self._tickets.rewards[slot] = reward
        return True

    def _adds(self) -> Adder:
        """What adds contributions at the present estimate."""
        key = self._estimate_key
        if self._adder is None or self._adder[0] is not key:  # once a release, not once a reward
            self._adder = key, self.algorithm.adder(self._estimate)
        return self._adder[1]

    @property
    @abstractmethod
    def _estimate_key(self) -> Any:
        """An array that is another one after each release."""

    def _learn(self, x: Array, reward: float) -> None:
        self.mechanism.add(self._state.prefix, x[None], np.array([reward]), self._adds())

    def _summer(self) -> Summer | None:
        if self.hold is not None or not isinstance(self.mechanism, Grid):
            return None
        return Summer.of(self._adds(), self.mechanism, self._learns)

    # what may be shown

    @owner_only
    def interval(
        self, arms: Arms | Mapping[str, Any], *, actions: Any = None, level: float = 0.9
    ) -> list[tuple[float, float]]:
        """For each arm, given as in `choose`, an interval that holds its mean reward with at least that probability,
        from released sums only. What is proven and what is measured of it: see the algorithm."""
        checks.probability(level=level)
        features = self._request(arms, None, actions)[0]
        middle, half = self.algorithm.beliefs(self._estimate, features, level)
        low, high = (self.algorithm.mean(end) for end in (middle - half, middle + half))
        return list(zip(low.tolist(), high.tolist(), strict=True))

    @property
    @owner_only
    def theta(self) -> Array:
        """The estimate that choices are made by: a function of released sums."""
        return self.algorithm.theta(self._estimate)

    @property
    @owner_only
    def earned(self) -> Earned | None:
        """The average reward with an interval of level LEVEL, from released sums alone; None before the first release,
        and without `earnings`."""
        out: Earned | None = self.algorithm.earned(self._estimate)
        return out
