"""An attack on JointReweighted: a user's reward comes in its own epoch, or in the next."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from tacit.audit.attack import Attack
from tacit.audit.reweighted import BUDGET, WatchedLinear, likelihood_ratio
from tacit.bandits import JointReweighted
from tacit.checks import Array
from tacit.privacy.noise import Simulated
from tacit.regression.reweighting import Sample

FIRST, EPOCHS = 4, 3
ENDS = [FIRST * (2 ** (k + 1) - 1) for k in range(EPOCHS)]
USER = FIRST  # the first one of the second epoch


class Watched(JointReweighted):
    """The real bandit with an estimator that is watched."""

    made: list[WatchedLinear]

    def _regressor(self) -> WatchedLinear:
        options: Any = {"budget": self.budget, "radius": self.radius, "targets": self.rewards, "source": self.source}
        self.made = [*getattr(self, "made", []), WatchedLinear(**options)]
        return self.made[-1]


def attacks() -> Sequence[Attack]:
    return [late_attack()]


def late_attack() -> Attack:
    """All releases of three epochs. Others are late as well, so that epochs get more rewards than they have choices:
    where rows beyond that were cut, the user would push out another in both epochs."""
    crowd, canary = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    delays = [FIRST] * FIRST + [0] * (ENDS[-1] - FIRST)
    delays[USER + 1] = delays[USER + 2] = ENDS[1] - USER
    plans = [arrivals(delays, late) for late in (0, ENDS[1] - USER)]
    spans = list(zip([0, *ENDS[:-1]], ENDS, strict=True))

    def sample(plan: list[list[int]], epoch: int) -> Sample:
        came = [user for users in plan[slice(*spans[epoch])] for user in users]
        rows = np.array([canary if user == USER else crowd for user in came])
        return Sample(rows, np.ones(len(came)), FIRST * 2**epoch)

    pairs = [[sample(plan, k) for plan in plans] for k in range(1, EPOCHS)]  # nothing comes in the first

    def build(seed: int) -> Watched:
        settings: dict[str, Any] = {"dim": 2, "horizon": ENDS[-1] + 1, "first": FIRST, "pending": 2 * ENDS[-1]}
        settings |= {"budget": BUDGET, "link": "identity", "rewards": (-1.0, 1.0)}
        return Watched(**settings, source=Simulated(seed), policy=default_rng(seed))

    def score(world: int, seed: int) -> float:
        bandit, choices = build(seed), []
        for t, came in enumerate(plans[world]):
            choices.append(bandit.choose((canary if t == USER else crowd)[None]))
            for user in came:
                bandit.observe(choices[user], 1.0)
        bandit.choose(crowd[None])
        fits = [each for each in bandit.made if hasattr(each, "_asked")]  # one was made to plan
        return sum(likelihood_ratio(fit, pair) for fit, pair in zip(fits[1:], pairs, strict=True))

    def scores(world: int, runs: int, rng: Generator) -> Array:
        return np.array([score(world, int(rng.integers(2**63))) for _ in range(runs)])

    return Attack(
        name="joint-reweighted-late",
        view="all releases",
        epsilon=build(0).epsilon,
        delta=BUDGET.delta,
        how="One user's reward comes at once, or in the next epoch, both of which get more rewards than they have "
        "choices; score: the likelihood ratio of all releases of both epochs.",
        scores=scores,
        family="gaussian",
        share=0.02,
    )


def arrivals(delays: Sequence[int], late: int) -> list[list[int]]:
    """For each choice, whose rewards come after it, if the user's comes `late` choices later."""
    out: list[list[int]] = [[] for _ in delays]
    for t, delay in enumerate(delays):
        out[t + (late if t == USER else delay)].append(t)
    return out
