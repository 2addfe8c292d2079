"""Our own: generalised linear bandits under local privacy, by one-pass IRLS from randomised reports."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.algorithms import irls
from reticent.data import Array, Released
from reticent.errors import BadReport
from reticent.kernels.block import Block
from reticent.kernels.rounds import CHOICES, next_boundary
from reticent.mechanisms.leaves import nothing_released
from reticent.model.glm import glm_norm, glm_sensitivity, largest_weight
from reticent.model.vectors import packed_size
from reticent_devices.bandits.local import scores
from reticent_devices.bandits.local.irls_kernel import (
    BOUNDARY,
    VERSION,
    IRLSSchedule,
    IRLSSettings,
    IRLSTuning,
    LocalState,
    local_absorb,
    local_publish,
    local_rounds,
    padded,
    public_report,
)
from reticent_devices.bandits.local.scores_kernel import score_publish, score_rounds
from reticent_devices.bandits.local.server import LocalServer
from reticent_devices.bandits.server import numbers
from reticent_devices.mechanisms import local
from reticent_devices.mechanisms.randomizers import SHARE, SILENCE, Coin
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch

RANDOMIZERS = ("best", "cap", "gaussian")

# no record of how these were chosen
INTERCEPT = 0.3  # the constant feature that is added where rewards are linear and not symmetric around 0
GROWTH = 1.05  # of the number of users from one estimate to the next
BLEND = 0.6  # of tangent and chord: model.glm.line

# Chosen, as the Tuning is, by regret on tuning seeds of which no record was kept (docs/measurements/local.md has other
# seeds); none of them touches privacy.
FORCED, FORCED_BY_NOISE = 10, 20  # users who get exploring arms: so many, and so many per unit of noise
FORCED_BY_STD = 3.0  # units of noise in a standard deviation of a report's numbers
WITH_INTERCEPT = 3.0, 0.6  # times ridge and explore: the intercept's prior is wide, and exploring it is of no use
PUBLIC_VARIANCE, PUBLIC_RIDGE = 0.5, 1 / 6  # of a reward that is read from a bit; times ridge: least squares
CURVATURE, NOISY_CURVATURE, NOISY = 0.5, 0.2, 1.0  # norm of the curvature beside a moment of 1; from which noise on


@dataclass(kw_only=True, eq=False)
class LocalIRLS(LocalServer):
    """Rewards with mean mu(<x, theta*>): each user's device linearises its datum at the public estimate and sends one
    randomised report; the server sums reports and publishes a new estimate on a public, geometric schedule.

    Guarantee: each report is epsilon-private by itself (pure), or (epsilon, delta)-private where Gaussian noise is
    smaller at the budget, for replacing one user. With public_arms the arm played is sent as it is and the guarantee is
    for the reward alone, given the arm sets.
    Regret: measured, not proven (docs/local.md).
    Reference: none; randomisers: see mechanisms.randomizers.
    Departure: none.

    randomizer: "best" takes the one with the smaller noise at the budget; "cap" is always pure.
    forced: how many users get exploring arms; by default 10 + 60 sigma.
    curvature: "none" asks for d numbers, the user's score at the public estimate, and the server needs no curvature
    (local.scores); "released" for the pair below. "auto", the default: "none" from 50 dimensions on and for disjoint
    arms, and the certificate says so. scale, blend, tuning: with curvature alone.

    Bounds. A contribution is (w svec(X X'), B X) for unit X, 0 <= w <= scale 2 mu'(0) and |B| <= 1 (model.glm.line):
    take v >= 0, so that mu(v) >= 1/2. The slope w of the line lies between mu'(v) and the chord (mu(v) - 1/2) / v, both
    at most mu'(0) as mu is concave there, so c = mu(v) - w v is in [1/2, mu(v)] and m = c: |r - c| / c <= 1 for r in
    [0, 1], and w / m <= 2 mu'(0). v < 0 by symmetry. Its sensitivity is GLMContribution's.
    """

    public_arms: bool = False
    randomizer: str = "best"
    curvature: str = "auto"
    scale: float | None = None
    first: int | None = None
    forced: int | None = None
    growth: float = GROWTH
    discount: float = 1.0
    blend: float = BLEND
    tuning: IRLSTuning = field(default_factory=IRLSTuning)
    _state: LocalState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(RANDOMIZERS, randomizer=self.randomizer)
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        if not 0 <= self.blend <= 1 or not 0 < self.discount <= 1:
            raise ValueError("Expected blend in [0, 1] and discount in (0, 1], got one outside.")
        low, high = self.rewards
        public = self.public_arms
        self._scores, self._why = scores.check(self.curvature, dim=self.dim, blocks=self._blocks, public_arms=public)
        self.tuning = irls.as_tuning(IRLSTuning, self.tuning)
        self._check_idle()
        self._score_settings = scores.settings(self, self.discount)
        self._unit = 1.0 if self._link.bounded else (high - low) / 2
        middle = 0.0 if self._link.bounded or self._scores else (high + low) / 2
        self._features, self._pad, radius = self.dim, (1.0, 0.0), float(self.radius)
        if middle != 0.0:
            shrink = 1 / math.sqrt(1 + INTERCEPT**2)
            self._features, self._pad = self.dim + 1, (shrink, INTERCEPT * shrink)
            radius = math.hypot(self.radius, middle / INTERCEPT) / shrink
        self._length = self.dim if self._scores else packed_size(self._features) + self._features
        if self._scores:
            self._coin, self.scale = 0.0, 1.0
            made = local.best(self.budget, sensitivity=2.0, radius=1.0, size=self.dim, kind=self.randomizer)
            self._calibrate(made, size=self.dim, sensitivity=2.0)
        elif self.public_arms:
            coin = local.coin(self.budget.epsilon)
            self._coin = coin.chance / SHARE
            self.scale = 1.0
            self._calibrate(coin, size=1, sensitivity=1.0)
        else:
            self._coin = 0.0
            self._plan()
        assert self.scale is not None
        if self.forced is None:
            noise = 1 / (2 * self._coin - 1) - 1 if self.public_arms else FORCED_BY_STD * self.std
            self.forced = FORCED + math.floor(FORCED_BY_NOISE * noise)
        checks.positive_int(forced=self.forced)
        if self.first is None:
            self.first = max(5, self.forced // 4)
        checks.positive_int(first=self.first)
        self._schedule = IRLSSchedule(float(self.first), float(self.growth), float(max(self.forced, self.first)))
        own = *self._pad, self.blend, self.scale, self._unit, radius, self.discount, self._coin
        self._settings = IRLSSettings(*map(float, (low, high, *own)))
        self._tuning = self.tuning
        if self._features > self.dim:
            ridge, explore = WITH_INTERCEPT
            self._tuning = self._tuning._replace(ridge=ridge * self.tuning.ridge, explore=explore * self.tuning.explore)
        if self.public_arms:
            variance = PUBLIC_VARIANCE / (2 * self._coin - 1) ** 2
            self._tuning = self._tuning._replace(variance=variance, ridge=self.tuning.ridge * PUBLIC_RIDGE)
        self._state = self.init()

    def _check_idle(self) -> None:
        """ValueError for a setting that would have no effect beside another. A default may stand: saved servers have
        it."""
        idle = ["scale"] * (self._scores or self.public_arms) + ["randomizer"] * self.public_arms
        usual = {"scale": (None, 1.0), "randomizer": ("best",), "blend": (BLEND,), "tuning": (IRLSTuning(),)}
        beside = "public_arms" if self.public_arms else "scores alone, without curvature"
        for name in idle + ["blend", "tuning"] * self._scores:
            if getattr(self, name) not in usual[name]:
                raise ValueError(f"Expected no {name} with {beside}, where it has no effect, got another.")

    def _plan(self) -> None:
        """The scale of the curvature: larger where the noise is small enough for the curvature to be of use."""
        most = largest_weight(self._link)
        size = self._length
        if self.scale is None:
            noise = local.best(self.budget, sensitivity=2.0, radius=1.0, size=size, kind=self.randomizer)
            std = noise.law.scale
            self.scale = 1.0
            if self._link.bounded and std > 0.0:
                self.scale = (NOISY_CURVATURE if std > NOISY else CURVATURE) / most
        checks.positive(scale=self.scale)
        weight = self.scale * most
        radius, sensitivity = glm_norm(weight), glm_sensitivity(weight)
        made = local.best(self.budget, sensitivity=sensitivity, radius=radius, size=size, kind=self.randomizer)
        self._calibrate(made, size=size, sensitivity=sensitivity)

    def init(self) -> LocalState:
        counts = np.zeros(3, np.int64)
        counts[BOUNDARY] = next_boundary(0, self._schedule.first, self._schedule.growth)
        wide, radius = self._features, self._settings.radius
        sums = nothing_released((2, self._length))
        if self._scores:
            return LocalState(counts, sums, np.zeros(2), np.zeros((0, 0)), scores.before(self.dim), np.zeros((0, 0)))
        root = np.eye(wide) * radius / math.sqrt(wide)
        return LocalState(counts, sums, np.zeros(2), np.zeros((wide, wide)), irls.prior(wide, radius), root)

    @property
    def version(self) -> int:
        return int(self._state.counts[VERSION])

    def _advance(self, transit: OpenBatch, users: int) -> bool:
        counts = self._state.counts
        if counts[CHOICES] >= counts[BOUNDARY]:
            if self._scores:
                score_publish(self._state, self.std, self._score_settings, self._schedule)
            else:
                local_publish(self._state, self.std, self._settings, self._tuning, self._schedule)
        return False

    def _document(self) -> dict[str, Any]:
        posterior = self._state.posterior
        random = bool(self._state.counts[BOUNDARY] <= self._schedule.forced)
        if self._scores:
            return {"theta": numbers(posterior.theta)} | scores.document(random=random)
        report: dict[str, Any] = {"name": "public"}
        if not self.public_arms:
            report = {"name": "glm", "scale": self.scale, "blend": self.blend, "pad": numbers(self._pad)}
        return {
            "theta": numbers(posterior.theta),
            "inverse": numbers(posterior.inverse),
            "report": report,
            "policy": {"name": "thompson", "random": random, "root": numbers(self._state.root)},
        }

    def observe(self, report: bytes) -> None:
        if not self.public_arms:
            super().observe(report)
            return
        body = self._body(report)
        if len(body) != 8 * self.dim + 1 or body[-1] > 1:
            raise BadReport(f"Expected a report with an arm of {8 * self.dim} bytes and a bit, got another.")
        x = np.frombuffer(body[:-1], "<f8").astype(np.float64)
        if not ((np.abs(x) <= 2).all() and float(x @ x) <= 1 + 1e-8):
            raise BadReport("Expected an arm of norm at most 1 in a report, got another.")
        self._once(report)
        out, features = nothing_released(self._length), np.empty(self._features)
        padded(x, *self._pad, features)
        where = self._state.posterior, self._link.code, self._settings.scale
        public_report(features, float(body[-1]), self._coin, *where, out)
        self._absorb(out)

    def _absorb(self, vector: Released) -> None:
        local_absorb(vector, self._state)

    def _play(self, block: Block, transit: OpenBatch) -> None:
        policy, noise = self._generators()
        law = SILENCE if isinstance(self._randomizer, Coin) else self._randomizer.law
        if self._scores:
            own = self._schedule, self._score_settings, self._link.code
            score_rounds(policy, noise, block, self._state, law, *own)
            return
        settings = self._schedule, self._settings, self._tuning, self._link.code
        local_rounds(policy, noise, block, self._state, law, *settings)

    @property
    def theta(self) -> Array:
        """The estimate on the billboard."""
        self._advance(self.transit(), self.users)
        out: Array = self._pad[0] * self._state.posterior.theta[: self.dim]
        return out

    def _statistic(self) -> str:
        if self.public_arms:
            return "the reward of each user, as one bit; the arm played is public"
        what = "the score" if self._scores else "weighted x x' and x"
        return f"{what} of each user, {self._size} numbers, once{self._why}"

    def _caveats(self) -> tuple[str, ...]:
        if self.public_arms:
            return ("Arm sets are public: only the reward is private.",)
        return ()
