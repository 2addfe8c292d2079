"""RS-GLinUCB (Sawarni et al. 2024): generalised linear bandits that switch rarely."""

import math
from dataclasses import dataclass, field

import numpy as np

from reticent import checks
from reticent.core.choices import Index
from reticent.data import Array
from reticent.kernels.block import Block
from reticent_lab import plain
from reticent_papers.references import rs_glin_ucb_compared as compared
from reticent_papers.references.mle_ucb import room
from reticent_papers.references.rs_glin_ucb_kernel import (
    SWITCHES,
    WARM,
    RareSettings,
    RareState,
    rare_learn,
    rare_rounds,
    rare_rows,
)


@dataclass(kw_only=True, eq=False)
class RSGLinUCB(plain.Reference):
    """Where some arm is little known, play it (the warm-up); else drop arms that the warm-up rules out and play the one
    with the largest <x, theta_tau> + width |x|_{H_tau^-1}, where theta_tau and H_tau are renewed only when the
    determinant of H = sum of mu'(<x, theta_o>) x x' has grown by a constant factor: O(log T) times.

    Guarantee: none of privacy. With constants="paper" regret of order d sqrt(T / kappa*) log T with probability
    1 - failure, where the leading term is free of kappa.
    Reference: Sawarni, Das, Barman & Sinha 2024, Algorithm 2.
    Departure: constants="code" (default) takes those of the authors' implementation, with which the algorithm is
    usable; by the paper's, horizons in use are all warm-up. theta_tau is fitted to all data, and not projected on the
    warm-up's confidence set. average=True plays by (theta_o + theta_tau) / 2, as that implementation does, which costs
    much where the warm-up is short. The test of the determinant compares H with a copy taken at the last switch; that
    implementation compares it with itself, and never switches again. Fits are by the paper's loss, whose gradient is
    (mu - r) x, also for probit rewards (there: by their likelihood). kappa is the worst case for the declared radius,
    or oracle_kappa. Memory grows with the horizon: all data is kept.
    constants="compared" is what the code of Sarmasarkar 2026 has beside its own bandit (rs_glin_ucb_compared): the same
    constants with weights 1 / (1 + |x|^2_{V^-1}) in V and 1 / e in H, play by the average, fits whose gradient is not
    that of their loss, and theta_tau fitted once, after a few dozen rounds. It plays step by step.
    """

    failure: float | None = None
    oracle_kappa: float | None = None
    constants: str = "code"
    average: bool = False
    _state: RareState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._link = plain.check(self)
        checks.one_of(("code", "paper", "compared"), constants=self.constants)
        self.kappa = plain.kappa(self._link, self.radius, self.oracle_kappa)
        assert self.horizon is not None and self.failure is not None
        bound = plain.largest(self._link, self.rewards)
        root = math.sqrt(self.dim * math.log(self.horizon / self.failure))
        if self.constants != "paper":  # of the authors' implementation
            ridge, growth, damping = 0.5, 1.5, math.exp(-1) if self.constants == "compared" else 1.0
            threshold = 100 / (self.kappa * bound**4 * self.radius**2 * self.dim)
            gamma, width = bound * self.radius * root, 4 * root
        else:  # of the paper's Algorithm 2
            ridge, growth, damping = 20 * bound * root**2, 2.0, math.exp(-1)
            gamma, width = 25 * bound * self.radius * root, 150 * root
            threshold = 1 / (gamma**2 * self.kappa * bound**2)
        self._settings = RareSettings(
            threshold=float(threshold),
            warm_width=self.width_scale * gamma * math.sqrt(self.kappa),
            width=self.width_scale * width,
            share=0.5 if self.average or self.constants == "compared" else 0.0,
            damping=damping,
            ridge=float(ridge),
            growth=growth,
        )
        super().__post_init__()

    def init(self) -> RareState:
        rows, values = room(self)
        estimates = [plain.identity_over(self.dim, self._settings.ridge) for _ in range(3)]
        return RareState(np.zeros(4, np.int64), rows, values, *estimates)

    def _pick(self, features: Array) -> Index:
        if self.constants == "compared":
            for arms in features:
                compared.prepare(arms, self._link, self._settings, self._state)
        return plain.choose_rows(rare_rows, features, features, self._state, self._settings)

    def _learn(self, x: Array, reward: float) -> None:
        if self.constants == "compared":
            compared.learn(x, self._in_units(reward), self._link, self._settings, self._state)
            return
        rare_learn(x, self._in_units(reward), self._link.code, self._settings, self._state)

    def _play(self, block: Block) -> bool:
        if self.constants == "compared":
            return False
        rare_rounds(block, self._state, self._range, self._link.code, self._settings)
        return True

    @property
    def switches(self) -> int:
        """How often the estimate was renewed after the warm-up."""
        return int(self._state.counts[SWITCHES])

    @property
    def warmed(self) -> int:
        """How many rewards came from the warm-up."""
        return int(self._state.counts[WARM])
