"""Lists: the simulated rounds of one step."""

import numpy as np
from numpy.random import Generator

from tacit.data import Array, Integers
from tacit.kernels.block import LOGGED, Block, reward
from tacit.kernels.compile import kernel
from tacit.kernels.continual import JointState, PrefixState
from tacit.kernels.lists import best_first, draw_list, keep_list
from tacit.kernels.rounds import CHOICES, ENTERED, Held, forget
from tacit.model.lists import bits


@kernel
def uniform(noise: float, item: int) -> float:
    """A number in [0, 1) for each item of a round, from the round's own: by the mixing steps of SplitMix64."""
    z = np.uint64(noise * 9007199254740992.0) + np.uint64(item + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) / 9007199254740992.0


@kernel
def seen(block: Block, t: int, shown: Integers, positions: Array) -> float:
    """Write what showing these items in round t gave: `reward` is the number of clicks, `regret` what the best list
    would have brought more on average. Returns the rewards as one number (model.lists.packed); NaN if there are
    none."""
    each = bits(positions.size)
    most, code, clicks, value = (1 << each) - 1, 0, 0.0, 0.0
    for j in range(shown.size):
        mean = block.means[t, shown[j]]
        seen_as = mean if block.kind[0] == LOGGED else positions[j] * mean
        given = reward(block.kind[0], block.scale[0], seen_as, uniform(block.noise[t], shown[j]))
        clicks += given
        value += positions[j] * mean
        if not np.isnan(given):
            code |= int(np.rint(given * most)) << (each * j)
    best, top = 0.0, np.empty(shown.size, np.int64)
    best_first(block.means[t], top)
    for j in range(top.size):
        best += positions[j] * block.means[t, top[j]]
    block.index[t], block.reward[t], block.regret[t] = shown[0], clicks, best - value
    return np.nan if np.isnan(clicks) else float(code)


@kernel
def list_rounds(
    policy: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    positions: Array,
    random: bool,
    rows: Array,
    codes: Array,
) -> int:
    """Rounds that end no step; random: with random lists. Changes state and the block's out arrays, and rows and codes:
    what enters, and with which rewards. Returns how many do."""
    counts, _, posterior, _ = state
    shown, entered = np.empty(min(positions.size, block.arms.shape[1]), np.int64), 0
    for t in range(block.noise.size):
        draw_list(policy, block.arms[t], posterior, positions.size, random, shown)
        code = seen(block, t, shown, positions)
        counts[CHOICES] += 1
        if held.hold == 0:
            keep_list(block.arms[t], shown, rows[entered])
            codes[entered] = code
            entered += 1
            continue
        last = counts[CHOICES] % held.rewards.size
        keep_list(block.arms[t], shown, held.rows[last])
        late = block.delay.size > 0 and block.delay[t] >= held.hold
        held.ids[last], held.rewards[last] = counts[CHOICES], np.nan if late else code
        if counts[CHOICES] > held.hold:
            counts[ENTERED] += 1
            slot = counts[ENTERED] % held.rewards.size
            rows[entered] = held.rows[slot]
            codes[entered] = held.missing if np.isnan(held.rewards[slot]) else held.rewards[slot]
            forget(held, slot)
            entered += 1
    return entered
