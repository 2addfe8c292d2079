"""GLOC (Jun et al. 2017)."""

from dataclasses import dataclass, field

import numpy as np

from reticent import checks
from reticent.core.choices import Index
from reticent.data import Array
from reticent.kernels.block import Block
from reticent_lab import plain
from reticent_papers.references.gloc_kernel import GLOCSettings, GLOCState, gloc_learn, gloc_rounds, gloc_rows


@dataclass(kw_only=True, eq=False)
class GLOC(plain.Reference):
    """The arm with the largest <x, theta> + width |x|_{V^-1}: an online Newton step predicts each <x, theta*>, theta is
    the ridge regression on its predictions, and the bound on its regret gives the width.

    Guarantee: none of privacy. Regret of order kappa d sqrt(T) log T with probability 1 - failure. Time and memory do
    not grow with the number of rounds.
    Reference: Jun, Bhargava, Nowak & Willett 2017, Algorithms 1 and 2, Theorems 1 and 3.
    Departure: index="code" is the index of the implementation behind published comparisons (Sawarni et al. 2024):
    mu(<x, online iterate>) + width |x|_{V^-1} with the largest slope squared for the noise and without the terms of the
    ridge and the fit; its iterate is set to norm S in every round, ours only projected where it is outside. kappa is
    the worst case for the declared radius, or oracle_kappa; the ridge is d.
    """

    failure: float | None = None
    oracle_kappa: float | None = None
    index: str = "paper"
    _state: GLOCState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._link = plain.check(self, horizon=False)
        checks.one_of(("paper", "code"), index=self.index)
        self.kappa = plain.kappa(self._link, self.radius, self.oracle_kappa)
        assert self.failure is not None
        self._ridge = float(self.dim)
        code = self.index == "code"
        low, high = self.rewards
        noise = 0.5 if self._link.bounded else (high - low) / 2
        if code:
            noise = float(self._link.slope(0.0)) ** 2
        self._settings = GLOCSettings(
            slope=1 / self.kappa,
            noise=float(noise),
            failure=float(self.failure),
            radius=float(self.radius),
            ridge=self._ridge,
            in_mean=code,
            width_scale=float(self.width_scale),
        )
        super().__post_init__()

    def init(self) -> GLOCState:
        start = 2 * self.radius**2 * self._ridge / self.kappa
        return GLOCState(
            np.zeros(1, np.int64),
            np.zeros(self.dim),
            self._ridge * np.eye(self.dim),
            np.zeros(self.dim),
            np.array([start]),
            np.zeros(1),
            plain.identity_over(self.dim, self._ridge),
        )

    def _pick(self, features: Array) -> Index:
        return plain.choose_rows(gloc_rows, features, features, self._state, self._link.code, self._settings)

    def _learn(self, x: Array, reward: float) -> None:
        gloc_learn(x, self._in_units(reward), self._link.code, self._settings, self._state)

    def _play(self, block: Block) -> bool:
        gloc_rounds(block, self._state, self._range, self._link.code, self._settings)
        return True
