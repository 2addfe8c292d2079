"""Generalised linear bandits under joint privacy that switch rarely: noisy design matrices, noisy gradient descent."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.core.choices import Index
from reticent.data import Array, Exact, Raw, Released
from reticent.errors import NoHorizon, NotSecure
from reticent.kernels.block import Block
from reticent.kernels.linalg import square_norm
from reticent.kernels.noise import gaussian_law
from reticent.mechanisms.entering import SILENT
from reticent.mechanisms.memory import PrefixSums, run
from reticent.model import links
from reticent.privacy import ledger
from reticent.privacy.budget import Budget
from reticent.privacy.certificate import Certificate, plain_certificate
from reticent.privacy.ledger import GaussianRelease
from reticent.privacy.noise import generator_of
from reticent.process import owner_only
from reticent_lab.mechanisms.buffered import Buffered
from reticent_lab.mechanisms.tree import Tree
from reticent_papers.confidence import worst_gain
from reticent_papers.joint import glm_rare_code as as_coded
from reticent_papers.joint import glm_rare_printed as as_printed
from reticent_papers.joint.continual import ContinualBandit
from reticent_papers.joint.glm_rare_descent_kernel import Data, Design, Rule, members, printed_length
from reticent_papers.joint.glm_rare_kernel import (
    CALLS_O,
    CALLS_TAU,
    COUNTS,
    DATA,
    RareState,
    add_design,
    compute_o,
    compute_tau,
    due_o,
    due_tau,
    exploit,
    explores,
    keep,
    rare_rounds,
    redesign,
    uncertain,
)
from reticent_papers.joint.glm_rare_model import DesignContribution, GradientContribution
from reticent_papers.joint.glm_rare_plan import practical
from reticent_papers.joint.glm_rare_theory import Theory, theory
from reticent_papers.joint.shariff import EVERY_CHOICE, check_leaves

TIMINGS = ("strict", "published")
CRITERIA = ("directional", "determinant")
CONSTANTS = ("practical", "paper", "code")
CODED_ALONE = ("eliminate", "coded", "share", "floor", "growth")  # numbers of the rule that only the code's differ in
RELEASES: dict[str, type[Buffered | Tree]] = {"buffered": Buffered, "tree": Tree}


@dataclass(kw_only=True, eq=False)
class JointGLMRare(ContinualBandit):
    """Explore where an arm is uncertain under V (Criterion I); else eliminate arms by UCB_o and LCB_o, and play the
    largest UCB under H_tau, whose estimate is recomputed when H has grown in some direction (Criterion II).

    Guarantee: timing="strict": (epsilon, delta)-joint differential privacy for replacing one user, whatever later users
    do. What leaves are V and H, one leaf a choice, and the noisy gradient sums of at most most_o calls of the
    optimiser for theta_o and most_tau for theta_tau, each of `iterations` steps; when a call happens is a function of
    V and H as released and of the calls so far. A user is in T_o or not, which is settled, before any of its data are
    used, by its own arms and a released V: the shift of all releases together has, given everything released
    before, squared norm at most mu^2 (sensitivities: contribution_rare), so the run is mu-GDP under adaptive
    composition (Smith & Thakurta 2022, arXiv:2210.17520). What user t sees is a function of that and its own arms.
    timing="published" is not private: its certificate says so.
    Reference: Sarmasarkar 2026, arXiv:2602.00417, Algorithm 2; constants as hyperparameters as in its Remark B.1; noisy
    projected gradient descent: its Lemma U.4. `theory` has the constants of J.1.
    Departure: (strict) theta_o is recomputed when the noisy V has grown, V not <= 2 V_o, not in every exploring round,
    and Criterion II is tested at the start of every round; either waits until the number of choices has doubled since
    its last call. (constants="practical") Exact Gaussian accounting instead of zCDP; the tight sensitivity of gradient
    sums, for which Theta_II is intersected with |theta| <= S (one projection after the other); Frobenius norms for V
    and H; noise on sums, so the number of users in T_o is not used; square-root noise (mechanisms.buffered) instead of
    binary trees, unless release="tree"; lambda of H is slope / e times that of V, as its noise is; the first iterate is
    the last estimate, the step follows from the released matrices; eigenvalues of V and H are raised to lambda / 2
    where noise has pushed them lower. kappa* is not a constant of the calibration: weights of H are bounded by mu'(0),
    or clipped to 1 / kappa_star where that is declared.
    constants="paper" with timing="published" is Algorithm 2 as printed: the trees of J.3 with sigma_noise, one zCDP
    budget a call, the descent of Lemma U.4 on the users in T_o, lambda, gamma, beta and the cut-offs of J.1 (`theory`,
    with constants that it leaves open 1). Of the departures it keeps the eigenvalues of V and H.
    constants="code" with timing="published" is what the author's code does (glm_rare_code), which printed table 2. Its
    departure: kappa is the worst case for the radius and kappa* 1 / mu'(0), or as declared (there: the instance's);
    arms are eliminated by V of the round before; a fit without users changes nothing. It plays step by step.

    Memory: RAW. The optimiser needs the data of all users again at each call: (horizon, dim) numbers are kept.

    max_rounds_per_person: as in JointGLM: k rounds shift all releases together by at most k times as much as one.
    source: of noise. Secure by default; Simulated(seed) for experiments, which is what timing="published" needs.
    release: of V and H, "buffered" or "tree". With secure noise "buffered" keeps all leaves: horizons up to 16384.
    criterion: II compares matrices in all directions, or ("determinant", for comparison) det H with 2 det H_tau.
    Practical constants, chosen by regret on tuning seeds (None: from public settings): ridge = lambda; explore = gamma
    sqrt(kappa); width = beta; most_o, most_tau = the cut-offs; shrink: lambda of the loss is 1 + shrink times the std
    of its gradient sums; step = of the descent, times 1 / smoothness; share = of mu^2 for V and H.
    """

    link: str = "logistic"
    rewards: tuple[float, float] = (0.0, 1.0)
    timing: str = "strict"
    constants: str = "practical"
    release: str = "buffered"
    criterion: str = "directional"
    ridge: float | None = None
    explore: float | None = None
    width: float | None = None
    shrink: float | None = None
    most_o: int | None = None
    most_tau: int | None = None
    iterations: int = 12
    step: float = 1.0
    share: float = 0.5
    kappa_star: float | None = None
    _state: RareState[PrefixSums] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        if self.horizon is None:
            raise NoHorizon("Expected a horizon for JointGLMRare, which keeps room for all data, got None.")
        checks.positive_int(iterations=self.iterations)
        self.iterations = int(self.iterations)
        checks.positive(step=self.step)
        checks.probability(share=self.share)
        checks.one_of(TIMINGS, timing=self.timing)
        checks.one_of(CONSTANTS, constants=self.constants)
        checks.one_of(tuple(RELEASES), release=self.release)
        checks.one_of(CRITERIA, criterion=self.criterion)
        if self.timing == "published" and self.source.private:
            raise NotSecure(
                "Expected timing='strict' where people's data are protected, got 'published', whose timing leaks: for "
                "experiments give source=Simulated(seed)."
            )
        self._link = links.built_in(self.link)
        slope = float(self._link.slope(0.0))
        if self.kappa_star is not None:
            checks.positive(kappa_star=self.kappa_star)
            slope = min(slope, 1 / self.kappa_star)
        self.gradients = GradientContribution(link=self._link, radius=self.radius)
        printed = self.constants == "paper"
        if self.constants != "practical":
            self._check_given()
            self._code = as_coded.code(self)
            slope = math.e if printed else math.e / self._code.kappa_star  # H is the sum of mu' / e x x'
        self.contribution = DesignContribution(dim=self.dim, link=self._link, slope=slope)
        if self.constants != "practical":
            self._plan_given()
        else:
            self._plan(slope)
            self.epsilon = ledger.check(self._planned(), self.budget)
        super().__post_init__()

    def _plan(self, slope: float) -> None:
        """Budget -> noise -> constants, all from public settings; the ledger checks the result."""
        assert self.horizon is not None
        self._schedule = EVERY_CHOICE
        design, optimiser = self._mu * math.sqrt(self.share), self._mu * math.sqrt(1 - self.share)
        noiseless = RELEASES[self.release](leaves=self.horizon, size=self.contribution.size, sigma=0.0)
        check_leaves(self, noiseless)
        self.mechanism = self._with_noise(noiseless, self.contribution.sensitivity, design)
        planned = practical(
            self,
            slope=slope,
            noise=self.mechanism.sigma * worst_gain(noiseless),
            optimiser=optimiser,
            secure=bool(self.source.private) and self._mu < math.inf,
            sensitivity=self.gradients.sensitivity,
        )
        self._sigma_o, self._sigma_tau = planned.sigma_o, planned.sigma_tau
        self._gradient_sensitivity = planned.sensitivity
        self._rule = self._ruled(**planned.rule)

    def _check_given(self) -> None:
        given = (self.ridge, self.explore, self.width, self.shrink, self.most_o, self.most_tau)
        if self.timing != "published" or any(value is not None for value in given):
            raise ValueError(
                f"Expected timing='published' and no constants beside constants='{self.constants}', got others."
            )
        if self.budget.epsilon == math.inf:
            raise ValueError(f"Expected a finite epsilon for constants='{self.constants}', got none.")

    def _plan_given(self) -> None:
        """By sections 6, J.1 and J.3 and Lemma U.4, or by the code."""
        assert self.horizon is not None
        self._schedule = EVERY_CHOICE
        if self.constants == "code":
            tree, sigma = as_coded.tree(self._code, self.contribution.size), self._code.sigma
            numbers = as_coded.rule(self._code)
        else:
            asked = self.theory()
            tree, sigma = as_printed.tree(asked, self.contribution.size), asked.sigma_noise
            numbers = as_printed.numbers(asked, self.horizon)
        self.mechanism = self._with_noise(tree, self.contribution.sensitivity, self._mu, sigma=sigma)
        self._sigma_o = self._sigma_tau = self._gradient_sensitivity = 1.0  # in use: what the number of users says
        self.epsilon = math.inf
        self._rule = self._ruled(**numbers)

    def _ruled(self, **numbers: Any) -> Rule:
        numbers.setdefault("eliminate", numbers["explore"])
        return Rule(
            link=self._link.code,
            published=self.timing == "published",
            determinant=self.criterion == "determinant",
            low=float(self.rewards[0]),
            high=float(self.rewards[1]),
            radius=float(self.radius),
            **numbers,
        )

    def _planned(self) -> tuple[GaussianRelease, ...]:
        return self._after(self.mechanism.leaves, self._rule.most_o, self._rule.most_tau)

    def _releases(self, steps: int) -> tuple[GaussianRelease, ...]:
        return self._after(steps, *self.recomputations)

    def _after(self, steps: int, calls_o: int, calls_tau: int) -> tuple[GaussianRelease, ...]:
        """What has happened to the data after so many steps and calls. A user is in the gradients of one kind or,
        across the two worlds, once in each (GradientContribution): the kind that cost more counts."""
        out, k = [], self.max_rounds_per_person or 1
        if steps:
            statistic = (
                f"V and H stacked, {self.contribution.size} numbers, one leaf a choice, each user in one of them"
            )
            own = self.contribution.sensitivity, steps, k
            out.append(self.mechanism.entry("design matrices", statistic, *own, relation=self._relation))
        kinds = ((calls_o, self._sigma_o, "theta_o"), (calls_tau, self._sigma_tau, "theta_tau"))
        calls, sigma, name = max(kinds, key=lambda kind: kind[0] / kind[1] ** 2 if kind[1] else kind[0])
        if calls:
            statistic = (
                f"gradient sums of {calls_o} calls for theta_o and {calls_tau} for theta_tau, {self.iterations} steps "
                f"each, each user in one of the two; {name} counts"
            )
            norm, numbers = math.sqrt(calls * self.iterations), (calls_o + calls_tau) * self.iterations * self.dim
            parts = (self._gradient_sensitivity, norm, sigma, k, self._rule.cell, numbers if self._rule.cell else 0)
            out.append(GaussianRelease("gradient descent", statistic, *parts, relation=self._relation))
        return tuple(out)

    # the algorithm

    def init(self) -> RareState[PrefixSums]:
        assert self.horizon is not None
        d, rule = self.dim, self._rule
        gram, hessian = rule.ridge * np.eye(d), rule.ridge_hessian * np.eye(d)
        design = Design(
            gram=gram,
            inverse=np.eye(d) / rule.ridge,
            hessian=hessian,
            gram_o=gram.copy(),
            theta_o=np.zeros(d),
            hessian_tau=hessian.copy(),
            inverse_tau=np.eye(d) / rule.ridge_hessian,
            theta_tau=np.zeros(d),
        )
        if rule.cell:  # a call's noise is drawn ahead
            for sigma in (self._sigma_o, self._sigma_tau):
                self.source.expect(self.iterations * d, sigma / rule.cell)
        x, r, explored = np.zeros((self.horizon, d)), np.zeros(self.horizon), np.zeros(self.horizon, np.int64)
        data = Data(Exact(x), Exact(r), Exact(explored))
        return RareState(self._opened(COUNTS), PrefixSums(self.mechanism, self.source), design, data)

    def _update(self, released: Released) -> None:
        redesign(released, self._rule, self._state.design)
        if self.timing == "strict":
            if due_o(self._state.counts, self._state.design, self._rule):
                self._recompute_o()
            if due_tau(self._state.counts, self._state.design, self._rule):
                self._recompute_tau()

    def _pick(self, features: Array) -> Index:
        out = np.empty(len(features), np.int64)
        for i, arms in enumerate(features):
            out[i] = uncertain(arms, self._state.design, self._rule)
            if out[i] < 0:
                if self.timing == "published" and due_tau(self._state.counts, self._state.design, self._rule):
                    self._recompute_tau()
                out[i] = exploit(arms, self._state.design, self._rule)
        return out

    @property
    def _row_size(self) -> int:
        return self.dim + 1  # and whether it explored

    def _row(self, offered: Array, picked: int, place: int, name: str | None) -> Raw[Array]:
        x = offered[picked]
        return Raw(np.append(x, float(explores(x, self._state.design, self._rule))))

    def chosen(self, row: Raw[Array], mark: bytes) -> None:
        """The user's leaf of V and H is filled here, where it is known under which matrix it chose."""
        c, design, coded = self.contribution, self._state.design, self._rule.coded

        def add(x: Array, out: Exact) -> None:
            explored = bool(x[-1])
            short = math.sqrt(1 + square_norm(x[:-1], design.inverse)) if coded and explored else 1.0
            add_design(x[:-1] / short, explored, design.theta_o, c.link.code, c.slope, out)

        if mark != SILENT:
            self._state.prefix.absorb(add, row)

    def _learn(self, x: Array, reward: float) -> None:
        counts, explored = self._state.counts, bool(x[-1])
        if self._rule.coded and explored and counts[CALLS_O] >= self._rule.most_o:
            return  # the code forgets who explores after its last fit of theta_o
        keep(x[:-1], reward, explored, self._rule.low, self._rule.high, counts, self._state.data)
        if self.timing == "published" and explored and counts[CALLS_O] < self._rule.most_o:
            self._recompute_o()

    def _recompute_o(self) -> None:
        if self._rule.coded:
            self._fit(self._state.design.theta_o, 1, self._code.call_o)
        run(compute_o, self._state, self._gradient_noise(self._sigma_o, 1), self._rule)

    def _recompute_tau(self) -> None:
        if self._rule.coded:
            self._fit(self._state.design.theta_tau, 0, self._code.call_tau)
        run(compute_tau, self._state, self._gradient_noise(self._sigma_tau, 0), self._rule)

    def _fit(self, out: Array, explored: int, call: Budget) -> None:
        state = self._state
        out[:] = as_coded.fitted(
            state.data, int(state.counts[DATA]), explored, self.theta, self.source, call, self._rule
        )

    def _gradient_noise(self, sigma: float, explored: int) -> Array:
        """One call's: whole cells, or floats in experiments."""
        if self._rule.coded:
            return np.zeros((0, self.dim))  # fitted already
        if self._rule.printed:
            n = members(self._state.data, int(self._state.counts[DATA]), explored)
            steps, sigma = printed_length(n, self.dim, explored, self._rule)
            printed: Array = self.source.rows(steps, self.dim, gaussian_law(sigma))
            return printed
        if self._rule.cell:
            whole: Array = self.source.integers(self.iterations, self.dim, sigma / self._rule.cell).astype(np.float64)
            return whole
        rows: Array = self.source.rows(self.iterations, self.dim, gaussian_law(sigma))
        return rows

    def _play(self, block: Block) -> bool:
        if self._rule.coded:
            return False
        run(
            rare_rounds,
            generator_of(self.source),
            block,
            self._state,
            self._rule,
            self.mechanism.law,
            gaussian_law(self._sigma_o),
            gaussian_law(self._sigma_tau),
            self.iterations,
        )
        return True

    def _compile_more(self) -> None:
        self._recompute_o()
        self._recompute_tau()

    def _plan_numbers(self) -> list[float]:
        named = self._rule._asdict().items()
        kept = [number for name, number in named if name not in CODED_ALONE or self._rule.coded]  # as files have them
        rule = [float(number) for number in kept if isinstance(number, int | float)]
        return [*super()._plan_numbers(), self._sigma_o, self._sigma_tau, *rule]

    # what may be shown

    @property
    @owner_only
    def recomputations(self) -> tuple[int, int]:
        """How often theta_o and theta_tau have been computed: public under strict timing."""
        return int(self._state.counts[CALLS_O]), int(self._state.counts[CALLS_TAU])

    @property
    @owner_only
    def theta(self) -> Array:
        """What choices are made by: theta_tau, a function of noisy gradient sums; in the code its mean with theta_o."""
        design, share = self._state.design, self._rule.share
        out: Array = share * design.theta_o + (1 - share) * design.theta_tau
        return out

    def theory(self, *, failure: float | None = None, constant: float = 1.0) -> Theory:
        """The parameters that the paper's theorems ask for, beside the practical ones in use. Print it."""
        assert self.horizon is not None
        return theory(
            dim=self.dim,
            horizon=self.horizon,
            budget=self.budget,
            link=self.link,
            radius=self.radius,
            failure=failure,
            kappa_star=self.kappa_star,
            constant=constant,
        )

    @property
    def privacy(self) -> Certificate:
        name = type(self).__name__
        if self.constants == "code":
            return plain_certificate(name, as_coded.caveat(self._code, self.budget))
        if self.constants == "paper":
            return plain_certificate(name, as_printed.caveat(self.theory(), self.contribution, self.budget))
        if self.timing == "published":
            return plain_certificate(name, as_printed.LEAK)
        return super().privacy
