"""Model selection over guesses of the smallest eigenvalue, under local privacy."""

import math
from dataclasses import dataclass

import numpy as np

from tacit import checks
from tacit.bandits.local.online import LocalPairs
from tacit.bandits.local.online_kernel import Base, Rates
from tacit.errors import NoHorizon


@dataclass(kw_only=True, eq=False)
class LocalCombiner(LocalPairs):
    """ceil(log2(T) / 8) + 1 bandits, each with its guess 2^i / T^(1/8) of lambda_min, the first one anytime; each user
    follows the one with the largest upper bound on its mean reward; one that falls behind its own bound goes.

    Guarantee: that of LocalOnlineUCB: one report of each user, private by itself.
    Reference: "Improved rate for Locally Differentially Private Linear Bandits" (anonymous, under review), Algorithm 2
    and Theorem 4.1; Cutkosky, Das & Purohit 2020.
    Departure: the universal constants P, P' and p are `constant` (1); N in Theorem 4.1 is the number of bandits; the
    last bandit never goes. A report counts for the bandit that is asked next when it comes."""

    constant: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(constant=self.constant)
        if self.horizon is None:
            raise NoHorizon("Expected a horizon for LocalCombiner: its guesses and bounds follow from it, got none.")
        super().__post_init__()

    @property
    def _guesses(self) -> list[float]:
        assert self.horizon is not None
        count = math.ceil(math.log2(self.horizon) / 8) + 1
        return [2.0**i / self.horizon ** (1 / 8) for i in range(count)]

    def _bases(self) -> tuple[Base, ...]:
        first, *rest = self._guesses
        threshold = first
        return (
            self._base(eigenvalue=first, threshold=1.0, power=1 / 8),
            *(self._base(eigenvalue=guess, threshold=threshold) for guess in rest),
        )

    def _rates(self) -> Rates:
        """Theorem 4.1."""
        assert self.horizon is not None and self.failure is not None
        T, d, epsilon = float(self.horizon), self.dim, min(self.budget.epsilon, 1e6)
        guesses = self._guesses
        log = self.constant * math.log(T) ** 1.5
        gain = epsilon * T ** (1 / 8)
        eta = [gain / (math.sqrt(d * T) * (log * gain + 1))]
        eta += [epsilon / (log * math.sqrt(d * T))] * (len(guesses) - 1)
        L = [log * math.sqrt(d) * (gain + 1) / gain]
        L += [log * math.sqrt(d) / (epsilon * guess) for guess in guesses[1:]]
        alpha = [0.75] + [0.5] * (len(guesses) - 1)
        regrets = []
        for i in range(len(guesses)):
            a = alpha[i]
            shape = (1 - a) ** ((1 - a) / a) * (1 + a) ** (1 / a) / a ** ((1 - a) / a)
            R = L[i] * T**a + shape * L[i] ** (1 / a) * T * eta[i] ** ((1 - a) / a)
            R += 288 * math.log(T**3 * len(guesses) / self.failure) * T * eta[i]
            R += sum(1 / eta[k] for k in range(len(guesses)) if k != i)
            regrets.append(R)
        return Rates(np.array(L), np.array(alpha), np.array(regrets))
