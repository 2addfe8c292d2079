"""Model selection over guesses of the smallest eigenvalue, under local privacy."""

import math
from dataclasses import dataclass

import numpy as np

from reticent import checks
from reticent.data import Array
from reticent.errors import NoHorizon
from reticent_papers.local.online import LocalPairs
from reticent_papers.local.online_kernel import REPORTS, Base, Rates

BOUNDS = ("published", "combining")
# Of bounds="combining": P = P' and p. The best of .003, .03 and of .2, .5, 1 on tail and sphere, d = 5, K = 20, ε = 10
CONSTANT, SPREAD = 0.003, 0.5


@dataclass(kw_only=True, eq=False)
class LocalCombiner(LocalPairs):
    """ceil(log2(T) / 8) + 1 bandits, each with its guess 2^i / T^(1/8) of lambda_min, the first one anytime; each user
    follows the one with the largest upper bound on its mean reward; one that falls behind its own bound goes.

    Guarantee: that of LocalOnlineUCB: one report of each user, private by itself.
    Reference: "Improved rate for Locally Differentially Private Linear Bandits" (anonymous, under review), Algorithm 2
    and Theorem 4.1; Cutkosky, Das & Purohit 2020.
    Departure: the last bandit never goes. A report counts for the bandit that is asked next when it comes.

    bounds: "published" has the theorem's R_i. They exceed T and are far apart, so that no reward can make up for the
    difference: one bandit has nearly all users whatever it earns. (The mean of the R_i / T is at least 2 sqrt(288
    log(T^3 M / failure) (M - 1) / T) for any eta_i: 6 at T = 2000, 2 at 20 000. And 1 does not bound the error of the
    mean of a few noisy rewards.) "combining" takes no R_i off, has p = .5, and 1 bounds the learner's part alone: users
    move between bandits and to the better one, but the theorem says nothing about it.
    constant: the theorem's P and P', which it does not give: 1 with the published bounds, else .003."""

    bounds: str = "published"
    constant: float | None = None

    def __post_init__(self) -> None:
        checks.one_of(BOUNDS, bounds=self.bounds)
        if self.constant is None:
            self.constant = 1.0 if self.bounds == "published" else CONSTANT
        checks.positive(constant=self.constant)
        if self.horizon is None:
            raise NoHorizon("Expected a horizon for LocalCombiner: its guesses and bounds follow from it, got none.")
        super().__post_init__()

    @property
    def prices(self) -> Array:
        """R_i / T of Theorem 4.1 with `constant`, which the published bounds take off."""
        return self._theorem()[2]

    @property
    def plays(self) -> list[int]:
        """How many reports each bandit has had."""
        return [int(base.counts[REPORTS]) for base in self._state.bases]

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
        scale, power, prices = self._theorem()
        if self.bounds == "published":
            return Rates(scale, power, prices, 1.0, True)
        return Rates(scale, power, np.zeros(len(scale)), SPREAD, False)

    def _theorem(self) -> tuple[Array, Array, Array]:
        """L_i, alpha_i and R_i / T of Theorem 4.1; its N is the number of bandits."""
        assert self.horizon is not None and self.failure is not None and self.constant is not None
        T, d, epsilon = float(self.horizon), self.dim, min(self.budget.epsilon, 1e6)
        guesses = self._guesses
        log = self.constant * math.log(T) ** 1.5
        gain = epsilon * T ** (1 / 8)
        eta = [gain / (math.sqrt(d * T) * (log * gain + 1))]
        eta += [epsilon / (log * math.sqrt(d * T))] * (len(guesses) - 1)
        L = [log * math.sqrt(d) * (gain + 1) / gain]
        L += [log * math.sqrt(d) / (epsilon * guess) for guess in guesses[1:]]
        alpha = [0.75] + [0.5] * (len(guesses) - 1)
        prices = []
        for i in range(len(guesses)):
            a = alpha[i]
            shape = (1 - a) ** ((1 - a) / a) * (1 + a) ** (1 / a) / a ** ((1 - a) / a)
            R = L[i] * T**a + shape * L[i] ** (1 / a) * T * eta[i] ** ((1 - a) / a)
            R += 288 * math.log(T**3 * len(guesses) / self.failure) * T * eta[i]
            R += sum(1 / eta[k] for k in range(len(guesses)) if k != i)
            prices.append(R / T)
        return np.array(L), np.array(alpha), np.array(prices)
