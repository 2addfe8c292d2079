"""Generalised linear bandits by reweighted regression and elimination, under local privacy."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.data import Array, Released
from reticent.kernels.block import Block
from reticent.kernels.rounds import BOUNDARY, Range
from reticent.mechanisms.leaves import nothing_released
from reticent.privacy.noise import Simulated
from reticent_devices.bandits.server import numbers
from reticent_devices.mechanisms import local
from reticent_papers import spanner
from reticent_papers.epochs import EPOCH, STEP
from reticent_papers.kernels.matrices import root
from reticent_papers.local import statements
from reticent_papers.local.epochs import EpochServer
from reticent_papers.local.reports_kernel import (
    CLOSING,
    FAR,
    GRADIENT,
    GRAM,
    KIND,
    SIZE,
    ReportState,
    report_absorb,
    report_rounds,
)
from reticent_papers.local.statements import STAGES, SumQuery
from reticent_papers.mechanisms.sums import mean_of_reports
from reticent_papers.queries import Queries
from reticent_papers.regression import estimate as reweighted
from reticent_papers.regression.contribution import ReweightedContribution
from reticent_papers.regression.estimate import Normalisation
from reticent_papers.regression.glm import ReweightedGLM
from reticent_papers.regression.linear import ReweightedLinear

KINDS = {"normalisation": GRAM, "descent": GRADIENT, "closing": CLOSING}


@dataclass(kw_only=True, eq=False)
class LocalReweighted(EpochServer):
    """As JointReweighted, but each user sends one noisy report, to the question of the stage that is open: the epoch's
    users are split between the steps of the regression. The server holds sums of reports and nothing else.

    Guarantee: (epsilon, delta)-local differential privacy: each report carries discrete Gaussian noise that covers
    replacing the user's whole datum, and a user sends one report. The statistic of each stage is divided by how far
    apart two users are in it at most, which follows from the public U (papers.local.statements), so that one randomiser
    serves all.
    Regret: of order sqrt(T) / epsilon up to powers of d, kappa and logarithms, for i.i.d. contexts and the paper's
    widths (Theorem 5.3).
    Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115, Algorithms 3, 4 and 11, with 8-10 or a local 12.
    Departure: as JointReweighted's practical schedule."""

    first: int = 4000
    width: float = 3.0
    factor: float = spanner.FACTOR
    _state: ReportState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(width=self.width)
        if not 1.01 <= self.factor < math.inf:
            raise ValueError(f"Expected factor of at least 1.01, got {self.factor!r}.")
        kind: Any = ReweightedGLM if self._link.bounded else ReweightedLinear
        options = {"budget": self.budget, "radius": self.radius, "link": self.link, "targets": self.rewards}
        self._regressor = kind(**options, model="local", source=Simulated(0))  # its plan alone: no noise is drawn
        self._contribution: ReweightedContribution = self._regressor.contribution(self.dim)
        self._asked: Queries = self._regressor._queries(self.dim, self.first)
        self._asked.people(0, self.first)
        size = self._contribution.size
        made = local.best(self.budget, sensitivity=1.0, radius=1.0, size=size, kind="gaussian")
        self._calibrate(made, size=size, sensitivity=1.0)
        self._state = self.init()

    # the algorithm

    def init(self) -> ReportState:
        size, d = len(self._ends), self.dim
        state = ReportState(
            np.zeros(5, np.int64),
            nothing_released(self._contribution.size),
            np.zeros(5),
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

    def _question(self, state: ReportState, kind: int) -> SumQuery:
        each = self._contribution
        settings = each.radius, each.scale, each.outer_scale
        return SumQuery(STAGES[kind], state.matrix, state.half, state.point, *settings)

    def _open(self, state: ReportState, epoch: int, stage: int) -> None:
        """Ask the next question: stage `stage` of epoch `epoch`."""
        query, contribution = self._asked.queries[stage], self._contribution
        kind = KINDS[query.name.split()[0]]
        far = statements.apart(self._question(state, kind), self.link)[1]
        state.stage[:] = kind, query.size, far, contribution.scale, contribution.outer_scale
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
        dim, people = self.dim, self._asked.people(stage, self._length(epoch))
        std = self.std * float(state.stage[FAR]) / math.sqrt(people)
        kind, size = int(state.stage[KIND]), int(state.stage[SIZE])
        mean = mean_of_reports(state.open, size, people)
        if kind == GRAM:
            state.ridge[0] = reweighted.noise_ridge(std, dim, people)
            matrix = reweighted.spectral_step(state.matrix, mean, float(state.ridge[0]))
            state.matrix[:] = (matrix + matrix.T) / 2  # as devices ask for it
            state.half[:] = root(state.matrix)
            return
        normalisation = Normalisation(state.matrix.copy(), float(state.ridge[0]))
        if kind == GRADIENT:
            flattest = float(self._link.slope(self._contribution.radius))
            pull, step = std * dim**0.5 * flattest, 1 / self._contribution.steepest
            state.w[:] = reweighted.descent_step(state.w, normalisation, mean, step, pull, self._contribution.radius)
            state.point[:] = state.matrix @ state.w
            return
        scale, outer_scale = self._contribution.scale, self._contribution.outer_scale
        fit = reweighted.close(
            normalisation,
            state.point.copy(),
            *reweighted.parts(mean, dim, tightness=1.0, scale=scale, outer_scale=outer_scale),
            stds=(std / scale, std),
            radius=self._contribution.radius,
            offset=self._contribution.radius,
            variance=self._regressor._variance / people,
        )
        state.thetas[epoch] = fit.theta
        state.inverses[epoch] = fit.shape(self.width)

    # the protocol

    @property
    def _numbers(self) -> int:
        return int(self._state.stage[SIZE])

    @property
    def _norm(self) -> float:
        norm, far = statements.apart(self._question(self._state, int(self._state.stage[KIND])), self.link)
        return norm / far

    def _document(self) -> dict[str, Any]:
        state, closed = self._state, self.closed
        asked = self._question(state, int(state.stage[KIND]))
        return {
            "theta": numbers(asked.point),
            "inverse": numbers(asked.matrix),
            "report": {
                "name": "reweighted",
                "stage": asked.stage,
                "half": numbers(asked.half),
                "radius": asked.radius,
                "scale": asked.scale,
                "outer": asked.outer,
            },
            "policy": {
                "name": "spanner",
                "factor": self.factor,
                "thetas": numbers(state.thetas[:closed]),
                "inverses": numbers(state.inverses[:closed].reshape(-1, self.dim)),
            },
        }

    def _absorb(self, vector: Released) -> None:
        report_absorb(vector, self._state)

    def _rounds(self, block: Block, start: int) -> int:
        policy, noise = self._generators()
        settings = Range(*map(float, self.rewards)), self._link.code, self._contribution.radius, self.factor
        return report_rounds(policy, noise, block, self._state, self._law, *settings, start)

    @property
    def theta(self) -> Array:
        """The last closed epoch's estimate, in units of the link."""
        self._advance(self.transit(), self.users)
        out: Array = self._state.thetas[self.closed - 1].copy() if self.closed else np.zeros(self.dim)
        return out

    def _statistic(self) -> str:
        return f"one step of a regression: up to {self._size} numbers of each user, in units of its sensitivity, once"
