"""What may be spent."""

import math
from dataclasses import dataclass

from tacit import checks
from tacit.privacy import relations


@dataclass(frozen=True)
class Budget:
    """(epsilon, delta) for replacing one user: one round's whole arm set and reward.

    adjacency: "replace", or "zero-out" for a user who is there, or is counted and contributes nothing: about half the
    noise for a promise about half as strong (privacy.relations, docs/problem.md); for JointGLM and JointLinUCB.
    epsilon = math.inf asks for the same code without noise; delta = 0 for pure epsilon, which the local model has."""

    epsilon: float
    delta: float
    adjacency: str = relations.REPLACE

    def __post_init__(self) -> None:
        if self.epsilon != math.inf:
            checks.positive(epsilon=self.epsilon)
        checks.below_one(delta=self.delta)
        checks.one_of(relations.ADJACENCIES, adjacency=self.adjacency)

    def needs_delta(self, what: str) -> None:
        """For a mechanism that has no pure epsilon."""
        if self.delta == 0 and self.epsilon < math.inf:
            raise ValueError(f"Expected delta above 0, which {what} needs, got 0.")

    def needs_replace(self, what: str) -> None:
        """For what has no claim for another relation."""
        if self.adjacency != relations.REPLACE:
            raise ValueError(f'Expected a budget with adjacency="replace" for {what}, got {self.adjacency}.')
