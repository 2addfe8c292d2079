"""A block of rounds that an environment writes and a bandit plays: what makes n + m kernels of n x m pairs."""

from typing import NamedTuple

from tacit.data import Array, Integers


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
