"""Attacks by what people can do: come in several rounds, answer late, ask what earlier answers suggest."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.kernels.glm import Tuning
from reticent.privacy.budget import Person
from reticent.privacy.noise import Simulated
from reticent.testing.canary import difference
from reticent.testing.stage import Make, act, close, contribution, fresh, nobody, probe
from reticent_lab.audit import mutants
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import (
    BLACK,
    BUDGET,
    GLM_PAIR,
    SCORE_PAIR,
    WHITE,
    glm,
    white_box,
)

ROUNDS = 3  # of one person
PROBES = 6
WEEKS = 8  # of a step each
WEEKLY = dataclasses.replace(BUDGET, unit=Person(1, per=1))
MANY_WEEKS: dict[str, Any] = {"budget": WEEKLY, "first": 1, "horizon": WEEKS, "pending": WEEKS}


def attacks() -> Sequence[Attack]:
    budget = dataclasses.replace(BUDGET, unit=Person(ROUNDS))
    several = glm(features=2, budget=budget, first=ROUNDS, horizon=4 * ROUNDS, pending=4 * ROUNDS)
    return [
        white_box("joint-glm-person", several, GLM_PAIR, rounds=ROUNDS, share=0.5),
        person_in_weeks("joint-glm-weeks", glm(features=2, **MANY_WEEKS)),
        person_in_weeks(
            "joint-glm-weeks-square-root",
            glm(mutants.SquareRoot, features=2, **MANY_WEEKS),
            bug="The claim for 8 weeks is that of sqrt 8 columns instead of a sum of 8. ",
        ),
        adaptive_probes(),
    ]


def person_in_weeks(name: str, make: Make, *, bug: str = "") -> Attack:
    """One person is in every week, and nobody else contributes: the claim is the certificate's for so many weeks."""
    bandit = make(Simulated(0))
    mechanism = bandit.plan.mechanism
    leaves, size = mechanism.leaves, mechanism.size
    moves = np.zeros((2, leaves, size))
    for world, (x, reward) in enumerate(GLM_PAIR):
        moves[world, :WEEKS] = contribution(bandit, x, reward)
    test = difference(mechanism, *moves)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        canary, empty = GLM_PAIR.user(world), nobody(2)
        out = np.zeros(runs)
        for i, played in enumerate(fresh(make, runs, rng)):
            for t in range(leaves):
                for _ in range(int(bandit.plan.schedule.first)):
                    act(played, canary if t < WEEKS else empty, "ada" if t < WEEKS else None)
                out[i] += test.score(t, close(played))
        return out

    return Attack(
        name=name,
        view=WHITE,
        epsilon=bandit.privacy.over[WEEKS],
        delta=BUDGET.delta,
        claimed=not bug,
        how=f"{bug}One person has {GLM_PAIR}, once in each of {WEEKS} weeks, nobody else "
        "contributes; score: all releases, whitened, along the difference.",
        scores=scores,
        family="gaussian",
        share=0.1 if bug else 0.2,
        fewest=600 if bug else 200,
    )


def adaptive_probes() -> Attack:
    """Later users find the angle of the estimate by bisection: each asks where the answers so far leave doubt."""
    still = Tuning(explore=0.0)  # choices follow the estimate alone
    make = glm(features=2, first=PROBES, horizon=2 * PROBES, pending=2 * PROBES, tuning=still)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.empty(runs)
        for i, played in enumerate(fresh(make, runs, rng)):
            act(played, SCORE_PAIR.user(world))
            for _ in range(PROBES - 1):
                act(played, nobody(2))
            low, high = -np.pi, np.pi  # where the estimate points
            for k in range(PROBES):
                middle = (low + high) / 2
                across = middle + np.pi / 2 if k else np.pi / 2  # the first probe tells the upper half from the lower
                direction = np.array([np.cos(across), np.sin(across)])
                ahead = played.choose(probe(direction, 0.5).arms).index == 0
                low, high = (middle, high) if ahead else (low, middle)
            out[i] = -np.cos((low + high) / 2)
        return out

    return Attack(
        name="joint-glm-adaptive",
        view=BLACK,
        epsilon=make(Simulated(0)).privacy.epsilon,
        delta=BUDGET.delta,
        how=f"User 1 has {SCORE_PAIR}; {PROBES} later users find the angle of the estimate by bisection, each with "
        "tiny arms v and -v that depend on the answers so far; score: minus the cosine of that angle.",
        scores=scores,
        family="gaussian",
        share=0.1,
    )
