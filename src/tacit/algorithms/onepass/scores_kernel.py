"""One-pass scores: whole blocks of simulated rounds."""

import numpy as np
from numpy.random import Generator

from tacit.data import Array, Integers
from tacit.kernels.block import Block
from tacit.kernels.compile import kernel
from tacit.kernels.continual import JointState, simulate_step
from tacit.kernels.formulas import add_score
from tacit.kernels.glm import Known
from tacit.kernels.noise import NoiseLaw
from tacit.kernels.rounds import BOUNDARY, Held, Range, Schedule, enters, entries, next_boundary, outcome
from tacit.kernels.scores import best_by, follow, place_of
from tacit.model.links import Code


@kernel
def score_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState,
    law: NoiseLaw,
    etas: Array,
    spreads: Array,
    share: float,
    schedule: Schedule,
    rewards: Range,
    link: Code,
    most: float,
    here: Integers,
    known: Known,
    width: int,
    shared: int,
) -> None:
    """etas[k], spreads[k]: those after k releases, the last ones also those of all later ones. The users of the first
    step get random arms, unless something is known. Changes state and the block's out arrays."""
    counts, prefix, posterior, _ = state
    target, row = np.empty(posterior.theta.size), np.empty(block.arms.shape[2] + 1)
    for t in range(block.noise.size):
        if entries(counts, held) >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            k = min(prefix.noise.step[0], etas.size - 1)
            step = prefix.noise.step[0]
            follow(prefix.released, step, etas[k], share, spreads[k], most, here, known, posterior)
            counts[BOUNDARY] = next_boundary(entries(counts, held), schedule.first, schedule.growth, schedule.longest)
        if prefix.noise.step[0] == 0 and known.theta.size == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = best_by(policy, block.arms[t], posterior, width, shared, target)
        if outcome(block, t, index) and enters(counts, held, block.arms[t, index], block.reward[t], row):
            x, y, start = row[:width], row[-1], place_of(row[:-1], width, shared)
            if not np.isnan(y):
                add_score(x, y, posterior.centre, shared, start, link, rewards.low, rewards.high, prefix.open)
