"""The noise in sums of "people so far", release by release, and when releases come: computed here a second time, from
the mechanism's encoder alone."""

import math

import numpy as np

from reticent import Bandit, JointGLM, Reward
from reticent.data import Array
from reticent.kernels.rounds import next_boundary
from reticent.mechanisms.discounted import coefficients
from reticent.privacy.budget import Budget

BANDIT = 0.03  # of mu^2: what the bandit's people spend on their sum


def gains(fading: float, count: int) -> Array:
    """(1 - L)^-1 (1 - fading L)^(1/2): how noise of each release is in the sums after it."""
    root = coefficients(count) * fading ** np.arange(count)
    inverse = np.zeros(count)
    inverse[0] = 1.0
    for k in range(1, count):
        inverse[k] = -(root[k:0:-1] @ inverse[:k])
    return np.cumsum(inverse)


class Noise:
    """ends: people at each release, whole blocks. std: of the holdout's noise, in people. matrix: what makes it of
    independent normal numbers, one for each release."""

    def __init__(self, epsilon: float, block: int, people: int) -> None:
        bandit = Bandit(JointGLM(5, Budget(epsilon, 1e-6), Reward(radius=3.0)))
        plan = bandit.plan
        self.ends: list[int] = []
        while not self.ends or self.ends[-1] < people:
            due = next_boundary(self.ends[-1] if self.ends else 0, *plan.schedule)
            self.ends.append(block * math.ceil(due / block))
        count = len(self.ends)
        mechanism = plan.mechanism
        found = gains(mechanism.fading, count) * mechanism.sigma / bandit.one_pass.learnt.sums.sensitivity
        self.matrix = np.array([[found[i - j] if j <= i else 0.0 for j in range(count)] for i in range(count)])
        self.std: Array = np.sqrt((self.matrix**2).sum(axis=1))
