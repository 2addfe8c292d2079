"""What algorithms whose state is released sums have in common: what is kept of a choice, and the part for earnings."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tacit.algorithms.earnings import Earned, Purse
from tacit.algorithms.sides import NO_SIDES, Sides
from tacit.algorithms.trial_sums import TrialSums, trial_sums
from tacit.data import Array, Integers, Raw, Released
from tacit.kernels.summing import Tally
from tacit.mechanisms import leaves
from tacit.model.control import Control
from tacit.protocols import Plan


class EarningEstimate(Protocol):
    """An estimate."""

    @property
    def step(self) -> int: ...
    @property
    def earnings(self) -> Released | None: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Summed(ABC):
    """purse: of what is earned, or of an experiment, if that is released, too: its numbers come after those that are
    learnt from."""

    plan: Plan
    purse: Purse | Sides | None

    def problem(self, count: int, names: tuple[str, ...] | None, declared: tuple[str, ...]) -> str | None:
        return None if self.purse is None else self.purse.problem(count, names, declared or self.purse.names)

    def row(
        self,
        arms: Array,
        picked: int,
        place: int,
        name: str | None,
        declared: tuple[str, ...],
    ) -> Raw[Array]:
        x: Array = arms[picked]
        if self.purse is None:
            return self.logged(x)
        tail = self.purse.tail(x, place, name, declared or self.purse.names)
        return Raw(np.concatenate([x, tail]))

    def listed(self, arms: Array, shown: Integers) -> Raw[Array]:
        raise TypeError("Expected an algorithm that shows lists, got one that does not.")

    def logged(self, x: Array) -> Raw[Array]:
        more = self.plan.row - self.plan.width
        return Raw(np.concatenate([x, np.zeros(more)]) if more else x.copy())

    @property
    def tally(self) -> Tally:
        """How rows count for what is earned, or for an experiment."""
        low, high = map(float, self.plan.rewards)
        if self.purse is None:
            return Tally(0, 0, 0, 0.0, low, high)
        start = self.plan.mechanism.size - self.purse.size
        sides = self.purse.weights if isinstance(self.purse, Sides) else NO_SIDES
        return Tally(start, self.purse.size, self.plan.width, self.purse.part, low, high, sides)

    @abstractmethod
    def std(self, step: int) -> float:
        """Of the noise in each number of that release."""

    def earned(self, estimate: EarningEstimate) -> Earned | None:
        if self.purse is None or estimate.earnings is None:
            return None
        return self.purse.earned(estimate.earnings, self.std(estimate.step))

    @property
    def by_fields(self) -> bool:
        return False

    def segments(self, estimate: Any, live: Integers) -> Any:
        return None

    def experiment(self, released: Released) -> Released | None:
        return self.parts(released)[1] if isinstance(self.purse, Sides) else None

    @property
    def control(self) -> Control | None:
        return self.purse.control if isinstance(self.purse, Sides) else None

    def trial_sums(
        self, looks: Sequence[Released], counts: Callable[[int], tuple[int, ...]], ended: int | None
    ) -> TrialSums:
        assert isinstance(self.purse, Sides)
        return trial_sums(self.purse, self.plan.mechanism, self.plan.schedule, looks, counts, ended)

    def parts(self, released: Released) -> tuple[Released, Released | None]:
        """What is learnt from, and what is earned."""
        if self.purse is None:
            return released, None
        start = self.plan.mechanism.size - self.purse.size
        return leaves.part(released, slice(0, start)), leaves.part(released, slice(start, None))
