"""LinUCB under joint differential privacy: noisy Gram matrices by continual release."""

import math
from dataclasses import dataclass, field

from tacit import checks
from tacit.algorithms import ridge
from tacit.algorithms.forgetting import FARTHEST, steps_before
from tacit.algorithms.linear import Linear, Statistics
from tacit.bandits.joint.joint import Joint
from tacit.kernels.rounds import Schedule
from tacit.lock import owner_only
from tacit.mechanisms.grid import worst_gain
from tacit.mechanisms.toeplitz import Toeplitz
from tacit.model.linear import LinearContribution, balanced_scale
from tacit.privacy import ledger

FAILURE = 1e-3  # where there is no horizon
FIRST, GROWTH = 15, 1.1  # choices in the shortest step, and the factor of later ones: no record of their choice


@dataclass(kw_only=True, eq=False)
class JointLinUCB(Joint):
    """Optimism with ridge regression on noisy sums of x x' and y x, released as the public schedule says.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: all that
    leaves is the released sums and, to each user, a function of them and of that user's own arms. With probability
    1 - failure the confidence set holds in all rounds, for rewards linear in x, |theta*| <= radius.
    Reference: Shariff & Sheffet 2018, arXiv:1810.00068, Algorithm 1 and section 4.
    A row of a batch that is refused counts as a choice; a request that is refused alone is no user.
    Departure: the exact Gaussian curve instead of the paper's constants, the tight sensitivity of (x x', y x) without
    y^2, whose sum is never released, and a confidence width that shrinks where the released Gram matrix is large. Steps
    grow by `growth`, with square-root Toeplitz noise over them. The paper's own: tacit_papers.ShariffLinUCB.

    horizon: the most choices that will be made, where it is known. Without, the noise is made for the steps of 10^12
    choices (some 250, as they grow): bounds on the noise are for that many releases at once, and the bound on rewards
    is for all rounds there are, so that the confidence set holds for as long as choices are made, with probability 1 -
    failure, .999 by default. Beside a horizon of 20 000 that is 9 % more noise, and widths for 19 % more.
    max_rounds_per_person and what goes with it: see ContinualBandit; hold, missing_as, week: see Joint.
    blocks: as in JointGLM: sums, noise and work are those of each arm's own part, and bounds on the noise are those of
    its dim / blocks dimensions, for all parts at once.
    source: of noise. Secure by default; Simulated(seed) for experiments.
    """

    rewards: tuple[float, float] = (-1.0, 1.0)
    blocks: int | None = None
    subgaussian: float | None = None
    failure: float | None = None
    width_scale: float = 1.0
    first: int = FIRST
    growth: float = GROWTH
    algorithm: Linear = field(init=False, repr=False)
    contribution: LinearContribution = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        checks.positive_int(first=self.first)
        self.first = int(self.first)
        checks.non_negative(width_scale=self.width_scale)
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        self.failure = failure_of(self.failure, self.horizon)
        if self.subgaussian is None:
            self.subgaussian = (self.rewards[1] - self.rewards[0]) / 2
        checks.positive(subgaussian=self.subgaussian)
        self._schedule = Schedule(float(self.first), float(self.growth))
        self.contribution = LinearContribution(
            dim=self.dim,
            scale=balanced_scale(self._own_dim, self.radius, max(map(abs, self.rewards))),
            low=self.rewards[0],
            high=self.rewards[1],
            blocks=self._blocks,
        )
        steps = 1 + steps_before(self.horizon or FARTHEST, self._schedule)
        noiseless = Toeplitz(leaves=steps, size=self._size, sigma=0.0, **self._columns(self._schedule))
        self.mechanism = self._with_noise(noiseless, self._sensitivity, self._mu)
        times, worst = steps * self._blocks, self.mechanism.sigma * worst_gain(self.mechanism)
        scale = self.contribution.scale
        bounds = ridge.gaussian_bounds(worst, times, self._own_dim, self.failure, self.radius, scale)
        self.algorithm = Linear(
            plan=self._plan("sums of x x' and y x, {}, by batched", scale, bounds.shift),
            contribution=self.contribution,
            failure=self.failure,
            subgaussian=self.subgaussian,
            width_scale=self.width_scale,
            sides=None,
        )
        self.epsilon = ledger.check(self._planned(), self.budget)
        super().__post_init__()

    # what may be shown

    @property
    @owner_only
    def statistics(self) -> Statistics:
        """The released sums; where there are blocks, with one more axis, the first: of blocks."""
        return self.algorithm.statistics(self._estimate)


def failure_of(given: float | None, horizon: int | None) -> float:
    """With which probability a confidence set may fail: 1 / horizon by default, where there is one."""
    failure = given if given is not None else FAILURE if horizon is None else 1 / max(2, horizon)
    checks.probability(failure=failure)
    return failure
