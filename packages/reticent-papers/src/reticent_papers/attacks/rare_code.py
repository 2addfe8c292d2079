"""Attacks on the rarely switching bandit with the constants of its author's code: its timing, and one of its fits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Exact
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import BLACK, BUDGET, WHITE
from reticent_papers import JointGLMRare
from reticent_papers.attacks.rare import noticed
from reticent_papers.joint import glm_rare_code as as_coded
from reticent_papers.joint.glm_rare_descent_kernel import Data, descend_as_coded

CODE: dict[str, Any] = {"link": "probit", "constants": "code"}
RADIUS = 3.75  # the smallest quarter at which Criterion I fires in round 1
USERS = 200
CALL = Budget(1.0, 1e-3)  # of one fit; in table 2 a call has epsilon .17 to .3, which takes millions of runs to see


def attacks() -> Sequence[Attack]:
    return [timing_attack(), fit_attack()]


def timing_attack() -> Attack:
    """The code explores in round 1 if an arm is long, and fits theta_o at once; else theta_o stays 0."""

    def scores(world: int, runs: int, rng: Generator) -> Array:
        return noticed("published", bool(world), runs, rng, CODE | {"radius": RADIUS}).astype(float)

    return Attack(
        name="joint-glm-rare-code-timing",
        view=BLACK,
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        claimed=False,
        how=f"The code's own constants, probit, radius {RADIUS}, horizon 64. User 1's arms are unit vectors or tiny; "
        "each of the next 8 users offers itself tiny arms v and -v; score: whether one of them got its second arm.",
        scores=scores,
        share=0.02,
        fewest=200,
    )


def fit_attack(*, sensitivity: float = 1.0) -> Attack:
    """One fit of theta_tau, alone: its users have gradients that are cut to the clip in either direction; a replaced
    one changes its sign in every step. sensitivity: a factor of the noise; replacing a user needs 2."""
    settings: dict[str, Any] = {"dim": 1, "horizon": 5000, "radius": 2.0, "timing": "published", "source": Simulated(0)}
    bandit = JointGLMRare(budget=BUDGET, **CODE, **settings)
    rule, how = bandit._rule, as_coded.fit(CALL, USERS, 1)
    batches = np.tile(np.arange(USERS), (how.epochs, 1, 1))

    def scores(world: int, runs: int, rng: Generator) -> Array:
        x = Exact(np.full((USERS, 1), 1.0))
        r = Exact((np.arange(USERS) < (USERS - 1) // 2 + world).astype(float))
        data = Data(x, r, Exact(np.zeros(USERS)))
        out = np.empty(runs)
        for i in range(runs):
            noise = sensitivity * how.sigma * as_coded.CLIP * rng.standard_normal((how.epochs, 1))
            start = np.zeros(1)
            out[i] = descend_as_coded(data, np.arange(USERS), start, noise, batches, how.burn_in, as_coded.CLIP, rule)[
                0
            ]
        return out

    return Attack(
        name="joint-glm-rare-code-fit" if sensitivity == 1 else "joint-glm-rare-code-fit-mended",
        view=WHITE,
        epsilon=CALL.epsilon,
        delta=CALL.delta,
        claimed=sensitivity > 1,
        how=f"One fit of {USERS} users in one dimension, of whom one has the other reward; score: theta.",
        scores=scores,
        family="gaussian",
        share=0.5,
        fewest=6000,
    )
