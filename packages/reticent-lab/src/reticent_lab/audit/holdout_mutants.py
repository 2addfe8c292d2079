"""Planted bugs of experiments: the real code with one thing wrong. None of them is private."""

import hashlib
from typing import Any

import numpy as np

from reticent.algorithms.trial_sums import TrialSums
from reticent.core.bandit import Bandit
from reticent.core.choices import Choice


class CountsAnswers(Bandit):
    """Tells how many of each group have answered, as if that were how many there are."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        holdout = self.one_pass.holdout
        self._answers = np.zeros(len(holdout.groups) if holdout else 0, int)

    def observe(self, choice: Choice | int, reward: float) -> bool:
        taken = super().observe(choice, reward)
        assert self.memory.assignment is not None
        self._answers[self.memory.assignment.group(choice.id if isinstance(choice, Choice) else choice)] += 1
        return taken

    @property
    def trial_sums(self) -> TrialSums | None:
        found = super().trial_sums
        if found is None or not found.looks:
            return found
        told = tuple(int(count) for count in self._answers)
        return found._replace(looks=(*found.looks[:-1], found.looks[-1]._replace(counts=told)))


class GroupsByPerson(Bandit):
    """Puts people in a group for ever, by a hash of who they are, and tells how many each has, without noise."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._groups = list[int]()

    @staticmethod
    def group_of(arms: Any) -> int:
        return hashlib.sha256(np.asarray(arms).tobytes()).digest()[0] % 2

    def choose(self, arms: Any, **options: Any) -> Choice:
        self._groups.append(self.group_of(arms))
        return super().choose(arms, **options)

    @property
    def trial_sums(self) -> TrialSums | None:
        found = super().trial_sums
        if found is None or not found.looks:
            return found
        last = found.looks[-1]
        told = tuple(np.bincount(self._groups[: last.people], minlength=2).tolist())
        return found._replace(looks=(*found.looks[:-1], last._replace(counts=told)))
