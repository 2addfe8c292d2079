"""Algorithm 1 of Sarmasarkar 2026: generalised linear bandits under shuffle privacy, with a private optimiser."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from tacit import checks
from tacit.bandits import elimination, epochs
from tacit.bandits.base import Bandit
from tacit.bandits.choices import Index
from tacit.bandits.references import plain
from tacit.bandits.shuffle.glm_kernel import BatchPlan, shuffle_glm_close, shuffle_glm_rounds
from tacit.data import Array
from tacit.kernels.batched import CLOSED, BatchState, Widths, batch_learn
from tacit.kernels.block import Block
from tacit.kernels.rounds import BOUNDARY, CHOICES
from tacit.mechanisms.shuffle.calibration import Plan
from tacit.mechanisms.shuffle.composed import Sum, calibrate_sums, composed_epsilon
from tacit.mechanisms.shuffle.paper import COIN, PaperPlan, calibrate_paper
from tacit.model.vectors import packed_size
from tacit.privacy import settings
from tacit.privacy.budget import Budget
from tacit.privacy.certificate import SIMULATED_DEVICES, Certificate, certify
from tacit.privacy.ledger import ShuffledRelease

# Practical constants. The first makes the paper's algorithm usable at all (docs/measurements/shuffle.md); there is no
# record of how the others were chosen.
WIDTH_SCALE = 0.01
ITERATIONS = 30  # of the descent; None: the paper's
STEP_SCALE = 2.0  # of its steps
RIDGE, RIDGE_PER_STD = 0.5, 2.0  # lambda: so much, and so many times sqrt d more per unit of the noise's std
NO_NOISE = 2.0**20  # grid cells per unit where no noise is asked for


@dataclass(kw_only=True, eq=False)
class ShuffleGLM(Bandit):
    """A warm-up batch and a few longer ones; in each an optimal design over the arms that no earlier batch rules out.
    At the end of a batch one shuffled sum gives its information, and `iterations` more the gradients of an optimiser,
    so each user answers 1 + iterations times. For comparison: it runs as a simulation only, devices and all in one
    process.

    Guarantee: with calibration="exact", (epsilon, delta)-shuffle privacy of all 1 + iterations sums of a batch together
    (mechanisms.shuffle.composed), each user in one batch. calibration="paper": what eq. 122 and advanced composition
    claim, quoted.
    Reference: Sarmasarkar 2026, arXiv:2602.00417, Algorithms 1 and 4-7, App. E.
    Departure: contributions are clipped, so that 1 / kappa* bounds them always and not with high probability; kappa* is
    that of the largest slope unless oracle_kappa_star is given. Widths are gamma sqrt(kappa) in the warm-up and gamma
    after it, as in Sawarni et al. 2024 and in the paper's own remark 5.2; its (12)-(13) print sqrt(kappa) everywhere.
    constants="practical" has batch lengths a, a sqrt(a), ... and gamma = width_scale (sqrt(d ln(T / failure)) + S sqrt
    lambda), lambda = 1/2 + 2 sqrt(d) (std of the information's noise); constants="paper" has (6)-(7), (20)-(21) with C
    = 1:
    then the warm-up is longer than any horizon in use, see `theory`. iterations=None takes the formula's count (up to
    10^6 round trips to every user). Eigenvalues of the information below lambda are raised to it.

    source: of noise, Simulated(seed): it has to be given."""

    budget: Budget
    link: str = "logistic"
    radius: float = 1.0
    rewards: tuple[float, float] = (0.0, 1.0)
    failure: float | None = None
    width_scale: float = WIDTH_SCALE
    oracle_kappa: float | None = None
    oracle_kappa_star: float | None = None
    calibration: str = "exact"
    constants: str = "practical"
    iterations: int | None = ITERATIONS
    step_scale: float = STEP_SCALE
    batches: int | None = None
    source: Any = None
    policy: Generator = field(default_factory=default_rng, repr=False)
    _state: BatchState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epochs.simulated(self)
        settings.check(self)
        self._link = plain.check(self)
        if not self._link.bounded:
            raise ValueError(f"Expected a logistic or probit link, got {self.link}.")
        checks.one_of(("exact", "paper"), calibration=self.calibration)
        checks.one_of(("practical", "paper"), constants=self.constants)
        if self.iterations is not None:
            checks.positive_int(iterations=self.iterations)
        self.kappa = plain.kappa(self._link, self.radius, self.oracle_kappa)
        star = 1 / float(self._link.slope(0.0)) if self.oracle_kappa_star is None else self.oracle_kappa_star
        checks.positive(oracle_kappa_star=star)
        self.kappa_star = star
        assert self.horizon is not None and self.failure is not None
        if self.batches is None:
            self.batches = max(2, math.ceil(math.log2(max(2.0, math.log2(max(2, self.horizon))))))
        checks.positive_int(batches=self.batches)
        self._ends = self._lengths()
        sizes = np.diff(self._ends, prepend=0)
        self._plans = [self._plan(k, int(n)) for k, n in enumerate(sizes)]
        ridge = max(plan.ridge for plan in self._plans)
        logs = math.log(self.horizon / self.failure)
        gamma = self.width_scale * (math.sqrt(self.dim * logs) + self.radius * math.sqrt(ridge))
        if self.constants == "paper":
            gamma = self.theory["gamma"]
        self._widths = Widths(first=gamma * math.sqrt(self.kappa), later=gamma, radius=float(self.radius))
        super().__post_init__()

    # the plan

    def _lengths(self) -> Index:
        """(6)-(7), or lengths a, a sqrt(a), ... that end at the horizon."""
        assert self.horizon is not None and self.batches is not None
        a = self.horizon ** (1 / (2 - 2.0 ** (1 - self.batches)))
        lengths = [a]
        if self.constants == "paper":
            lengths = [self.theory["warm_up"], a]
        while len(lengths) < self.batches:
            lengths.append(a * math.sqrt(lengths[-1]))
        ends = np.minimum(np.cumsum(np.ceil(lengths)), self.horizon).astype(np.int64)
        ends[-1] = self.horizon
        return np.unique(ends)

    def _plan(self, batch: int, users: int) -> BatchPlan:
        count = self.iterations or self.formula_iterations(users)
        largest = 1.0 if batch == 0 else 1 / self.kappa_star
        step = self.step_scale * 4 * self.radius / math.sqrt(count)  # 2 D / (L sqrt T), D = 2 S, L = 1
        if self.budget.epsilon == math.inf:
            return BatchPlan(users, NO_NOISE, 0.0, NO_NOISE, 0.0, 0.5, count, step, self._ridge(0.0), largest)
        matrix: Plan | PaperPlan
        vector: Plan | PaperPlan
        if self.calibration == "exact":
            (matrix, vector), coin = self._sums(users, largest, count), 0.5
        else:
            half = Budget(self.budget.epsilon / 2, self.budget.delta / 2)
            each = half.epsilon / (2 * math.sqrt(2 * count * math.log(1 / half.delta)))
            once = Budget(each, half.delta / (count + 1))
            matrix = calibrate_paper(half, users=users, dim=self.dim, sensitivity=largest, matrix=True)
            vector, coin = calibrate_paper(once, users=users, dim=self.dim, sensitivity=1.0), COIN
        tossed = float(users) * matrix.trials, float(users) * vector.trials
        grids = matrix.scale, tossed[0], vector.scale, tossed[1]
        return BatchPlan(users, *grids, coin, count, step, self._ridge(matrix.std), largest)

    def _sums(self, users: int, largest: float, count: int) -> list[Plan]:
        parts = (Sum(packed_size(self.dim), math.sqrt(2) * largest, largest, 0.5), Sum(self.dim, 2.0, 1.0, 0.5, count))
        return calibrate_sums(self.budget, users=users, sums=parts)

    def _ridge(self, std: float) -> float:
        return self.theory["lambda"] if self.constants == "paper" else RIDGE + RIDGE_PER_STD * math.sqrt(self.dim) * std

    def formula_iterations(self, users: int) -> int:
        """epsilon^2 n^2 / (d ln^3(n d / delta)): Algorithm 7."""
        e = 1.0 if self.budget.epsilon == math.inf else self.budget.epsilon / 2
        return max(1, math.ceil(e**2 * users**2 / (self.dim * math.log(users * self.dim / self.budget.delta) ** 3)))

    @property
    def theory(self) -> dict[str, float]:
        """The parameters of App. E.1 with C = 1 and the constants under O(.) taken as 1: (6), (20)-(23)."""
        assert self.horizon is not None and self.batches is not None
        d, s, t, delta = self.dim, self.radius, self.horizon, self.budget.delta
        epsilon = self.budget.epsilon
        sigma = 0.0 if epsilon == math.inf else math.log(d**2 / delta) / (self.kappa_star * epsilon)
        nu = 0.0 if epsilon == math.inf else s**2 / epsilon * math.sqrt(d * math.log(t * d / delta) ** 3)
        logs = math.log(2 * self.batches * t / delta)
        lam = 20 * d * math.log(t) + sigma * (
            2 * math.sqrt(math.log(2 * d * self.batches * t / delta)) + 4 * math.sqrt(d)
        )
        gamma = s * math.sqrt(lam) + math.sqrt(4 * s * nu)
        alpha = t ** (1 / (2 - 2.0 ** (1 - self.batches)))
        warm = (math.sqrt(self.kappa) * math.exp(3 * s) * d**2 * gamma**2 / s * alpha) ** (2 / 3)
        spread = 8 * sigma * (4 * math.sqrt(d) + 2 * math.sqrt(logs))
        out = {"sigma": sigma, "nu": nu, "lambda": lam, "gamma": gamma, "alpha": alpha, "warm_up": warm}
        return out | {"lambda_max": lam + spread, "lambda_min": lam - spread}

    # the algorithm

    def init(self) -> BatchState:
        assert self.horizon is not None
        return elimination.empty(self.dim, self.horizon, self._ends)

    def _advance(self) -> None:
        counts = self._state.counts
        if counts[CHOICES] >= counts[BOUNDARY]:
            closing = int(counts[CLOSED])
            settings = self._link.code, self._widths, self._plans[closing], int(self._ends[closing + 1])
            shuffle_glm_close(self.source.generator, self._state, *settings)

    _pick = elimination.pick
    _propensity = elimination.propensity

    def _learn(self, x: Array, reward: float) -> None:
        batch_learn(x, plain.unit(self._link, self.rewards, reward), self._state)

    def _play(self, block: Block) -> None:
        played, low, high = 0, float(self.rewards[0]), float(self.rewards[1])
        settings = low, high, self._link.code, self._widths
        while played < len(block.noise):
            self._advance()
            played = shuffle_glm_rounds(self.policy, block, self._state, *settings, played)

    def _plan_numbers(self) -> list[float]:
        return [float(v) for v in self._plans[0][1:]]

    @property
    def privacy(self) -> Certificate:
        plan = self._plans[0]
        users, count = plan.people, plan.iterations
        epsilon = self.budget.epsilon
        caveats = [f"Each user answers {1 + count} times, and must stay online until the end of its batch."]
        if self.calibration == "paper":
            caveats.append("The claim is quoted from eq. 122 and advanced composition, not computed.")
        elif epsilon < math.inf:
            epsilon = max(map(self._recomputed, self._plans))
        coins, more = math.ceil(plan.matrix_trials / users), math.ceil(plan.trials / users)
        bits = packed_size(self.dim) * (2 * math.ceil(plan.matrix_scale) + coins)
        bits += count * self.dim * (2 * math.ceil(plan.scale) + more)
        variance = plan.matrix_trials * plan.chance * (1 - plan.chance) + users / 4
        release = ShuffledRelease(
            "shuffled sum",
            f"information of a batch, and {count} gradient sums",
            math.sqrt(2),
            users,
            users,
            plan.matrix_scale,
            coins,
            math.sqrt(variance) / plan.matrix_scale,
            bits,
            epsilon,
            self.budget.delta,
        )
        return certify(
            "ShuffleGLM",
            model="shuffle",
            budget=self.budget,
            releases=(release,),
            spent=(release,) if self._state.counts[CLOSED] else (),
            source=SIMULATED_DEVICES,
            rounds=self.horizon or self.choices,
            caveats=caveats,
        )

    def _recomputed(self, plan: BatchPlan) -> float:
        matrix, vector = self._sums(plan.people, plan.largest, plan.iterations)
        return composed_epsilon([(matrix, 1), (vector, plan.iterations)], self.budget.delta)
