"""A block of rounds that an environment writes and a bandit plays (so that n worlds and m bandits take n + m kernels,
not n m), and a reward from its mean and one number drawn in advance."""

from typing import NamedTuple

import numpy as np

from reticent.data import Array, Integers
from reticent.kernels.compile import kernel

BERNOULLI, SIGN, GAUSSIAN_REWARD, LOGGED = 0, 1, 2, 3
AT_ONCE = np.zeros(0, np.int64)


class Block(NamedTuple):
    """Arrays for `size` rounds. The world fills arms, means and noise; the bandit fills index, reward and regret."""

    arms: Array  # (size, K, d)
    means: Array  # (size, K): expected reward of each arm
    noise: Array  # (size,): one uniform or normal number per round
    logged: Integers  # (size,): the only arm whose reward is known, or -1 if all are
    kind: Integers  # (1,): of the reward
    scale: Array  # (1,)
    index: Integers  # type: ignore[assignment]  # (size,) out: the arm played, or -1 if the round was not used
    reward: Array  # (size,) out
    regret: Array  # (size,) out
    delay: Integers = AT_ONCE  # (size,): later choices that were made when the reward comes; empty: all come at once


@kernel
def reward(kind: int, scale: float, mean: float, noise: float) -> float:
    """BERNOULLI: 1 with probability mean (noise uniform). SIGN: +-scale of that mean. GAUSSIAN: mean + scale * noise.
    LOGGED: the mean is the logged reward."""
    if kind == BERNOULLI:
        return 1.0 if noise < mean else 0.0
    if kind == SIGN:
        return scale if noise < 0.5 * (1.0 + mean / scale) else -scale
    if kind == GAUSSIAN_REWARD:
        return mean + scale * noise
    return mean
