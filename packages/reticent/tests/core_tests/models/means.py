"""A model as a stranger would write it: the mean reward of each arm, whose last number says which it is. Its norm is
l1, so that its noise is Laplace."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from reticent.algorithms.chances import Values
from reticent.kernels.compile import kernel
from reticent.models.protocol import Compiled, ModelSums, Pace


class MeansEstimate(NamedTuple):
    theta: np.ndarray


@dataclass(frozen=True)
class Means:
    """A person adds q, the reward's place in its range from -1/2 to 1/2, in the place of the arm that was played.

    Sensitivity, l1: |q - q'| <= 1 for one arm, |q| + |q'| <= 1 for two, or for two steps."""

    arms: int
    low: float
    high: float
    pace: ClassVar[Pace] = Pace(growth=2.0, discount=0.95, per_sigma=1.0)
    knows: ClassVar[bool] = False
    reports: ClassVar[bool] = False

    @classmethod
    def of(cls, settings):
        return cls(settings.blocks, float(settings.low), float(settings.high))

    @property
    def sums(self):
        return ModelSums(self.arms, 1.0, "l1", "centred rewards by arm")

    def blank(self, live):
        return MeansEstimate(np.zeros(self.arms))

    def fit(self, before, released, step, live, course, chosen):
        return MeansEstimate(np.array(released) / (course.std(step) + 1.0))

    def pick(self, estimate, arms, rng):
        return np.argmax(estimate.theta[arms[:, :, -1].astype(np.int64)], axis=1)

    def values(self, estimate, arms):
        return Values(estimate.theta[arms[:, -1].astype(np.int64)], np.zeros((len(arms), 0)))

    def beliefs(self, estimate, arms, level):
        middle = estimate.theta[arms[:, -1].astype(np.int64)]
        return middle, np.ones(len(middle))

    def mean(self, z):
        return (self.low + self.high) / 2 + (self.high - self.low) * z

    def keep(self, estimate, x, place, name, names):
        return x.copy()

    def adder(self, estimate):
        return Compiled(sum_means, (self.low, self.high))

    def loop(self, course):
        return None

    def report(self, estimate, live, course):
        return None


@kernel
def sum_means(rows, rewards, weights, low, high, cell, longest, out):
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            q = weights[i] * ((min(max(rewards[i], low), high) - low) / (high - low) - 0.5)
            out[int(rows[i, -1])] += q if cell == 0.0 else np.int64(np.rint(q / cell))
