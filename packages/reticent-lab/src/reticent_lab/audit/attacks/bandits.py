"""Attacks on whole bandits, with everything released in view (white box) or later users' arms alone (black box)."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from reticent.core.bandit import Bandit
from reticent.core.live import Live
from reticent.data import Array
from reticent.features.columns import Number
from reticent.features.schema import Schema
from reticent.flat import named
from reticent.kernels.noise import gaussian_law
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated, Source
from reticent.testing.canary import worst_canary
from reticent.testing.stage import (
    Make,
    User,
    act,
    close,
    contribution,
    fresh,
    mechanism,
    nobody,
    probe,
    released,
    users,
)
from reticent_lab.audit.attack import Attack

BUDGET = Budget(epsilon=1.0, delta=0.02)
STEPS = 4
WHITE = "all releases"
BLACK = "later actions"


class Pair(NamedTuple):
    """The first user in world 0 and in world 1: a single arm and its reward."""

    zero: tuple[Sequence[float], float]
    one: tuple[Sequence[float], float]

    def __str__(self) -> str:
        return " or ".join(f"arm ({', '.join(f'{v:.3g}' for v in x)}) and reward {reward:g}" for x, reward in self)

    def user(self, world: int) -> User:
        x, reward = self[world]
        return User(np.array([x]), reward)


def attacks() -> Sequence[Attack]:
    one_dim = Pair(([1.0], 0.0), ([1.0], 1.0))
    return [
        white_box("joint-glm", glm(features=2), GLM_PAIR),
        white_box("joint-glm-blocks", glm(features=FIELDS, model="curvature"), BLOCK_PAIR),
        white_box("joint-glm-other-block", glm(features=FIELDS, model="curvature"), TWO_BLOCKS, share=0.3),
        white_box("joint-glm-scores", glm(features=2, model="scores"), SCORE_PAIR),
        white_box("joint-glm-fields", glm(features=FIELDS), FIELD_PAIR, share=0.1),
        white_box("joint-glm-base-rate", glm(features=FIELDS, base_rate=0.02), TWO_FIELDS, share=0.1),
        white_box("joint-glm-vectors-base-rate", glm(features=2, base_rate=0.02), BACK, share=0.3),
        black_box("joint-glm-actions", glm(features=1, first=4, horizon=20), one_dim, direction=[1.0], share=0.5),
    ]


def glm(kind: Any = Bandit, *, pending: int = STEPS, **options: Any) -> Make:
    """kind: of bandit. options: settings of the algorithm."""
    settings: dict[str, Any] = {"budget": BUDGET, "horizon": STEPS, "first": 1} | options
    algorithm = named(**settings)

    def make(source: Source) -> Any:
        seed = source.rows(1, 1, gaussian_law(1.0)).view(np.uint64)[0] if not source.private else None
        return kind(algorithm, source=source, policy=default_rng(seed), pending=pending)

    return make


BLOCK_PAIR = Pair(([1.0, 0.0, 0.0, 0.0, 1.0], 1.0), ([1e-9, 0.0, 0.0, 0.0, 1.0], 0.0))  # the same within a block
TWO_BLOCKS = Pair(
    ([1.0, 0.0, 0.0, 0.0, 0.0], 1.0), ([1.0, 0.0, 0.0, 0.0, 1.0], 1.0)
)  # the same person with another arm
SCORE_PAIR = Pair(([1.0, 0.0], 1.0), ([1.0, 0.0], 0.0))  # at theta = 0: opposite scores of length 1
FIELDS = Schema(context={"x": Number(0.0, 1.0, bins=2)}, arms="disjoint", actions=("a", "b"))
HALF = math.sqrt(0.5)  # what the constant has for everybody, and the rest of somebody of length 1
FIELD_PAIR = Pair(([HALF, HALF, 0.0, 0.0, 0.0], 1.0), ([HALF, HALF, 0.0, 0.0, 0.0], 0.0))  # attains D at c = 1/2
TWO_FIELDS = Pair(([HALF, HALF, 0.0, 0.0, 0.0], 1.0), ([HALF, HALF, 0.0, 0.0, 1.0], 1.0))  # and at a small c
BACK = Pair(([1.0, 0.0], 1.0), ([-1.0, 0.0], 1.0))  # attains D of vectors at a small c
GLM_PAIR = Pair(([1.0, 0.0], 1.0), ([1e-9, 0.0], 0.0))  # nearly: full and no curvature, opposite responses


def white_box(
    name: str,
    make: Make,
    pair: Pair,
    *,
    epsilon: float | None = None,
    claimed: bool = True,
    family: str = "gaussian",
    share: float = 1.0,
    noise: Sequence[float] | None = None,
    stepwise: bool = False,
    source: Callable[[int], Source] = Simulated,
    rounds: int = 1,
    bug: str = "",
) -> Attack:
    """`rounds` choices a step, and nobody but the canary contributes, in all choices of its step: the releases are so
    many times the canary's vector, faded, and noise.
    `noise`: how strong it is in each coordinate where that is not the same in all. `stepwise`: by choose and observe
    instead of the compiled loop, which any `source` of noise can do."""
    bandit = make(_any_noise())
    width, canary = bandit.memory.validator.width, worst_canary(mechanism(bandit))
    vectors = [rounds * contribution(bandit, x, reward) for x, reward in pair]
    middle = (vectors[0] + vectors[1]) / 2
    direction = (vectors[1] - vectors[0]) / (1.0 if noise is None else np.square(noise))
    leaves = mechanism(bandit).leaves
    often = f" is in {rounds} rounds and" if rounds > 1 else ""

    def scores(world: int, runs: int, rng: Generator) -> Array:
        members = [nobody(width, silence(bandit))] * leaves
        members[canary.leaf] = pair.user(world)
        blocks = [users([member] * rounds) for member in members]
        out = np.zeros(runs)
        for i, played in enumerate(fresh(make, runs, rng, source=source)):
            for t in range(-1, leaves):
                if t + 1 < leaves:  # closes step t
                    for _ in range(rounds if stepwise else 0):
                        act(played, members[t + 1])
                    if not stepwise:
                        played.play(blocks[t + 1])
                else:
                    close(played)
                if t >= 0:
                    out[i] += canary.weights[t] * (direction @ (released(played) - canary.moves[t] * middle))
        return out

    return Attack(
        name=name,
        view=WHITE,
        epsilon=bandit.privacy.epsilon if epsilon is None else epsilon,
        delta=BUDGET.delta,
        claimed=claimed,
        how=f"{bug}User {canary.leaf + 1}{often} has {pair}, the others contribute nothing; score: the {leaves} "
        "releases, whitened, along the difference of the two contributions.",
        scores=scores,
        family=family,
        share=share,
    )


def black_box(
    name: str,
    make: Make,
    pair: Pair,
    *,
    direction: Sequence[float],
    claimed: bool = True,
    family: str = "gaussian",
    share: float = 1.0,
    stepwise: bool = False,
    source: Callable[[int], Source] = Simulated,
    bug: str = "",
) -> Attack:
    """The later users offer themselves tiny arms +v and -v, and tell each other which one they got. `stepwise`: as in
    `white_box`."""
    bandit = make(_any_noise())
    middle, later = sum(bandit.memory.validator.rewards) / 2, bandit.memory.learner.horizon - 1

    def scores(world: int, runs: int, rng: Generator) -> Array:
        canary = pair.user(world)
        probes = [probe(np.array(direction), middle)] * later
        members = [User(np.repeat(canary.arms, 2, axis=0), canary.reward), *probes]
        block = users(members)
        out = np.empty(runs)
        for i, played in enumerate(fresh(make, runs, rng, source=source)):
            if stepwise:
                block.index[:] = [act(played, member) for member in members]
            else:
                played.play(block)
            out[i] = np.count_nonzero(block.index[1:] == 0)
        return out

    return Attack(
        name=name,
        view=BLACK,
        epsilon=bandit.privacy.epsilon,
        delta=BUDGET.delta,
        claimed=claimed,
        how=f"{bug}User 1 has {pair}; each of the {later} later users offers itself tiny arms v and -v; "
        "score: how many got v.",
        scores=scores,
        family=family,
        share=share,
    )


def silence(bandit: Any) -> float:
    """The reward of somebody with arm 0 who adds nothing: where everybody who answers counts, none."""
    counts = not isinstance(bandit, Live) and (bandit.plan.features or bandit.plan.reward.base_rate)
    return math.nan if counts else 0.0


def _any_noise() -> Source:
    return Simulated(0)
