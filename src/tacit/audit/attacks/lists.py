"""Attacks on lists: the canary is a person with a whole list, all of whose items were clicked on, or opposite ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from tacit.audit.attack import Attack
from tacit.audit.attacks.bandits import BUDGET, STEPS, WHITE, glm
from tacit.audit.canary import worst_canary
from tacit.audit.stage import close, fresh, open_step, released
from tacit.bandits import JointGLM
from tacit.data import Array
from tacit.privacy.noise import Simulated

POSITIONS = (1.0, 1.0, 1.0, 1.0, 0.5)


def attacks() -> Sequence[Attack]:
    return [lists_attack("joint-glm-lists", JointGLM)]


def lists_attack(name: str, kind: Any, *, bug: str = "", share: float = 0.1) -> Attack:
    """In one step somebody with five equal items, in the other world with five opposite ones, and all of them
    clicked; in others nobody answers. That pair attains D."""
    make = glm(kind, dim=1, positions=POSITIONS)

    def person(bandit: Any, world: int) -> None:
        choice = bandit.choose(np.full((len(POSITIONS), 1), 2.0 * world - 1.0))
        bandit.observe(choice, [1.0] * len(POSITIONS))

    def added(world: int) -> Array:
        bandit = make(Simulated(0))
        person(bandit, world)
        return open_step(bandit)

    bandit, vectors = make(Simulated(0)), [added(world) for world in range(2)]
    canary, middle, direction = worst_canary(bandit.mechanism), sum(vectors) / 2, vectors[1] - vectors[0]
    direction = direction / np.linalg.norm(direction)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.zeros(runs)
        for i, played in enumerate(fresh(make, runs, rng)):
            for t in range(bandit.mechanism.leaves):
                if t == canary.leaf:
                    person(played, world)
                else:
                    played.choose(np.zeros((1, 1)))
                close(played)
                out[i] += canary.weights[t] * (direction @ (released(played) - canary.moves[t] * middle))
        return out

    return Attack(
        name=name,
        view=WHITE,
        epsilon=bandit.privacy.epsilon,
        delta=BUDGET.delta,
        how=f"{bug}One choice a step, {STEPS} steps; in step {canary.leaf + 1} somebody is shown five equal items and "
        "clicks on all of them: they have the feature -1, or 1. Score: the whitened difference of all releases.",
        scores=scores,
        family="gaussian",
        share=share,
    )
