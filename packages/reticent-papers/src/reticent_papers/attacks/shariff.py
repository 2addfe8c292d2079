"""Attacks on ShariffLinUCB: each of its ways to release, the published noise, and an answer that comes late."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.privacy.noise import Simulated, Source
from reticent.testing.canary import difference
from reticent.testing.stage import Make, act, close, fresh, nobody, released
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import BUDGET, STEPS, WHITE, Pair, white_box
from reticent_papers import ShariffLinUCB

LINEAR_PAIR = Pair(([1.0, 0.0], 1.0), ([0.435, 0.9004], -1.0))  # attains the sensitivity at dim 2 and radius 1
EACH_CHOICE = ("tree", "consistent-tree", "toeplitz", "buffered")  # is a step


def attacks() -> Sequence[Attack]:
    name = "shariff-lin-ucb"
    return [
        *(white_box(f"{name}-{release}", shariff(release=release), LINEAR_PAIR, share=0.3) for release in EACH_CHOICE),
        white_box(f"{name}-paper", shariff(calibration="paper"), LINEAR_PAIR, epsilon=BUDGET.epsilon, share=0.1),
        white_box(f"{name}-wishart", shariff(noise="wishart"), LINEAR_PAIR, family="general", share=0.1),
        late_reward(f"{name}-late", shariff()),
    ]


def shariff(**options: Any) -> Make:
    def make(source: Source) -> ShariffLinUCB:
        return ShariffLinUCB(dim=2, horizon=STEPS, pending=STEPS, budget=BUDGET, source=source, **options)

    return make


def late_reward(name: str, make: Make) -> Attack:
    """The first user answers at once in world 0; in world 1 it is somebody else, who answers a step later."""
    bandit = make(Simulated(0))
    leaves, size = bandit.mechanism.leaves, bandit.contribution.size
    moves = np.zeros((2, leaves, size))
    for world, (x, reward) in enumerate(LINEAR_PAIR):
        bandit.contribution.add(np.array(x), reward, moves[world, world])  # world 1: in the second leaf
    test = difference(bandit.mechanism, *moves)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        canary, empty = LINEAR_PAIR.user(world), nobody(2)
        out = np.zeros(runs)
        for i, played in enumerate(fresh(make, runs, rng)):
            waiting = played.choose(canary.arms)
            for t in range(leaves):
                if t == world:
                    played.observe(waiting, canary.reward)
                act(played, empty) if t + 1 < leaves else close(played)  # closes step t
                out[i] += test.score(t, released(played))
        return out

    return Attack(
        name=name,
        view=WHITE,
        epsilon=bandit.privacy.epsilon,
        delta=BUDGET.delta,
        how=f"User 1 has {LINEAR_PAIR}; the first one answers at once, the other one step later; score: all releases, "
        "whitened, along the difference.",
        scores=scores,
        family="gaussian",
        share=0.1,
    )
