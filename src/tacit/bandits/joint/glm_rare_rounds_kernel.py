"""Whole blocks of rounds of the rarely switching bandit, made of the steps in glm_rare_kernel."""

import numpy as np
from numpy.random import Generator

from tacit.bandits.joint.glm_rare_kernel import (
    CALLS_O,
    RareState,
    Rule,
    add_design,
    compute_o,
    compute_tau,
    due_o,
    due_tau,
    exploit,
    keep,
    redesign,
    uncertain,
)
from tacit.data import Array
from tacit.kernels.block import Block
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.continual import draw_rows, simulate_step
from tacit.kernels.noise import NoiseLaw
from tacit.kernels.rounds import BOUNDARY, CHOICES, outcome


@inlined
def drawn(rng: Generator, law: NoiseLaw, iterations: int, d: int) -> Array:
    """Fresh noise for one call of the optimiser."""
    noise = np.empty((iterations, d))
    draw_rows(rng, law, noise)
    return noise


@kernel
def rare_rounds(
    rng: Generator,
    block: Block,
    state: RareState,
    rule: Rule,
    law: NoiseLaw,
    law_o: NoiseLaw,
    law_tau: NoiseLaw,
    iterations: int,
) -> None:
    """JointGLMRare: law, law_o, law_tau of the noise of the matrices and of the gradients for theta_o and theta_tau.
    Changes state and the block's out arrays."""
    counts, prefix, design, data = state
    collected = prefix.open
    d = block.arms.shape[2]
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            counts[BOUNDARY] = counts[CHOICES] + 1
            redesign(prefix.released, rule, design)
            if not rule.published:
                if due_o(counts, design, rule):
                    compute_o(state, drawn(rng, law_o, iterations, d), rule)
                if due_tau(counts, design, rule):
                    compute_tau(state, drawn(rng, law_tau, iterations, d), rule)
        arms = block.arms[t]
        index = uncertain(arms, design, rule)
        explored = index >= 0
        if not explored:
            if rule.published and due_tau(counts, design, rule):
                compute_tau(state, drawn(rng, law_tau, iterations, d), rule)
            index = exploit(arms, design, rule)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            x = arms[index]
            add_design(x, explored, design.theta_o, rule.link, rule.slope, collected)
            keep(x, block.reward[t], explored, rule.low, rule.high, counts, data)
            if rule.published and explored and counts[CALLS_O] < rule.most_o:
                compute_o(state, drawn(rng, law_o, iterations, d), rule)
