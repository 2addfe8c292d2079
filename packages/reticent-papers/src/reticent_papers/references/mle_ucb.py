"""Maximum likelihood and a small bonus: the best non-private reference."""

from dataclasses import dataclass, field

import numpy as np

from reticent.core.choices import Index
from reticent.core.live import Live
from reticent.data import Array, Exact
from reticent.kernels.block import Block
from reticent.kernels.linear import optimistic_rows
from reticent_lab import plain
from reticent_papers.kernels.mle import MLEState, mle_rounds, record


def history(bandit: Live, ridge: float) -> MLEState:
    """No data, and room for a horizon of it; the first fit is due at the first observation."""
    return MLEState(np.array([0, 1, 0]), *room(bandit), plain.identity_over(bandit.dim, ridge))


def room(bandit: Live) -> tuple[Exact, Exact]:
    """Zeros for the arms and the rewards of a horizon."""
    assert bandit.horizon is not None
    return Exact(np.zeros((bandit.horizon, bandit.dim))), Exact(np.zeros(bandit.horizon))


@dataclass(kw_only=True, eq=False)
class MLEUCB(plain.Reference):
    """The arm with the largest <x, theta> + width_scale |x|_{H^-1}: theta the maximum likelihood estimate with a ridge
    of d / radius^2, H its curvature. width_scale = 0 is greedy.

    Guarantee: none, of privacy or of regret: the width is a number of standard deviations, chosen by regret on tuning
    seeds in six environments (docs/measurements/baselines.md). Memory grows with the horizon: all data is kept.
    Reference: none; this is what a practitioner would do.
    Departure: none. theta is refitted when the data has grown by 5 %; in between H is kept up to date.
    """

    width_scale: float = 2.0
    _state: MLEState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._link = plain.check(self)
        self._ridge = self.dim / self.radius**2
        super().__post_init__()

    def init(self) -> MLEState:
        return history(self, self._ridge)

    def _pick(self, features: Array) -> Index:
        return plain.choose_rows(optimistic_rows, features, features, self._state.estimate, self.width_scale, 0.0)

    def _learn(self, x: Array, reward: float) -> None:
        record(x, self._in_units(reward), self._link.code, self._ridge, True, self._state)

    def _play(self, block: Block) -> bool:
        settings = self._link.code, self._ridge, self.width_scale
        mle_rounds(block, self._state, self._range, *settings)
        return True
