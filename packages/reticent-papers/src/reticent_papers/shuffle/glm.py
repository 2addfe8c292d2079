"""Algorithm 1 of Sarmasarkar 2026: generalised linear bandits under shuffle privacy, with a private optimiser."""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.data import Array, Exact, Released
from reticent.errors import BatchTooSmall, HorizonReached, NotSecure
from reticent.kernels.block import Block
from reticent.mechanisms.leaves import nothing_released
from reticent.privacy import relations, words
from reticent.privacy.certificate import Certificate, certify
from reticent.privacy.ledger import ShuffledRelease
from reticent_devices.bandits.server import numbers
from reticent_devices.bandits.shuffle.server import BehindShuffler
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan
from reticent_devices.mechanisms.shuffle.sums_kernel import unshuffle
from reticent_devices.roles import wire
from reticent_devices.roles.analyzer import check_shares
from reticent_devices.roles.device import Device
from reticent_devices.roles.shuffler import Shuffler
from reticent_lab import plain
from reticent_papers.kernels.batched import CLOSED, Widths
from reticent_papers.mechanisms.together import together_epsilon
from reticent_papers.shuffle import glm_plan
from reticent_papers.shuffle import round_boards as boards
from reticent_papers.shuffle.composed import part_of
from reticent_papers.shuffle.glm_kernel import (
    ROUND,
    VERSION,
    Cohort,
    RoundsState,
    remember,
    shuffle_glm_close,
    shuffle_glm_rounds,
    take_sum,
)
from reticent_papers.shuffle.glm_plan import BatchPlan
from reticent_papers.shuffle.published import PaperPlan
from reticent_papers.shuffle.rounds import RoundsClient

# Practical constants. The first makes the paper's algorithm usable at all (docs/measurements/shuffle.md); there is no
# record of how the others were chosen.
WIDTH_SCALE = 0.01
ITERATIONS = 30  # of the descent; None: the paper's
STEP_SCALE = 2.0  # of its steps, times 2 D / sqrt(iterations)


