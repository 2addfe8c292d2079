"""What is planned: the size of the problem, the promise to people, and who is trusted with their data."""

import math
from dataclasses import dataclass

from tacit import checks
from tacit.privacy.budget import Budget

MODELS = ("joint", "shuffle", "local")
RANGES: dict[str, tuple[float, float]] = {  # what simulations were drawn from
    "dim": (2, 100),
    "arms": (2, 50),
    "radius": (1.0, 5.0),
    "epsilon": (0.25, 10.0),
    "delta": (1e-9, 1e-2),
    "rounds_per_person": (1, 30),
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """model: who is trusted: "joint" (the operator), "shuffle" (a shuffler) or "local" (nobody). epsilon, delta: what a
    person is promised, for all of `rounds_per_person` rounds that are learnt from. radius: bound on |theta*|."""

    model: str
    dim: int
    arms: int
    epsilon: float
    delta: float = 1e-6
    rounds_per_person: int = 1
    radius: float = 3.0

    def __post_init__(self) -> None:
        checks.one_of(MODELS, model=self.model)
        checks.positive_int(dim=self.dim, arms=self.arms, rounds_per_person=self.rounds_per_person)
        checks.positive(radius=self.radius, epsilon=self.epsilon)
        checks.probability(delta=self.delta)
        if self.arms < 2:
            raise ValueError(f"Expected at least 2 arms, got {self.arms}: there is nothing to choose.")

    @property
    def budget(self) -> Budget:
        """Of one round, as the bandit takes it, so that k rounds of a person have epsilon and delta together. JointGLM
        makes its noise for a person by itself. Reports that are private each by itself compose: (epsilon / k,
        delta / k). In the shuffle model a person's rounds may lie in one batch or in several: k_i rounds of a batch
        that is (e, d)-private are (k_i e, k_i e^(k_i e) d)-private together, and batches compose, so that
        (epsilon / k, delta / (k e^epsilon)) is enough for any."""
        k = self.rounds_per_person
        if self.model == "joint" or k == 1:
            return Budget(self.epsilon, self.delta)
        parts = k * math.exp(self.epsilon) if self.model == "shuffle" else k
        return Budget(self.epsilon / k, self.delta / parts)

    def outside(self) -> list[str]:
        """The settings that no simulation covers."""
        return [
            f"{name} = {getattr(self, name):g} (simulated: {low:g} to {high:g})"
            for name, (low, high) in RANGES.items()
            if not low <= getattr(self, name) <= high
        ]
