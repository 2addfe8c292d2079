"""Thompson sampling with the Laplace approximation of the posterior."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator, default_rng

from reticent.algorithms import chances
from reticent.core.choices import Index
from reticent.data import Array
from reticent.kernels.block import Block
from reticent.model.chances import Chance, Later
from reticent_lab import plain
from reticent_papers.kernels.mle import MLEState, record
from reticent_papers.references.logistic_ts_kernel import laplace_rounds, laplace_rows
from reticent_papers.references.mle_ucb import history


@dataclass(kw_only=True, eq=False)
class LogisticTS(plain.Reference):
    """For each user a draw of theta from N(mode, width_scale^2 H^-1), and the arm that is best under it: mode and
    curvature H of the posterior under the prior N(0, radius^2 / d I).

    Guarantee: none, of privacy or of regret. Memory grows with the horizon: all data is kept.
    Reference: Chapelle & Li 2011, Algorithm 3; Russo et al. 2018, section 5.2.
    Departure: the posterior is that of all data, not of one pass; the covariance is full; the mode is refitted when the
    data has grown by 5 %. Probit and identity links work alike.
    """

    policy: Generator = field(default_factory=default_rng, repr=False)
    _state: MLEState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._link = plain.check(self)
        self._ridge = self.dim / self.radius**2
        super().__post_init__()

    def init(self) -> MLEState:
        return history(self, self._ridge)

    def _pick(self, features: Array) -> Index:
        return plain.choose_rows(laplace_rows, features, self.policy, features, self._state.estimate, self.width_scale)

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        estimate = self._state.estimate
        now = estimate.theta.copy(), self.width_scale**2 * estimate.inverse
        return Later(functools.partial(_propensity, features, *now, index))

    def _learn(self, x: Array, reward: float) -> None:
        record(x, self._in_units(reward), self._link.code, self._ridge, True, self._state)

    def _play(self, block: Block) -> bool:
        settings = self._link.code, self._ridge, self.width_scale
        laplace_rounds(self.policy, block, self._state, self._range, *settings)
        return True


def _propensity(arms: Array, theta: Array, covariance: Array, index: int) -> Chance:
    """The probability of arm `index` of (K, d), which was chosen, with its error."""
    sizes, axes = np.linalg.eigh(covariance)
    return chances.of_chosen(chances.values(arms, theta, axes * np.sqrt(np.maximum(sizes, 0.0))), index)
