"""One-pass scores: whole blocks of simulated rounds."""

import numpy as np
from numpy.random import Generator

from tacit.data import Array, Integers
from tacit.kernels.block import Block
from tacit.kernels.compile import kernel
from tacit.kernels.continual import JointState, PrefixState, simulate_step
from tacit.kernels.formulas import add_score
from tacit.kernels.glm import Known
from tacit.kernels.noise import NoiseLaw
from tacit.kernels.rounds import (
    BOUNDARY,
    NOBODY,
    Held,
    Range,
    Schedule,
    boundary_by,
    enters,
    entries,
    forget,
    outcome,
)
from tacit.kernels.scores import best_by, follow, place_of
from tacit.model.links import Code


@kernel
def score_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
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
) -> None:
    """etas[k], spreads[k]: those after k releases, the last ones also those of all later ones. The users of the first
    step get random arms, unless something is known. Changes state and the block's out arrays."""
    counts, prefix, posterior = state
    target = np.empty(posterior.theta.size)
    for t in range(block.noise.size):
        if entries(counts, held) >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            k = min(prefix.noise.step[0], etas.size - 1)
            step = prefix.noise.step[0]
            follow(prefix.released, step, etas[k], share, spreads[k], most, here, known, posterior)
            counts[BOUNDARY] = boundary_by(schedule, entries(counts, held))
        if prefix.noise.step[0] == 0 and known.theta.size == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = best_by(policy, block.arms[t], posterior, width, target)
        if not outcome(block, t, index):
            continue
        row, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            x, start = row[:width], place_of(row, width)
            add_score(x, y, posterior.centre, start, link, rewards.low, rewards.high, prefix.open)
        if slot >= 0:
            forget(held, slot)
