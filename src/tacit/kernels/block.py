"""A block of rounds that an environment writes and a bandit plays: what makes n + m kernels of n x m pairs."""

from typing import Any, NamedTuple


class Block(NamedTuple):
    """Arrays for `size` rounds. The world fills arms, means and noise; the bandit fills index, reward and regret."""

    arms: Any  # (size, K, d)
    means: Any  # (size, K): expected reward of each arm
    noise: Any  # (size,): one uniform or normal number per round
    logged: Any  # (size,) int64: the only arm whose reward is known, or -1 if all are
    kind: Any  # int64[1]: of the reward
    scale: Any  # float64[1]
    index: Any  # (size,) int64, out: the arm played, or -1 if the round was not used
    reward: Any  # (size,) out
    regret: Any  # (size,) out
