"""The attacks that must succeed: on planted bugs. Where `sound` is asked for, the same attack on the sound code."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from reticent.core.bandit import Bandit
from reticent.data import Array
from reticent.model.linear import LinearContribution
from reticent.privacy import ledger
from reticent.privacy.ledger import GaussianRelease
from reticent.privacy.noise import Simulated, Source
from reticent.privacy.relations import REPLACE
from reticent.testing.canary import worst_canary
from reticent.testing.stage import User, act, close, fresh, nobody
from reticent_lab.audit import mutants
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import BUDGET, GLM_PAIR, SCORE_PAIR, WHITE, Pair, glm, white_box
from reticent_lab.audit.attacks.mechanisms import calibrated, mechanism_attack
from reticent_lab.mechanisms.toeplitz import Toeplitz
from reticent_lab.mechanisms.tree import Tree

SCORES: dict[str, Any] = {"features": 2, "link": "identity", "radius": 9.0, "prior": ((9.0, 0.0), 1e9)}
LEAVES = 15  # four levels of a tree, all of them in use
USERS = 4  # in a step


def attacks(*, sound: bool = False) -> Sequence[Attack]:
    """One for each planted bug; with `sound`, the same ones on code without the bug, which must be acquitted."""
    bad = not sound
    tree: dict[str, Any] = {"leaves": LEAVES, "size": 1}
    honest = calibrated(lambda sigma: Tree(**tree, sigma=sigma), BUDGET)
    options: dict[str, Any] = {"delta": BUDGET.delta, "share": 10.0}
    trees: tuple[tuple[str, Any, str], ...] = (
        ("forgotten-level", mutants.ForgottenLevel, "Calibrated for three of four levels. "),
        ("silent-level", mutants.SilentLevel, "One of four levels has no noise. "),
        ("redrawn-noise", mutants.Redrawn, "Nodes are noised again at each release. "),
    )
    out = []
    for name, kind, bug in trees:
        mechanism = calibrated(lambda sigma, kind=kind: kind(**tree, sigma=sigma), BUDGET) if bad else honest  # type: ignore[misc]
        out.append(mechanism_attack(name, mechanism, bug=bug, **options))
    quiet = _quiet if bad else Simulated
    half = mutants.HalfSensitivity.of if bad else "curvature"
    unbounded = mutants.UnboundedScores.of if bad else "scores"
    out += [
        mechanism_attack("quiet-noise", honest, source=quiet, bug="Noise of 0.8 sigma. ", **options),
        white_box(
            "half-sensitivity", glm(features=2, model=half), GLM_PAIR, share=0.5, bug="Calibrated for half of D. "
        ),
        white_box(
            "unbounded-scores",
            glm(model=unbounded, **SCORES),
            Pair(([1.0, 0.0], 0.0), ([1e-6, 0.0], 1.0)),
            stepwise=True,
            share=0.1,
            bug="Scores of a linear model, by 1 / |x| alone, at an estimate of length 9. ",
        ),
        unnoised_statistic(bad),
        counted_noise(bad),
        clipped_sum(bad),
        seeded_noise(bad),
    ]
    return [dataclasses.replace(attack, claimed=sound) for attack in out]


def _quiet(seed: int) -> Source:
    return mutants.Quiet(Simulated(seed), 0.8)


def unnoised_statistic(bad: bool) -> Attack:
    """One of five coordinates, a moment, gets no noise: the score looks there."""
    honest = glm(features=2)
    factor = np.array([1.0, 1.0, 1.0, 0.0, 1.0])
    return white_box(
        "unnoised-statistic",
        (lambda source: honest(mutants.Quiet(source, factor))) if bad else honest,
        SCORE_PAIR,
        noise=np.maximum(factor, 1e-3).tolist(),
        stepwise=True,
        bug="One of five coordinates has no noise. ",
        share=0.05,
    )


def counted_noise(bad: bool) -> Attack:
    """The first user's reward comes or does not. Nobody contributes anything but a count."""
    make = glm(mutants.CountedNoise if bad else Bandit, features=2)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.empty(runs)
        arms = np.zeros((2, 1, 2))
        for i, bandit in enumerate(fresh(make, runs, rng)):
            batch = bandit.choose_many(arms)
            bandit.observe(int(batch.id[1]), 0.0)
            if world == 0:
                bandit.observe(int(batch.id[0]), 0.0)
            out[i] = -np.linalg.norm(close(bandit))
        return out

    return Attack(
        name="counted-noise",
        view=WHITE,
        epsilon=make(Simulated(0)).privacy.epsilon,
        delta=BUDGET.delta,
        how="The noise shrinks with the number of rewards that came. A batch of two users whose arms are 0; the first "
        "one's reward comes or never does; score: minus the norm of the first release.",
        scores=scores,
        family="gaussian",
        share=0.05,
    )


