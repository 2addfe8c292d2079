"""Attacks on JointReweighted: a user's reward comes in its own epoch, or in the next."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from reticent.data import Array, Exact
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated
from reticent.testing.stage import User, users
from reticent_lab.audit.attack import Attack
from reticent_papers import JointReweighted
from reticent_papers.attacks.reweighted import TINY, Watched, WatchedLinear, likelihood_ratio
from reticent_papers.regression.reweighting import Sample

BUDGET = Budget(epsilon=6.0, delta=0.02)  # less noise: what a run tells grows with it, and runs are slow
FIRST = 60  # users of the first epoch; the second has twice as many, the third four times
HORIZON = 7 * FIRST + 1
CANARY = User(np.array([[1.0, 0.0]]), 1.0)
LAST = User(np.array([[TINY, 0.0]]), -1.0)  # as far from the canary as one can be: whom it would push out
AXES = (User(np.array([[1.0, 0.0]]), 1.0), User(np.array([[0.0, 1.0]]), -1.0))


class Cut(Watched):
    """PLANTED: of the rows that came, as many as there are people to divide by."""

    def rows(self, number: int, count: int) -> slice:
        return slice(0, count)


class CutLinear(WatchedLinear):
    watched = Cut


class WatchedBandit(JointReweighted):
    """The real bandit with an estimator that is watched."""

    kind: type[WatchedLinear] = WatchedLinear
    made: list[WatchedLinear]

    def _regressor(self) -> WatchedLinear:
        options: Any = {"budget": self.budget, "radius": self.radius, "targets": self.rewards, "source": self.source}
        self.made = [*getattr(self, "made", []), self.kind(**options)]
        return self.made[-1]


class CutBandit(WatchedBandit):
    kind = CutLinear


def attacks() -> Sequence[Attack]:
    return [late_attack(), late_attack(cut=True)]


def late_attack(*, cut: bool = False) -> Attack:
    """All releases of the two epochs in which the reward can come. A user of the first epoch is late as well, so that
    the second gets more rewards than it has choices. cut: rows beyond that are dropped, so that the user pushes out
    another in whichever epoch its reward comes: two people's data move where the claim is for one."""
    crowd = [AXES[t % 2] for t in range(4 * FIRST)]
    blocks = [users(crowd[:n]) for n in (FIRST - 1, 2 * FIRST - 2, 4 * FIRST - 2)]

    def sample(members: list[User], epoch: int) -> Sample:
        rows, targets = np.concatenate([user.arms for user in members]), np.array([user.reward for user in members])
        return Sample(Exact(rows), Exact(targets), FIRST * 2**epoch)

    second, third = [AXES[0], *crowd[: 2 * FIRST - 2], LAST], [AXES[1], *crowd[: 4 * FIRST - 2], LAST]
    pairs = [
        [sample([CANARY, *second], 1), sample(second, 1)],
        [sample(third, 2), sample([CANARY, *third], 2)],
    ]

    def build(seed: int) -> WatchedBandit:
        settings: dict[str, Any] = {"dim": 2, "horizon": HORIZON, "first": FIRST, "pending": HORIZON}
        settings |= {"budget": BUDGET, "link": "identity", "rewards": (-1.0, 1.0)}
        kind = CutBandit if cut else WatchedBandit
        return kind(**settings, source=Simulated(seed), policy=default_rng(seed))

    def score(world: int, seed: int) -> float:
        bandit = build(seed)
        slow = bandit.choose(AXES[0].arms)
        bandit.play(blocks[0])
        canary = bandit.choose(CANARY.arms)
        if world == 0:
            bandit.observe(canary, CANARY.reward)
        bandit.observe(slow, AXES[0].reward)
        bandit.play(blocks[1])
        bandit.observe(bandit.choose(LAST.arms), LAST.reward)
        someone = bandit.choose(AXES[1].arms)  # the third epoch
        if world == 1:
            bandit.observe(canary, CANARY.reward)
        bandit.observe(someone, AXES[1].reward)
        bandit.play(blocks[2])
        bandit.observe(bandit.choose(LAST.arms), LAST.reward)
        bandit.choose(LAST.arms)
        fits = [each for each in bandit.made if hasattr(each, "_asked")]  # one was made to plan
        return sum(likelihood_ratio(fit, pair) for fit, pair in zip(fits[1:], pairs, strict=True))

    def scores(world: int, runs: int, rng: Generator) -> Array:
        return np.array([score(world, int(rng.integers(2**63))) for _ in range(runs)])

    bug = "PLANTED: rows beyond the epoch's length are dropped. " if cut else ""
    return Attack(
        name="joint-reweighted-late-cut" if cut else "joint-reweighted-late",
        view="all releases",
        epsilon=build(0).epsilon,
        delta=BUDGET.delta,
        claimed=not cut,
        how=bug + "One user's reward comes at once, or in the next epoch, each of which gets one reward more than it "
        "has choices if this one is among them; score: the likelihood ratio of all releases of both epochs.",
        scores=scores,
        family="gaussian",
        share=0.02,
        fewest=400,
    )
