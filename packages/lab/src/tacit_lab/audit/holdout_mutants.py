"""Planted bugs of experiments: the real code with one thing wrong. None of them is private."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.algorithms.trial_sums import TrialSums
from tacit.bandits import JointGLM
from tacit.core.choices import Choice
from tacit.data import Raw


@dataclass(kw_only=True, eq=False)
class CountsAnswers(JointGLM):
    """Tells how many of each side have answered, as if that were how many there are."""

    _answers: Any = field(default=None, init=False, repr=False)

    def init(self) -> Any:
        self._answers = np.zeros(len(self.holdout.sides) if self.holdout else 0, int)
        return super().init()

    def _observed(self, ticket: int, reward: Raw[float]) -> bool:
        assert self._assignment is not None
        self._answers[self._assignment.side(ticket)] += 1
        return super()._observed(ticket, reward)

    @property
    def trial_sums(self) -> TrialSums | None:
        found = super().trial_sums
        if found is None or not found.looks:
            return found
        told = tuple(int(count) for count in self._answers)
        return found._replace(looks=(*found.looks[:-1], found.looks[-1]._replace(counts=told)))


@dataclass(kw_only=True, eq=False)
class SidesByPerson(JointGLM):
    """Puts people on a side for ever, by a hash of who they are, and tells how many each has, without noise."""

    _sides: Any = field(default=None, init=False, repr=False)

    def init(self) -> Any:
        self._sides = []
        return super().init()

    @staticmethod
    def side_of(arms: Any) -> int:
        return hashlib.sha256(np.asarray(arms).tobytes()).digest()[0] % 2

    def choose(self, arms: Any, **options: Any) -> Choice:
        self._sides.append(self.side_of(arms))
        return super().choose(arms, **options)

    @property
    def trial_sums(self) -> TrialSums | None:
        found = super().trial_sums
        if found is None or not found.looks:
            return found
        last = found.looks[-1]
        told = tuple(np.bincount(self._sides[: last.people], minlength=2).tolist())
        return found._replace(looks=(*found.looks[:-1], last._replace(counts=told)))
