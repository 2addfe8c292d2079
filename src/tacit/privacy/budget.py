"""What may be spent."""

import math
from dataclasses import dataclass

from tacit import checks


@dataclass(frozen=True)
class Budget:
    """(epsilon, delta) for replacing one user: one round's whole arm set and reward.

    epsilon = math.inf asks for the same code without noise; delta = 0 for pure epsilon, which the local model has."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if self.epsilon != math.inf:
            checks.positive(epsilon=self.epsilon)
        checks.below_one(delta=self.delta)

    def needs_delta(self, what: str) -> None:
        """For a mechanism that has no pure epsilon."""
        if self.delta == 0 and self.epsilon < math.inf:
            raise ValueError(f"Expected delta above 0, which {what} needs, got 0.")
