"""Our own: optimism for generalised linear rewards under joint privacy, one pass, with a width that is proven."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reticent import checks
from reticent.algorithms.schedules import FARTHEST, steps_before
from reticent.core.choices import Index
from reticent.data import Array, Integers, Raw, Released
from reticent.kernels import linear
from reticent.kernels.linear import Width
from reticent.kernels.rounds import Schedule
from reticent.mechanisms.memory import PrefixSums
from reticent.model import arms as arm_sets
from reticent.model import links
from reticent.model.arms import Arms
from reticent.model.vectors import packed_size
from reticent.privacy import ledger
from reticent.privacy.ledger import Release
from reticent.process import owner_only
from reticent_lab.mechanisms.toeplitz import Toeplitz
from reticent_papers.confidence import gaussian_bounds, width_of, worst_gain
from reticent_papers.joint.continual import ContinualBandit
from reticent_papers.joint.secant import SecantContribution, balanced
from reticent_papers.joint.shapes import misfit
from reticent_papers.joint.shariff import FIRST, GROWTH
from reticent_papers.kernels.matrices import unpacked
from reticent_papers.links import BOUNDED

WIDTH, WITHIN, MISFIT, REMAINDER, SINCE, LONGEST, WORST, WIDEST = range(8)  # of `LineEstimate.numbers`
FAILURE = 1e-3  # where there is no horizon
HALVINGS = 60  # of the multiplier of a projection


class LineEstimate(NamedTuple):
    """PUBLIC. Arrays, changed in place. numbers: E, the width; how far <x, theta> is from <x, theta*> for any arm; how
    far lines are from the link there, as a share; the squares of all that lines have missed so far; the number of
    choices when the open step began; and the largest so far of steps, misfits and widths."""

    theta: Array  # (d,)
    matrix: Array  # (d, d): A
    numbers: Array  # (8,)


class GLMUCBState(NamedTuple):
    counts: Integers  # choices, and at which of them the open step closes
    prefix: PrefixSums
    estimate: LineEstimate


@dataclass(kw_only=True, eq=False)
class JointGLMUCB(ContinualBandit):
    """Rewards with mean mu(<x, theta*>): each user's datum is used once, by a straight line through the link at the
    public estimate; sums are released in steps that grow, and the arm with the largest upper confidence bound is
    played: <x, theta> + E |x|_{A^-1}, A the released curvature.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do. With
    probability 1 - failure, |<x, theta* - theta>| <= E |x|_{A^-1} for all arms in all rounds at once, and the regret
    bound of docs/proofs/rate.md holds, if |x| <= 1, |theta*| <= radius, and rewards as a share of their range have mean
    mu(<x, theta*>) given the past, and come before their step ends, or never, whatever they are.
    Reference: none; the proof is in docs/proofs/rate.md. For whoever wants a bound: JointGLM has far less regret.
    Departure: none. With width_scale below 1 widths are smaller than what is proven.

    link: "logistic" or "probit". rewards: their range. radius: a bound on |theta*|.
    failure: with which probability the confidence set may fail, 1 / horizon by default.
    horizon: the most choices that will be made, where it is known. Without, the noise is made for the steps of 10^12
    choices (some 250, as they grow), and failure is .001 by default. Beside a horizon of 20 000 that is 9 % more noise.
    first, growth: the shortest step, and the factor of later ones. max_rounds_per_person: see ContinualBandit.
    source: of noise. Secure by default; Simulated(seed) for experiments.
    """

    link: str = "logistic"
    rewards: tuple[float, float] = (0.0, 1.0)
    failure: float | None = None
    width_scale: float = 1.0
    first: int = FIRST
    growth: float = GROWTH
    contribution: SecantContribution = field(init=False, repr=False)
    _state: GLMUCBState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        checks.positive_int(first=self.first)
        checks.non_negative(width_scale=self.width_scale)
        checks.one_of(BOUNDED, link=self.link)
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        if self.failure is None:
            self.failure = FAILURE if self.horizon is None else 1 / max(2, self.horizon)
        checks.probability(failure=self.failure)
        link = links.named(self.link)
        low, high = self.rewards
        scale = balanced(link, self.dim, self.radius)
        self.contribution = SecantContribution(
            dim=self.dim, scale=scale, low=low, high=high, link=link, radius=float(self.radius)
        )
        self._schedule = Schedule(float(self.first), float(self.growth))
        leaves = 1 + steps_before(self.horizon or FARTHEST, self._schedule)
        noiseless = Toeplitz(leaves=leaves, size=self.contribution.size, sigma=0.0)
        self.mechanism = self._with_noise(noiseless, self.contribution.sensitivity, self._mu)
        worst = self.mechanism.sigma * worst_gain(self.mechanism)
        self.bounds = gaussian_bounds(worst, leaves, self.dim, self.failure, self.radius, scale)
        sub = 0.5 / math.sqrt(self.contribution.flattest)
        self._martingale: Width = width_of(self.bounds, self.dim, sub, self.failure, 0.0)
        self.epsilon = ledger.check(self._planned(), self.budget)
        super().__post_init__()

    def init(self) -> GLMUCBState:
        matrix, numbers = self.bounds.shift * np.eye(self.dim), np.zeros(8)
        self._widen(np.zeros(self.dim), matrix, numbers)
        estimate = LineEstimate(np.zeros(self.dim), matrix, numbers)
        return GLMUCBState(self._opened(2), PrefixSums(self.mechanism, self.source), estimate)

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        at, within = self._state.estimate.theta, float(self._state.estimate.numbers[WITHIN])
        self._state.prefix.absorb(lambda x, y, out: self.contribution.add(x, y, at, within, out), row, reward)

    def _update(self, released: Released) -> None:
        """With A the released curvature and `shift` on its diagonal, q the misfit of the lines of the step that has
        closed, of n users, and H their curvature, at most (the new A) - (the old A) + 2 noise:
            remainder <- remainder + q^2 min(E^2 |H|_{A^-1}, n m within^2),    theta <- A^-1 b, projected in A's norm,
            E <- (noise, shift) / sqrt(least eigenvalue) + martingale + min(sqrt(remainder), what is known anyway)."""
        before, packed = self._state.estimate, packed_size(self.dim)
        matrix = unpacked(np.asarray(released)[:packed], self.dim) + self.bounds.shift * np.eye(self.dim)
        least = float(np.linalg.eigvalsh(matrix)[0])
        if least < self.bounds.floor:  # of a probability that `failure` allows for
            matrix += (self.bounds.floor - least) * np.eye(self.dim)
        noise = self.bounds.ceiling - self.bounds.shift
        step = matrix - before.matrix + 2 * noise * np.eye(self.dim)
        numbers, users = before.numbers, self.choices - before.numbers[SINCE]
        beside = float(np.linalg.eigvals(np.linalg.solve(before.matrix, step)).real.max())
        most = users * self.contribution.link.steepest * numbers[WITHIN] ** 2
        numbers[REMAINDER] += numbers[MISFIT] ** 2 * max(0.0, min(numbers[WIDTH] ** 2 * beside, most))
        numbers[SINCE], numbers[LONGEST] = self.choices, max(numbers[LONGEST], users)
        moment = np.asarray(released)[packed:] / self.contribution.scale
        before.theta[:] = projected(np.asarray(np.linalg.solve(matrix, moment), np.float64), matrix, self.radius)
        before.matrix[:] = matrix
        self._widen(before.theta, matrix, numbers)

    def _widen(self, theta: Array, matrix: Array, numbers: Array) -> None:
        """E, and what follows from it for the next step."""
        values = np.linalg.eigvalsh(matrix)
        pull = (self.bounds.drift + self.bounds.shift * self.radius) / math.sqrt(values[0])
        chance = linear.radius(self._martingale, float(np.log(values).sum()))
        noise = self.contribution.link.steepest / self.bounds.floor
        sum_of_steps = potential(self.dim, noise * numbers[SINCE], noise * numbers[LONGEST])
        known = numbers[WORST] * numbers[WIDEST] * math.sqrt(sum_of_steps)
        numbers[WIDTH] = self.width_scale * (pull + chance + min(math.sqrt(numbers[REMAINDER]), known))
        length = float(np.linalg.norm(theta))
        numbers[WITHIN] = min(self.radius + length, numbers[WIDTH] / math.sqrt(values[0]))
        numbers[MISFIT] = misfit(self.link, longest=length, within=float(numbers[WITHIN]), radius=float(self.radius))
        numbers[WORST], numbers[WIDEST] = max(numbers[WORST], numbers[MISFIT]), max(numbers[WIDEST], numbers[WIDTH])

    def _pick(self, features: Array) -> Index:
        middle, half = self._beliefs(features)
        return np.asarray((middle + half).argmax(axis=-1))

    def _beliefs(self, rows: Array) -> tuple[Array, Array]:
        estimate = self._state.estimate
        squares = np.einsum("...i,...i", rows, np.linalg.solve(estimate.matrix, rows[..., None])[..., 0])
        half = np.minimum(
            estimate.numbers[WIDTH] * np.sqrt(np.maximum(squares, 0.0)),
            (self.radius + np.linalg.norm(estimate.theta)) * np.linalg.norm(rows, axis=-1),
        )
        return rows @ estimate.theta, half

    @owner_only
    def intervals(self, arms: Arms) -> list[tuple[float, float]]:
        """For each arm, given as in `choose`, an interval that holds its mean reward; all of them hold in all rounds
        with probability 1 - failure."""
        low, high = self.rewards
        middle, half = self._beliefs(arm_sets.check(arms, self.dim).features)
        ends = [low + (high - low) * self.contribution.link.mean(middle + side * half) for side in (-1, 1)]
        return list(zip(ends[0].tolist(), ends[1].tolist(), strict=True))

    @property
    @owner_only
    def theta(self) -> Array:
        return self._state.estimate.theta.copy()

    @property
    @owner_only
    def width(self) -> float:
        """E."""
        return float(self._state.estimate.numbers[WIDTH])

    def _plan_numbers(self) -> list[float]:
        return [*super()._plan_numbers(), self.contribution.scale, self.bounds.shift]

    def _releases(self, steps: int) -> tuple[Release, ...]:
        statistic = f"sums of w x x' and y x, {self.contribution.size} numbers, by lines"
        moved = self.contribution.sensitivity, steps, self.max_rounds_per_person or 1
        return (self.mechanism.entry("gaussian", statistic, *moved, relation=self._relation),) if steps else ()


def potential(dim: int, total: float, longest: float) -> float:
    """At least the sum over steps of tr(A^-1 H), A before the step and H of it, whoever comes: docs/proofs/rate.md.
    total, longest: m / floor times the users of all steps, and of the longest."""
    return longest / math.log1p(longest) * dim * math.log1p(total / dim) if longest else 0.0


def projected(theta: Array, matrix: Array, radius: float) -> Array:
    """The point of |theta| <= radius that is nearest in the matrix's norm: (A + n I) theta' = A theta, with the n >= 0
    at which |theta'| = radius, found by halving."""
    if float(np.linalg.norm(theta)) <= radius:
        return theta
    values, axes = np.linalg.eigh(matrix)
    along = values * (axes.T @ theta)
    low, high = 0.0, float(np.linalg.norm(along)) / radius
    for _ in range(HALVINGS):
        n = (low + high) / 2
        low, high = (n, high) if float(np.linalg.norm(along / (values + n))) > radius else (low, n)
    out: Array = axes @ (along / (values + high))
    return out
