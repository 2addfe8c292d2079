"""Our own: generalised linear bandits under shuffle privacy, one message per user and one shuffle round per batch."""

import json
import math
from dataclasses import dataclass, field

import numpy as np

from tacit import checks
from tacit.aggregators.shuffle.analyzer import Analyzer
from tacit.aggregators.shuffle.shuffler import Shuffler
from tacit.bandits.server import Server, numbers
from tacit.checks import Array
from tacit.client import wire
from tacit.client.shuffle import Client
from tacit.contribution import GLMContribution, balanced_curvature
from tacit.errors import BatchTooSmall, LateReport
from tacit.estimators import irls
from tacit.kernels.block import Block
from tacit.kernels.shuffle import (
    BATCH,
    ELIMINATION,
    GREEDY,
    THOMPSON,
    UCB,
    OpenBatch,
    ShuffleState,
    close_batch,
    newton_rounds,
)
from tacit.privacy import gaussian
from tacit.privacy.certificate import Certificate, shuffle_certificate
from tacit.privacy.ledger import ShuffledRelease

POLICIES = {"thompson": THOMPSON, "ucb": UCB, "greedy": GREEDY, "elimination": ELIMINATION}


@dataclass(kw_only=True, eq=False)
class ShuffleNewton(Server):
    """Rewards with mean mu(<x, theta*>). Each user's datum is linearised at the public estimate, rounded, hidden by
    coins and shuffled with those of its batch; the server adds up the shuffled sums of all batches. One message per
    user.

    Guarantee: (epsilon, delta)-shuffle privacy for replacing one user, whatever later users do: the server sees each
    user in one shuffled sum (Analyzer), and all it publishes is a function of those sums.
    Regret: measured, not proven (docs/shuffle.md). No horizon is needed: batches grow.
    Reference: none; the contribution and the estimate are JointGLM's.
    Departure: none.

    first: users of the first batch, who get random arms; by default in proportion to the noise. growth: of the batches.
    explore: thompson (draws in directions sampled too little), elimination (G-optimal design on arms not shown to be
    worse), ucb, greedy; width for the latter two. fading: of earlier batches, whose noise outweighs their data.
    dropout, malicious: shares of users who may send nothing, or no noise."""

    first: int | None = None
    growth: float = 2.0
    explore: str = "elimination"
    width: float = 0.9
    fading: float = 1.0
    dropout: float = 0.0
    malicious: float = 0.0
    tuning: irls.Tuning = field(default_factory=irls.Tuning)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(tuple(POLICIES), explore=self.explore)
        checks.non_negative(width=self.width)
        low, high = self.rewards
        self._unit = 1.0 if self._link.bounded else max(abs(low), abs(high))
        scale = balanced_curvature(self._link, self.radius / self._unit)
        self.contribution = GLMContribution(dim=self.dim, link=self._link, scale=scale, low=low, high=high)
        if self.first is None:
            sigma = 0.0 if self.budget.epsilon == math.inf else self.contribution.sensitivity / gaussian.mu(self.budget)
            self.first = 20 + math.ceil(FIRST * sigma)
        checks.positive_int(first=self.first)
        self.analyzer = Analyzer(
            budget=self.budget,
            size=self.contribution.size,
            sensitivity=self.contribution.sensitivity,
            norm=self.contribution.norm,
            first=self.first,
            growth=self.growth,
            dropout=self.dropout,
            malicious=self.malicious,
        )
        self._settings = (low, high, scale, self._unit, self.radius, self.fading, self.width)
        self._state = self.init()
        self._published: tuple[int, bytes] | None = None

    def init(self) -> ShuffleState:
        size = self.contribution.size
        zeros = np.zeros(size)
        return ShuffleState(np.zeros(2, np.int64), zeros, np.zeros(1), np.zeros(1), irls.prior(self.dim, self.radius))

    # the protocol

    @property
    def version(self) -> int:
        return int(self._state.counts[BATCH])

    def billboard(self) -> bytes:
        if self._published is None or self._published[0] != self.version:
            plan, posterior = self.analyzer.plan(self.version), self._state.posterior
            document = {
                "format": "tacit billboard",
                "version": wire.VERSION,
                "model": "shuffle",
                "bandit": type(self).__name__,
                "batch": self.version,
                "dim": self.dim,
                "link": self.link,
                "rewards": list(self.rewards),
                "plan": {
                    "users": plan.users,
                    "minimum": self.analyzer.minimum(plan),
                    "size": plan.size,
                    "grid": plan.scale,
                    "reach": plan.reach,
                    "trials": plan.trials,
                    "norm": self.contribution.norm,
                    "epsilon": None if math.isinf(self.budget.epsilon) else self.budget.epsilon,
                    "delta": self.budget.delta,
                },
                "curvature": self.contribution.scale,
                "policy": {"name": self.explore if self.version else "random", "width": self.width},
                "theta": numbers(posterior.theta),
                "inverse": numbers(posterior.inverse),
                "axes": numbers(posterior.axes),
                "spread": numbers(posterior.spread),
            }
            self._published = self.version, json.dumps(document, sort_keys=True).encode()
        return self._published[1]

    def device(self) -> Client:
        return Client(self.billboard(), noise=self._noise(), draws=self._draws())

    def observe(self, report: bytes) -> None:
        """Take the shuffled batch that the shuffler hands over."""
        board = self.billboard()
        if report[:2] == b"tB" and len(report) >= wire.BATCH.size and wire.BATCH.unpack_from(report)[3] < self.version:
            raise LateReport(f"Expected batch {self.version}, got one that has been taken.")
        plan = self.analyzer.plan(self.version)
        reports, sums = self.analyzer.open(report, self.version, wire.digest(board))
        if reports < self.analyzer.minimum(plan):
            raise BatchTooSmall(f"Expected at least {self.analyzer.minimum(plan)} reports, got {reports}.")
        row = np.array([plan.users, plan.scale, plan.reach, plan.trials], np.float64)
        close_batch(reports, sums, row, self.fading, self._state)
        irls.update(
            self._state.sums,
            scale=self.contribution.scale,
            unit=self._unit,
            std=math.sqrt(self._state.variance[0]),
            radius=self.radius,
            tuning=np.array(self.tuning),
            posterior=self._state.posterior,
        )
        self._charge(self.version - 1, reports)

    def _charge(self, batch: int, reports: int) -> None:
        if self.budget.epsilon != math.inf:
            spent = self.analyzer.epsilon(self.analyzer.plan(batch), reports)
            self._state.spent[0] = max(self._state.spent[0], spent)

    # simulation

    def _transit(self) -> OpenBatch:
        return OpenBatch(np.zeros(1, np.int64), np.zeros(self.contribution.size, np.int64))

    def _advance(self, transit: OpenBatch, users: int) -> bool:
        inside = users - self.users
        full = inside >= self.analyzer.plan(self.version).users
        if full:
            for _ in range(inside - int(transit.reports[0])):  # rewards that never came: noise alone
                self._send(self.device().report(np.zeros(self.dim), None), transit)
            self.observe(Shuffler(self.billboard(), into=transit).close())
            transit.reports[0] = 0
            transit.sums[:] = 0
        return full

    def _send(self, report: bytes, transit: OpenBatch) -> None:
        Shuffler(self.billboard(), into=transit).add(report)

    def _play(self, block: Block, transit: OpenBatch) -> None:
        policy, noise = self._generators()
        plans = self.analyzer.rows(int(transit.reports[0]) + len(block.noise), self.version)
        tuning, kind = np.array(self.tuning), POLICIES[self.explore]
        before = self.version
        newton_rounds(policy, noise, block, self._state, transit, plans, self._settings, tuning, self._link.code, kind)
        for batch in range(before, self.version):
            self._charge(batch, self.analyzer.plan(batch).users)

    def _plan_numbers(self) -> list[float]:
        plan = self.analyzer.plan(0)
        return [plan.users, plan.scale, plan.reach, plan.trials, self.contribution.scale]

    # what may be shown

    @property
    def theta(self) -> Array:
        """The estimate that devices choose by: a function of shuffled sums."""
        out: Array = self._state.posterior.theta.copy()
        return out

    @property
    def privacy(self) -> Certificate:
        plan = self.analyzer.plan(self.version)
        release = ShuffledRelease(
            "shuffled sum",
            f"sums of weighted x x' and x, {plan.size} numbers a batch, each user in one batch",
            plan.sensitivity,
            plan.users,
            self.analyzer.minimum(plan),
            plan.scale,
            plan.trials,
            plan.std,
            plan.bits,
        )
        return shuffle_certificate(
            type(self).__name__,
            budget=self.budget,
            epsilon=max(float(self._state.spent[0]), self.analyzer.epsilon(plan, self.analyzer.minimum(plan))),
            release=release,
            spent=float(self._state.spent[0]),
            simulated=self.simulated,
            rounds=self.horizon or self.users,
        )


FIRST = 32.0  # users of the first batch per unit of noise
