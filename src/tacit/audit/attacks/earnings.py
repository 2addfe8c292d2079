"""Attacks on estimates of what is earned: on the released sums that they are computed from, and on all releases."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from tacit.algorithms.earnings import Earnings
from tacit.audit.attack import Attack
from tacit.audit.attacks.bandits import BUDGET, GLM_PAIR, STEPS, WHITE, glm
from tacit.audit.canary import worst_canary
from tacit.audit.mutants import UnclippedWeights
from tacit.audit.stage import close, fresh, open_step
from tacit.bandits import JointGLM
from tacit.data import Array
from tacit.privacy import ledger
from tacit.privacy.noise import Simulated

ARMS, CLIP, SHARE = 20, 2.0, 0.7
SUMS = "sums of rewards"


def attacks() -> Sequence[Attack]:
    return [
        of_sums("earnings", JointGLM),
        of_sums("earnings-and-all", JointGLM, everything=True),
        of_sums("earnings-unclipped", UnclippedWeights, bug="Weights are not cut. "),
    ]


def of_sums(name: str, kind: Any, *, everything: bool = False, bug: str = "") -> Attack:
    """The first user gets arm 0, with the chance that it has, and nobody else reports a reward."""
    make = glm(kind, dim=2, earnings=Earnings(SHARE, CLIP, ARMS))
    bandit = make(Simulated(0))
    canary, seen = worst_canary(bandit.mechanism, leaf=0), slice(0 if everything else bandit.contribution.size, None)
    vectors = []
    for world, first in enumerate(fresh(make, 2, default_rng(0))):
        _first_user(first, world)
        vectors.append(open_step(first)[seen])
    middle, direction = (vectors[0] + vectors[1]) / 2, vectors[1] - vectors[0]

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.zeros(runs)
        for i, played in enumerate(fresh(make, runs, rng)):
            _first_user(played, world)
            for t in range(STEPS):
                out[i] += canary.weights[t] * (direction @ (close(played)[seen] - canary.moves[t] * middle))
        return out

    planned = bandit.algorithm.plan.releases(bandit.mechanism.leaves)
    return Attack(
        name=name,
        view=WHITE if everything else SUMS,
        epsilon=ledger.epsilon_of([r for r in planned if everything or r.name == "earnings"], BUDGET.delta),
        delta=BUDGET.delta,
        claimed=not bug,
        how=f"{bug}User 1 gets one of {ARMS} arms and has {GLM_PAIR}; nobody else "
        f"reports a reward; score: the {STEPS} releases, whitened, along the difference of the two contributions.",
        scores=scores,
        family="gaussian",
        share=0.3,
    )


def _first_user(bandit: Any, world: int) -> None:
    x, reward = GLM_PAIR[world]
    row = bandit._row(np.tile(np.array(x), (ARMS, 1)), 0, 0, None)
    bandit.observe(bandit._ticket(row), reward)
