"""Bandits for one arm set that is the same for all, whose rewards alone are private: plays follow a public plan."""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from reticent.core.validation import ActionSet, Validator
from reticent.data import Array, Exact, Integers, Raw
from reticent.kernels.block import Block
from reticent.kernels.rounds import BOUNDARY, CHOICES
from reticent.mechanisms.memory import PrefixSums
from reticent.model.vectors import shortened
from reticent.privacy.ledger import GaussianRelease
from reticent_papers.joint.continual import ContinualBandit

OTHERS = "Expected the same arms in every round, in the same order, got others."


class PlannedState(Protocol):
    @property
    def counts(self) -> Integers: ...  # choices, and at which of them the open phase ends
    @property
    def prefix(self) -> PrefixSums: ...  # of (r - middle) u, closed, and what was released


def add_in_time(kept: Array, reward: float, low: float, high: float, phase: int, out: Exact) -> None:
    """out += (r - (low + high) / 2) u for kept = (u, the phase of the choice), |u| cut to 1 and r to [low, high];
    nothing where another phase is open: the reward comes too late."""
    if kept[-1] == phase:
        out += (min(max(reward, low), high) - 0.5 * (low + high)) * shortened(kept[:-1])


@dataclass(frozen=True, kw_only=True)
class SameArms(Validator):
    """problem_of: what is wrong with arms that are on offer, None if nothing."""

    problem_of: Callable[[Array], str | None]

    def offer(self, arms: Any, available: npt.ArrayLike | None = None, given: Any = None) -> ActionSet:
        found = super().offer(arms, available, given)
        whole = found.available is None or len(found.available) == len(found.features)
        problem = self.problem_of(found.arms) if whole else OTHERS
        if problem:
            raise ValueError(problem)
        return found

    def batch(self, arms: Any, given: Any = None) -> tuple[list[Array], list[str | None], tuple[str, ...] | None]:
        rows, problems, names = super().batch(arms, given)
        problems = [problem or self.problem_of(row) for row, problem in zip(rows, problems, strict=True)]
        first = next((row for row, problem in zip(rows, problems, strict=True) if problem is None), None)
        alike = (first is not None and np.array_equal(row, first) for row in rows)
        return (
            rows,
            [problem or (None if same else OTHERS) for problem, same in zip(problems, alike, strict=True)],
            names,
        )


@dataclass(kw_only=True, eq=False)
class OneSetBandit(ContinualBandit):
    """Phases, each with a plan of plays that was made at its beginning from public arms and earlier releases. A reward
    counts in the phase of its choice, or, if it comes later or never, as the middle of its range.

    Guarantee: a replaced reward moves one release, by at most (high - low) |u| <= high - low, where u is public and
    known at the choice; one that comes in time instead of late or never moves it by half as much. When a phase ends is
    a function of public plays. So the run is mu-GDP, mu = (high - low) / sigma, for any number of phases.

    A bandit says what is wrong with arms (`_problem_of`), which arm is played (`_pick`), what u a play has (`_played`)
    and when the plan is done (`_done`)."""

    rewards: tuple[float, float] = (0.0, 1.0)
    _state: PlannedState = field(init=False, repr=False)
    _public = True
    _one_set = True

    @abstractmethod
    def _problem_of(self, arms: Array) -> str | None:
        """What is wrong with (K, d) arms; None if they are everybody's, or nobody has chosen yet. Changes nothing."""

    @abstractmethod
    def _played(self, arm: int) -> Array:
        """u for a play of that arm, which is counted here; 0 where the plan has it no more."""

    @abstractmethod
    def _done(self) -> bool:
        """Whether all plays of the open phase have been made."""

    def __post_init__(self) -> None:
        super().__post_init__()
        plain = self.memory.validator
        given = {each.name: getattr(plain, each.name) for each in dataclasses.fields(plain)}
        self.memory.validator = SameArms(**given, problem_of=self._problem_of)

    def _play(self, block: Block) -> bool:
        problem = self._problem_of(block.arms[0]) if len(block.arms) else None
        if problem or (block.arms != block.arms[:1]).any():
            raise ValueError(problem or OTHERS)
        return False

    @property
    def _row_size(self) -> int:
        return self.mechanism.size + 1

    def _row(self, offered: Array, picked: int, place: int, name: str | None) -> Raw[Array]:
        return Raw(np.append(self._played(picked), float(self._steps)))

    def chosen(self, row: Raw[Array], mark: bytes) -> None:
        """A choice may end the phase, after this user."""
        if self._done():
            self._state.counts[BOUNDARY] = self._state.counts[CHOICES]

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        low, high, phase = *self.rewards, self._steps
        self._state.prefix.absorb(lambda kept, r, out: add_in_time(kept, r, low, high, phase, out), row, reward)

    def _compile_more(self) -> None:
        self._state.counts[BOUNDARY] = self._state.counts[CHOICES]
        self._advance()

    def _release(self, steps: int, statistic: str) -> tuple[GaussianRelease, ...]:
        low, high = self.rewards
        moved = high - low, steps, self.max_rounds_per_person or 1
        return (self.mechanism.entry("phases", statistic, *moved, relation=self._relation),) if steps else ()