def seeded_noise(bad: bool) -> Attack:
    """The adversary runs a copy of the program without the canary, and subtracts what it releases."""
    make = glm(features=2)

    def first_release(source: Source, user: User) -> Array:
        bandit = make(source)
        act(bandit, user)
        return close(bandit)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        kind: Any = mutants.WrittenSeed if bad else Simulated
        canary, empty = SCORE_PAIR.user(world), nobody(2)
        out = np.empty(runs)
        for i, (seed, own) in enumerate(rng.integers(2**63, size=(runs, 2))):
            out[i] = (first_release(kind(int(own)), empty) - first_release(kind(int(seed)), canary))[3]
        return out

    return Attack(
        name="seeded-noise",
        view=WHITE,
        epsilon=make(Simulated(0)).privacy.epsilon,
        delta=BUDGET.delta,
        how=f"The seed is in the program. User 1 has {SCORE_PAIR}; score: the release of the "
        "adversary's own copy of the program minus the first release.",
        scores=scores,
        family="gaussian",
        share=0.01,
    )


def clipped_sum(bad: bool) -> Attack:
    """Four users a step, the canary with a reward far out of bounds."""
    settings: dict[str, Any] = {"dim": 2, "scale": 0.9, "low": -1.0, "high": 1.0}
    contribution = (mutants.UnclippedContribution if bad else LinearContribution)(**settings)
    sensitivity, size = contribution.sensitivity, contribution.size
    options: dict[str, Any] = {"largest": USERS * math.hypot(1, contribution.scale)} if bad else {}
    kind: Any = mutants.ClippedSum if bad else Toeplitz
    unit = calibrated(lambda sigma: Toeplitz(leaves=3, size=size, sigma=sigma), BUDGET)
    mechanism = kind(leaves=3, size=size, sigma=sensitivity * unit.sigma, **options)
    weights = worst_canary(unit, leaf=0).weights
    claim = GaussianRelease(
        "clipped-sum", "sums", sensitivity, mechanism.column_norm, mechanism.sigma, relation=REPLACE
    )

    def scores(world: int, runs: int, rng: Generator) -> Array:
        source = Simulated(int(rng.integers(2**63)))
        out = np.zeros(runs)
        for i in range(runs):
            state = mechanism.init(source)
            contribution.add(np.array([1.0, 0.0]), 200.0 * world - 100.0, state.open)
            for _ in range(USERS - 1):
                contribution.add(np.zeros(2), 0.0, state.open)
            for weight in weights:
                out[i] += weight * mechanism.release(state, source)[3]
        return out

    return Attack(
        name="clipped-sum",
        view=WHITE,
        epsilon=ledger.epsilon_of((claim,), BUDGET.delta),
        delta=BUDGET.delta,
        how=f"Sums are clipped, not contributions. {USERS} users a step; user 1 reports a reward of -100 or 100 where "
        "[-1, 1] is allowed, the others nothing; score: its coordinate of all releases, whitened.",
        scores=scores,
        family="gaussian",
        share=0.1,
    )
