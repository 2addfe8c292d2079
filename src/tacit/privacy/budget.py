"""What may be spent."""

import math
from dataclasses import dataclass

from tacit import checks


@dataclass(frozen=True)
class Budget:
    """(epsilon, delta) for replacing one user: one round's whole arm set and reward.

    epsilon = math.inf asks for the same code without noise."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if self.epsilon != math.inf:
            checks.positive(epsilon=self.epsilon)
        checks.probability(delta=self.delta)
