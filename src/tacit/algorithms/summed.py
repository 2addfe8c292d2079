"""What algorithms whose state is released sums have in common: what is kept of a choice, and an experiment's part."""

from abc import ABC
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.algorithms.sides import NO_SIDES, Sides
from tacit.algorithms.trial_sums import TrialSums, trial_sums
from tacit.data import Array, Integers, Raw, Released
from tacit.kernels.summing import Tally
from tacit.mechanisms import leaves
from tacit.model.control import Control
from tacit.protocols import Plan


@dataclass(frozen=True, kw_only=True, eq=False)
class Summed(ABC):
    """sides: of an experiment, if there is one: its numbers come after those that are learnt from."""

    plan: Plan
    sides: Sides | None

    def row(
        self,
        arms: Array,
        picked: int,
        place: int,
        name: str | None,
        declared: tuple[str, ...],
    ) -> Raw[Array]:
        x: Array = arms[picked]
        if self.sides is None:
            return self.logged(x)
        return Raw(np.concatenate([x, self.sides.tail(x, place, name, declared)]))

    def logged(self, x: Array) -> Raw[Array]:
        more = self.plan.row - self.plan.width
        return Raw(np.concatenate([x, np.zeros(more)]) if more else x.copy())

    @property
    def tally(self) -> Tally:
        """How rows count for an experiment."""
        low, high = map(float, self.plan.rewards)
        if self.sides is None:
            return Tally(0, 0, 0, 0.0, low, high, NO_SIDES)
        start = self.plan.mechanism.size - self.sides.size
        return Tally(start, self.sides.size, self.plan.width, self.sides.part, low, high, self.sides.weights)

    @property
    def by_fields(self) -> bool:
        return False

    def segments(self, estimate: Any, live: Integers) -> Any:
        return None

    def experiment(self, released: Released) -> Released | None:
        return None if self.sides is None else leaves.part(released, slice(self._learnt, None))

    @property
    def control(self) -> Control | None:
        return None if self.sides is None else self.sides.control

    def trial_sums(
        self, looks: Sequence[Released], counts: Callable[[int], tuple[int, ...]], ended: int | None
    ) -> TrialSums:
        assert self.sides is not None
        return trial_sums(self.sides, self.plan.mechanism, self.plan.schedule, looks, counts, ended)

    @property
    def _learnt(self) -> int:
        """Numbers that are learnt from."""
        return self.plan.mechanism.size - (0 if self.sides is None else self.sides.size)

    def learnt(self, released: Released) -> Released:
        """What is learnt from."""
        return released if self.sides is None else leaves.part(released, slice(0, self._learnt))