@dataclass(kw_only=True, eq=False)
class ShuffleGLM(BehindShuffler):
    """A warm-up batch and a few longer ones; in each an optimal design over the arms that no earlier batch rules out.
    At the end of a batch one shuffled sum gives its information, and `iterations` more the gradients of an optimiser,
    so each user answers 1 + iterations rounds: the billboard says which one, and where the gradient is asked for.

    Guarantee: with calibration="exact", (epsilon, delta)-shuffle privacy of all 1 + iterations sums of a batch together
    (mechanisms.together) for replacing one user, who is in one batch. calibration="paper": what eq. 122 and
    advanced composition claim, quoted; it is simulated only.
    Sensitivity of a round: sqrt 2 W for the information, w x x' with 0 <= w <= W, W = 1 in the first batch and
    1 / kappa* after it; 2 for a gradient, whose norm is at most 1. No two users are that far apart in both, and it is
    what they are together that is calibrated (shuffle.apart).
    Reference: Sarmasarkar 2026, arXiv:2602.00417, Algorithms 1 and 4-7, App. E.
    Departure: contributions are clipped, so that 1 / kappa* bounds them always and not with high probability; kappa* is
    that of the largest slope unless oracle_kappa_star is given. Widths are gamma sqrt(kappa) in the warm-up and gamma
    after it, as in Sawarni et al. 2024 and in the paper's own remark 5.2; its (12)-(13) print sqrt(kappa) everywhere.
    constants="practical" has batch lengths a, a sqrt(a), ... and gamma = width_scale (sqrt(d ln(T / failure)) + S sqrt
    lambda), lambda = 1/2 + 2 sqrt(d) (std of the information's noise), in the information and in the loss;
    constants="paper" has (6)-(7), (20)-(23) with C = 1, lambda in the information and lambda_max in the loss: then the
    warm-up is longer than any horizon in use, see `theory`. iterations=None is P_GD as in Algorithm 7 and E.4: the
    formula's count (up to 10^6 round trips to every user), steps 2 D / (L sqrt T) and L = S + S + S lambda_max / B_k,
    which calibration="paper" then takes for the bound on a gradient, but at least 1: for S below 1/2 L can be less than
    |mu - r|, which is what is sent. Eigenvalues of the information below lambda are raised to it.

    first: users of every batch, instead of these lengths. dropout, malicious: shares of users who may send nothing in
    a round, or no noise. After the horizon devices go on choosing by what was learnt, and no sum is taken."""

    failure: float | None = None
    width_scale: float = WIDTH_SCALE
    oracle_kappa: float | None = None
    oracle_kappa_star: float | None = None
    calibration: str = "exact"
    constants: str = "practical"
    iterations: int | None = ITERATIONS
    step_scale: float = STEP_SCALE
    batches: int | None = None
    first: int | None = None
    _state: RoundsState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.budget.needs_delta(type(self).__name__)
        self._link = plain.check(self)
        if not self._link.bounded:
            raise ValueError(f"Expected a logistic or probit link, got {self.link}.")
        checks.one_of(("exact", "paper"), calibration=self.calibration)
        checks.one_of(("practical", "paper"), constants=self.constants)
        check_shares(self.dropout, self.malicious)
        for name in ("iterations", "batches", "first"):
            if getattr(self, name) is not None:
                checks.positive_int(**{name: getattr(self, name)})
        if self.calibration == "paper" and self.source is None:
            raise NotSecure("Expected a simulated source for calibration='paper', whose claim is quoted, got none.")
        self.kappa = plain.kappa(self._link, self.radius, self.oracle_kappa)
        star = 1 / float(self._link.slope(0.0)) if self.oracle_kappa_star is None else self.oracle_kappa_star
        checks.positive(oracle_kappa_star=star)
        self.kappa_star = max(1.0, star)
        assert self.horizon is not None and self.failure is not None
        if self.batches is None:
            self.batches = max(2, math.ceil(math.log2(max(2.0, math.log2(max(2, self.horizon))))))
        self._ends = glm_plan.ends(self)
        sizes = np.diff(self._ends, prepend=0)
        self._plans = [glm_plan.batch_plan(self, k, int(n)) for k, n in enumerate(sizes)]
        ridge = max(plan.fit.ridge for plan in self._plans)
        logs = math.log(self.horizon / self.failure)
        gamma = self.width_scale * (math.sqrt(self.dim * logs) + self.radius * math.sqrt(ridge))
        if self.constants == "paper":
            gamma = self.theory["gamma"]
        self._widths = Widths(first=gamma * math.sqrt(self.kappa), later=gamma, radius=float(self.radius))
        self._state = self.init()

    def init(self) -> RoundsState:
        d, count = self.dim, len(self._plans)
        rounds = 1 + max(plan.fit.gradients for plan in self._plans) if self.calibration == "exact" else 0
        return RoundsState(
            np.zeros(4, np.int64),
            np.zeros((count, d)),
            np.zeros((count, d, d)),
            np.zeros(d),
            np.zeros(d),
            np.zeros(rounds, np.int64),
            np.zeros(1),
        )

    def formula_iterations(self, users: int) -> int:
        """epsilon^2 n^2 / (d ln^3(n d / delta)): Algorithm 7."""
        return glm_plan.formula_iterations(self, users)

    @property
    def theory(self) -> dict[str, float]:
        """The parameters of App. E.1: (6), (20)-(23)."""
        return glm_plan.theory(self)

    # the protocol

    @property
    def version(self) -> int:
        return int(self._state.counts[VERSION])

    @property
    def wanted(self) -> int:
        return self._plan.users

    @property
    def _plan(self) -> BatchPlan:
        """Of the open batch; after the last one, devices still choose by its billboard."""
        return self._plans[min(int(self._state.counts[CLOSED]), len(self._plans) - 1)]

    @property
    def over(self) -> bool:
        return bool(self._state.counts[CLOSED] == len(self._plans))

    @property
    def _coding(self) -> ShufflePlan | PaperPlan:
        """Of the sum that is asked for now."""
        return self._plan.gradient if self._state.counts[ROUND] else self._plan.information

    def _board(self) -> dict[str, Any]:
        plan, state = self._plan, self._state
        closed, round = int(state.counts[CLOSED]), int(state.counts[ROUND])
        protected = self.calibration == "exact" and self.budget.epsilon < math.inf
        return {
            "format": boards.FORMAT,
            "version": wire.VERSION,
            "model": "shuffle",
            "bandit": type(self).__name__,
            "batch": self.version,
            "round": round,
            "gradients": plan.fit.gradients,
            "dim": self.dim,
            "features": self._schema,
            "link": self.link,
            "rewards": list(self.rewards),
            "plan": {
                "users": plan.users,
                "minimum": plan.minimum,
                "malicious": plan.liars,
                "trials": plan.information.trials if protected else 0,  # simulated sums have their coins by the kernel
                "information": plan.sums.information,
                "gradient": plan.sums.gradient,
                "epsilon": self.budget.epsilon if protected else None,
                "delta": self.budget.delta,
            },
            "largest": plan.sums.largest,
            "first": self._widths.first,
            "later": self._widths.later,
            "radius": self._widths.radius,
            "thetas": numbers(state.thetas[:closed]),
            "inverses": numbers(state.inverses[:closed].reshape(-1, self.dim)),
            "theta": numbers(state.iterate) if round else [],
        }

    def device(self) -> RoundsClient:
        return RoundsClient(self.billboard(), features=self.schema, noise=self._noise(), draws=self._draws())

    def observe(self, report: bytes) -> None:
        """Take the shuffled sum of a round that the shuffler hands over."""
        if self.over:
            raise HorizonReached(f"Expected at most {self.horizon} users, got a batch after the last one.")
        plan, coding = self._plan, self._coding
        assert isinstance(coding, ShufflePlan)
        reports, sums = wire.decode_batch(report, boards.read(self.billboard())[0])
        if reports < plan.minimum:
            raise BatchTooSmall(f"Expected at least {plan.minimum} reports, got {reports}.")
        released, _ = unshuffle(reports, sums, coding)
        self._take(plan, released, reports)

    def _take(self, plan: BatchPlan, released: Released, reports: int) -> None:
        self._state.heard[self._state.counts[ROUND]] = reports
        last = int(self._state.counts[ROUND])
        take_sum(released, reports, plan.fit, self._state)
        self._charge(plan, self._state.heard[: last + 1].tolist())

    def _charge(self, plan: BatchPlan, heard: list[int]) -> None:
        if self.budget.epsilon != math.inf and self.calibration == "exact":
            self._state.spent[0] = max(self._state.spent[0], self._cost(plan, heard))

    def _cost(self, plan: BatchPlan, heard: list[int]) -> float:
        """epsilon of the rounds so far of a batch, from the reports in each. Reports beyond the planned number count
        for nothing: who sends them is anybody's guess."""
        assert isinstance(plan.information, ShufflePlan) and isinstance(plan.gradient, ShufflePlan)
        honest = [min(reports, plan.users) - plan.liars for reports in heard]
        first, later = plan.parts
        parts = [part_of(plan.information, first, honest[0])]
        for count, times in sorted(Counter(honest[1:]).items()):
            parts.append(part_of(plan.gradient, later._replace(times=times), count))
        return together_epsilon(parts, self.budget.delta)

    # simulation

    def transit(self) -> Cohort:
        assert self.horizon is not None
        return Cohort(np.zeros(1, np.int64), Exact(np.zeros((self.horizon, self.dim))), Exact(np.zeros(self.horizon)))

    def hear(self, device: Device, x: Array, reward: float | None, transit: Cohort) -> None:
        """The device remembers until its batch is full, and answers in all rounds then."""
        if reward is not None:
            remember(x, plain.unit(self._link, self.rewards, reward), transit)

    def _advance(self, transit: Cohort, users: int) -> bool:
        inside = users - self.users
        if self.over or inside < self._plan.users:
            return False
        if self.source is None:
            self._by_devices(transit, inside)
        else:
            self._simulate(transit, inside)
        transit.reports[0] = 0
        transit.rows[:], transit.values[:] = 0.0, 0.0
        return True

    def _by_devices(self, transit: Cohort, users: int) -> None:
        """The rounds of the open batch, each report by a device as it ships."""
        device, came, (low, high) = self.device(), int(transit.reports[0]), self.rewards
        rewards = [low + float(r) * (high - low) for r in transit.values[:came]] + [None] * (users - came)
        for _ in range(1 + self._plan.fit.gradients):
            board = self.billboard()
            shuffler, question = Shuffler(board), boards.read(board)
            for x, reward in zip(transit.rows, rewards, strict=False):
                shuffler.add(device.respond(x, reward, *question))
            self.observe(shuffler.close())

    def _simulate(self, transit: Cohort, users: int) -> None:
        """The same in a kernel, for simulated noise: the coins of all users at once."""
        plan = self._plan
        settings = self._link.code, self._widths, plan.sums, plan.fit
        shuffle_glm_close(self._generators()[1], transit, users, self._state, *settings)
        self._charge(plan, [users] * (1 + plan.fit.gradients))

    def _play(self, block: Block, transit: Cohort) -> None:
        played, low, high = 0, float(self.rewards[0]), float(self.rewards[1])
        policy, _ = self._generators()
        while played < len(block.noise):
            self._advance(transit, self.users + int(transit.reports[0]))
            settings = low, high, self._link.code, self._widths, self._plan.users
            played = shuffle_glm_rounds(policy, block, self._state, transit, *settings, played)

    def _compile_more(self) -> None:
        for _ in range(2):
            take_sum(nothing_released(self._coding.size), self._plan.users, self._plan.fit, self._state)

    def _plan_numbers(self) -> list[float]:
        return [float(v) for v in (*self._plans[0].sums, *self._plans[0].fit)]

    # what may be shown

    @property
    def theta(self) -> Array:
        closed = int(self._state.counts[CLOSED])
        out: Array = self._state.thetas[closed - 1].copy() if closed else np.zeros(self.dim)
        return out

    @property
    def privacy(self) -> Certificate:
        closed = min(int(self._state.counts[CLOSED]), len(self._plans) - 1)
        plan, exact = self._plans[closed], self.calibration == "exact"
        rounds, epsilon = 1 + plan.fit.gradients, self.budget.epsilon
        if exact and epsilon < math.inf:
            planned = max(self._cost(each, [each.minimum] * (1 + each.fit.gradients)) for each in self._plans)
            epsilon = max(planned, float(self._state.spent[0]))
        caveats = [
            words.shuffle_assumes(self.malicious),
            f"Each user answers {rounds} times, and must stay online until the end of its batch.",
        ]
        if not exact:
            caveats.append("The claim is quoted from eq. 122 and advanced composition, not computed.")
        spent = float(self._state.spent[0]) if exact else epsilon
        return certify(
            type(self).__name__,
            model="shuffle",
            budget=self.budget,
            releases=self._releases(plan, epsilon),
            spent=self._releases(plan, spent) if self.version else (),
            source=self._origin,
            features=self.schema,
            horizon=self.horizon,
            rounds=self.users,
            caveats=caveats,
        )

    def _releases(self, plan: BatchPlan, epsilon: float) -> tuple[ShuffledRelease, ...]:
        kinds = (("information of a batch", plan.information, 1), ("gradients", plan.gradient, plan.fit.gradients))
        return tuple(
            ShuffledRelease(
                "shuffled sum",
                f"{name}: {coding.size} numbers, each user in one batch",
                coding.sensitivity,
                plan.users,
                plan.minimum,
                coding.scale,
                coding.trials,
                coding.std,
                coding.bits * times,
                epsilon,
                self.budget.delta,
                times,
                True,
                relation=relations.REPLACE,
            )
            for name, coding, times in kinds
        )
