"""Generalised linear bandits by reweighted regression and elimination, under local privacy."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit import checks
from tacit.bandits import spanner
from tacit.bandits.epochs import EPOCH, STEP, EpochBandit
from tacit.bandits.local.reports_kernel import (
    CLOSING,
    GRADIENT,
    GRAM,
    KIND,
    SIGMA,
    SIZE,
    TIGHTNESS,
    ReportState,
    add_report,
    report_rounds,
)
from tacit.data import Array
from tacit.kernels.block import Block
from tacit.kernels.matrices import root
from tacit.kernels.noise import gaussian_law
from tacit.kernels.rounds import BOUNDARY, Range
from tacit.mechanisms.queries import Queries, mean_of_reports, nothing_released
from tacit.model.glm import in_units
from tacit.privacy.ledger import GaussianRelease
from tacit.privacy.noise import generator_of
from tacit.regression import estimate as reweighted
from tacit.regression.contribution import ReweightedContribution
from tacit.regression.estimate import Normalisation
from tacit.regression.glm import ReweightedGLM
from tacit.regression.linear import ReweightedLinear

KINDS = {"normalisation": GRAM, "descent": GRADIENT, "closing": CLOSING}


@dataclass(kw_only=True, eq=False)
class LocalReweighted(EpochBandit):
    """As JointReweighted, but each user sends one noisy report, to the question of the stage that is open: the epoch's
    users are split between the steps of the regression. The server holds sums of reports and nothing else.

    Guarantee: (epsilon, delta)-local differential privacy: each report carries Gaussian noise that covers replacing the
    user's whole datum, and a user sends one report.
    Regret: of order sqrt(T) / epsilon up to powers of d, kappa and logarithms, for i.i.d. contexts and the paper's
    widths (Theorem 5.3).
    Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115, Algorithms 3, 4 and 11, with 8-10 or a local 12.
    Departure: as JointReweighted's practical schedule. Both halves run in one process here: `observe` randomises at
    once and keeps nothing else of the datum; the ticket of a choice holds its features until its reward comes, as a
    device would.

    source: of noise, Simulated(seed): it has to be given.
    """

    rewards: tuple[float, float] = (0.0, 1.0)
    first: int = 4000
    width: float = 3.0
    factor: float = spanner.FACTOR
    source: Any = None
    _state: ReportState = field(init=False, repr=False)

    _model = "local"

    def __post_init__(self) -> None:
        self._check()
        checks.positive(width=self.width)
        if not self.factor > 1:
            raise ValueError(f"Expected factor above 1, got {self.factor!r}.")
        kind: Any = ReweightedGLM if self._link.bounded else ReweightedLinear
        options = {"budget": self.budget, "radius": self.radius, "link": self.link, "targets": self.rewards}
        self._regressor = kind(**options, model="local", source=self.source)
        self._contribution: ReweightedContribution = self._regressor.contribution(self.dim)
        self._asked: Queries = self._regressor._queries(self.dim, self.first)
        self._asked.people(0, self.first)
        self.epsilon = self._asked.epsilon
        super().__post_init__()

    # the algorithm

    def init(self) -> ReportState:
        size, d = len(self._ends), self.dim
        state = ReportState(
            np.zeros(4, np.int64),
            nothing_released(self._contribution.size),
            np.zeros(6),
            np.eye(d),
            np.eye(d),
            np.zeros(d),
            np.zeros(d),
            np.zeros((size, d)),
            np.zeros((size, d, d)),
            np.zeros(1),
        )
        self._open(state, 0, 0)
        return state

    def _open(self, state: ReportState, epoch: int, stage: int) -> None:
        """Ask the next question: stage `stage` of epoch `epoch`."""
        query, contribution = self._asked.queries[stage], self._contribution
        kind = KINDS[query.name.split()[0]]
        tightness = contribution.tightness(state.matrix) if kind == CLOSING else 1.0
        scales = contribution.scale, contribution.outer_scale
        state.stage[:] = kind, query.size, self._asked.sigma(stage), tightness, *scales
        state.counts[BOUNDARY] = self._start(epoch) + self._asked.rows(stage, self._length(epoch)).stop
        state.counts[STEP] = stage
        state.open[:] = 0.0

    def _close(self) -> None:
        state, epoch, stage = self._state, self.closed, int(self._state.counts[STEP])
        self._learn_from_reports(state, stage, epoch)
        if stage + 1 < len(self._asked.queries):
            self._open(state, epoch, stage + 1)
        else:
            state.counts[EPOCH] = epoch + 1
            state.matrix[:], state.half[:] = np.eye(self.dim), np.eye(self.dim)
            state.w[:] = state.point[:] = 0.0
            self._open(state, epoch + 1, 0)

    def _learn_from_reports(self, state: ReportState, stage: int, epoch: int) -> None:
        """One step of the regression, from the sum of the stage's reports."""
        length, dim = self._length(epoch), self.dim
        people, std = self._asked.people(stage, length), self._asked.std(stage, length)
        kind, size = int(state.stage[KIND]), int(state.stage[SIZE])
        mean = mean_of_reports(state.open, size, people)
        if kind == GRAM:
            state.ridge[0] = reweighted.noise_ridge(std, dim, people)
            state.matrix[:] = reweighted.spectral_step(state.matrix, mean, float(state.ridge[0]))
            state.half[:] = root(state.matrix)
            return
        normalisation = Normalisation(state.matrix.copy(), float(state.ridge[0]))
        if kind == GRADIENT:
            flattest = float(self._link.slope(self._contribution.radius))
            pull, step = std * dim**0.5 * flattest, 1 / self._contribution.steepest
            state.w[:] = reweighted.descent_step(state.w, normalisation, mean, step, pull, self._contribution.radius)
            state.point[:] = state.matrix @ state.w
            return
        tightness, scale, outer_scale = state.stage[TIGHTNESS:]
        fit = reweighted.close(
            normalisation,
            state.point.copy(),
            *reweighted.parts(mean, dim, tightness=tightness, scale=scale, outer_scale=outer_scale),
            stds=(std / tightness / scale, std / tightness),
            radius=self._contribution.radius,
            offset=self._contribution.radius,
            variance=self._regressor._variance / people,
        )
        state.thetas[epoch] = fit.theta
        state.inverses[epoch] = fit.shape(self.width)

    _pick = spanner.pick
    _propensity = spanner.propensity

    def _learn(self, x: Array, reward: float) -> None:
        r = in_units(reward, self._link.code, *self.rewards)
        law = gaussian_law(self._state.stage[SIGMA])
        noise = self.source.rows(1, int(self._state.stage[SIZE]), law)[0]
        add_report(x, r, self._link.code, self._contribution.radius, self._state, noise)

    def _rounds(self, block: Block, start: int) -> int:
        return report_rounds(
            self.policy,
            generator_of(self.source),
            block,
            self._state,
            Range(*map(float, self.rewards)),
            self._link.code,
            self._contribution.radius,
            self.factor,
            start,
        )

    def _releases(self) -> tuple[GaussianRelease, ...]:
        return self._asked.releases()

    def _costliest(self) -> tuple[GaussianRelease, ...]:
        return self._asked.costliest()
