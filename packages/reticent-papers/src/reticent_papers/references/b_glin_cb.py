"""B-GLinCB (Sawarni et al. 2024): generalised linear bandits in a few batches."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator, default_rng

from reticent import checks
from reticent.core.choices import Index
from reticent.data import Array
from reticent.kernels.block import Block
from reticent.kernels.rounds import BOUNDARY, CHOICES
from reticent_lab import plain
from reticent_papers import elimination
from reticent_papers.kernels.batched import (
    CLOSED,
    BatchState,
    Widths,
    batch_close,
    batch_learn,
    batch_rounds,
)


@dataclass(kw_only=True, eq=False)
class BGLinCB(plain.Reference):
    """What is played depends on closed batches only: arms that a closed batch shows to be worse are dropped, and one of
    the rest is drawn by an optimal design, for arms scaled by a lower bound on their slope.

    Guarantee: none of privacy. The paper's regret of order sqrt(d T / kappa*) holds for i.i.d. arm sets, its constants
    and its design, with O(log log T) batches.
    Reference: Sawarni, Das, Barman & Sinha 2024, Algorithm 1.
    Departure: a G-optimal design of each user's arm set takes the place of the distributional design (a factor sqrt d
    in the regret, and no need for i.i.d. sets). Batch lengths are a, a sqrt(a), a sqrt(a sqrt(a)), ...: the paper's
    first batch is longer than any horizon in use. constants="code" has the widths of the same authors' RS-GLinUCB
    implementation, constants="paper" those of the theorem. kappa is the worst case for the declared radius, or
    oracle_kappa. Memory grows with the horizon.
    """

    failure: float | None = None
    oracle_kappa: float | None = None
    constants: str = "code"
    batches: int | None = None
    policy: Generator = field(default_factory=default_rng, repr=False)
    _state: BatchState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._link = plain.check(self)
        checks.one_of(("code", "paper"), constants=self.constants)
        self.kappa = plain.kappa(self._link, self.radius, self.oracle_kappa)
        assert self.horizon is not None and self.failure is not None
        if self.batches is None:
            self.batches = max(2, math.ceil(math.log2(max(2.0, math.log2(max(2, self.horizon))))))
        checks.positive_int(batches=self.batches)
        bound = plain.largest(self._link, self.rewards)
        logs = math.log(self.horizon / self.failure)
        if self.constants == "code":  # of the authors' implementation of RS-GLinUCB
            self._ridge, gamma = 0.5, math.sqrt(self.dim * logs)
        else:  # of the paper's theorem
            self._ridge, gamma = 20 * bound * self.dim * logs, 30 * bound * self.radius * math.sqrt(self.dim + logs)
        gamma *= self.width_scale
        self._widths = Widths(first=gamma * math.sqrt(self.kappa), later=gamma, radius=float(self.radius))
        self._ends = _ends(self.horizon, self.batches)
        super().__post_init__()

    def init(self) -> BatchState:
        assert self.horizon is not None
        return elimination.empty(self.dim, self.horizon, self._ends)

    @property
    def due(self) -> bool:
        return bool(self._state.counts[CHOICES] >= self._state.counts[BOUNDARY])

    def _advance(self) -> None:
        if self.due:
            batch_close(self._state, self._link.code, self._ridge, self._widths, self._ends)

    _pick = elimination.pick
    _propensity = elimination.propensity

    def _learn(self, x: Array, reward: float) -> None:
        batch_learn(x, self._in_units(reward), self._state)

    def _play(self, block: Block) -> bool:
        settings = self._range, self._link.code, self._ridge, self._widths, self._ends
        batch_rounds(self.policy, block, self._state, *settings)
        return True

    @property
    def closed(self) -> int:
        """Batches closed so far."""
        return int(self._state.counts[CLOSED])


def _ends(horizon: int, batches: int) -> Index:
    """The choice counts at which batches end: lengths a, a sqrt(a), a sqrt(a sqrt(a)), ... with a so that the last one
    ends at the horizon or after it."""
    a = horizon ** (1 / (2 - 2.0 ** (1 - batches)))
    lengths = [a]
    while len(lengths) < batches:
        lengths.append(a * math.sqrt(lengths[-1]))
    ends = np.minimum(np.cumsum(np.ceil(lengths)), horizon).astype(np.int64)
    ends[-1] = horizon
    return np.unique(ends)
