"""Linear bandits with one arm set for all, whose rewards alone are private: phases that rule arms out."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tacit import checks
from tacit.algorithms.forgetting import steps_before
from tacit.bandits.joint.continual import ContinualBandit
from tacit.core.choices import Index, certain
from tacit.data import Array, Integers, Raw, Released
from tacit.errors import NoHorizon
from tacit.kernels.rounds import Schedule
from tacit.lock import owner_only
from tacit.mechanisms.alone import Alone
from tacit.mechanisms.prefix import PrefixSums
from tacit.model.vectors import shortened
from tacit.papers.designs import survivors
from tacit.papers.joint.adac_oful import add_reward
from tacit.privacy import ledger
from tacit.privacy.ledger import GaussianRelease


class PhaseState(NamedTuple):
    """grams: of arms that were chosen, which are public here. Rows are phases, the open one last."""

    counts: Integers  # (2,): choices, and at which of them the open phase ends
    prefix: PrefixSums  # of (r - middle) x, closed, and what was released
    grams: Array  # (phases + 1, d, d): sum of x x' in each phase
    sums: Array  # (phases + 1, d): what was released after each number of phases
    thetas: Array  # (phases, d): the estimate from each phase
    covariances: Array  # (phases, d, d): of its error


@dataclass(kw_only=True, eq=False)
class HannaElimination(ContinualBandit):
    """Phases of doubling length. Within a phase: among the arms that no earlier phase rules out, the one of which the
    phase knows least, |x| in the norm of V^-1, V = ridge I + sum of x x' over the phase. At its end: the sum of r x of
    the phase is released once, with noise, and least squares on the phase alone rule out arms whose upper bound is
    below another's lower bound.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user's reward, whatever later users do;
    features, offered and chosen arms are public. A reward is in one phase: replaced, it moves one sum by |r - r'| |x|
    <= high - low; that comes at another time or never, two sums by half as much. When a phase ends is a function of the
    number of choices, and which arm is played one of public arms and of earlier releases. So the run is mu-GDP,
    mu = (high - low) / sigma, for any number of phases.
    Bounds: if r - (low + high) / 2 has mean <x, theta>, |theta| <= radius, and every reward comes within its phase,
    then with probability 1 - failure no phase's bounds are wrong for any of K arms that are the same for all. For, the
    arms of a phase do not depend on its rewards, so the error along x is sub-Gaussian with variance subgaussian^2
    x' V^-1 x + sigma^2 x' V^-2 x, beside a bias of at most ridge radius |V^-1 x|; the half-width is sqrt(1 + 2 log(2 K
    phases / failure)) times the root of that variance with the bias squared, which is no less than both together.
    Reference: Hanna, Girgis, Fragouli & Diggavi 2022, "Differentially Private Stochastic Linear Bandits: (Almost) for
    Free", arXiv:2207.03445, the central model.
    Departure: we could read the abstract and the beginning of the introduction, not the pseudo-code: batches of growing
    length, a near-optimal design over the arms that are left, noise once for each batch and elimination are as we know
    them, not checked line by line, and the constants are ours. Gaussian noise on the d numbers of the sum of r x, with
    exact accounting, instead of Laplace noise on the reward of each arm of a core set: its amount does not depend on
    how many arms are played. The design is built arm by arm, as the phase goes on, and so it is defined for arm sets
    that change, too: there, arms of each set that the estimates rule out are left out, which the paper does not have
    and no bound covers. Rewards are centred, so that one that never comes counts as the middle.

    first, growth: choices in the first phase, 2 dim by default, and the factor by which choices grow with each.
    ridge: lambda. width_scale: of the half-width, 1 as above."""

    rewards: tuple[float, float] = (0.0, 1.0)
    first: int | None = None
    growth: float = 2.0
    ridge: float = 1.0
    failure: float | None = None
    subgaussian: float | None = None
    width_scale: float = 1.0
    _state: PhaseState = field(init=False, repr=False)
    _public = True

    def __post_init__(self) -> None:
        self._check()
        if self.horizon is None:
            raise NoHorizon(
                "Expected a horizon for HannaElimination, whose number of phases follows from it, got None."
            )
        if self.first is None:
            self.first = 2 * self.dim
        checks.positive_int(first=self.first)
        checks.positive(ridge=self.ridge)
        checks.non_negative(width_scale=self.width_scale)
        checks.interval(rewards=self.rewards)
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        low, high = self.rewards
        if self.failure is None:
            self.failure = 1 / max(2, self.horizon)
        checks.probability(failure=self.failure)
        if self.subgaussian is None:
            self.subgaussian = (high - low) / 2
        checks.positive(subgaussian=self.subgaussian)
        self._schedule = Schedule(first=float(self.first), growth=self.growth)
        self._sensitivity = high - low
        noiseless = Alone(leaves=1 + steps_before(self.horizon, self._schedule), size=self.dim, sigma=0.0)
        self.mechanism = self._with_noise(noiseless, self._sensitivity, self._mu)
        self.epsilon = ledger.check(self._planned(), self.budget)
        super().__post_init__()

    def init(self) -> PhaseState:
        phases, d = self.mechanism.leaves, self.dim
        known = np.zeros((phases + 1, d, d)), np.zeros((phases + 1, d))
        return PhaseState(
            self._opened(2),
            PrefixSums(self.mechanism, self.source),
            *known,
            np.zeros((phases, d)),
            np.zeros((phases, d, d)),
        )

    def _pick(self, features: Array) -> Index:
        """People of a batch who are offered the same arms get the same one: a batch is one state."""
        inverse = np.linalg.inv(self._information(self._steps))
        unknown = np.einsum("nki,ij,nkj->nk", features, inverse, features)
        alive = np.array([self._alive(arms) for arms in features])
        return np.asarray(np.where(alive, unknown, -1.0).argmax(axis=1), np.int64)

    _propensity = certain

    def _alive(self, arms: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which arms of a set no phase rules out: a function of what was released and of public arms."""
        state, closed = self._state, self._steps
        assert self.failure is not None
        far = math.sqrt(1 + 2 * math.log(2 * len(arms) * self.mechanism.leaves / self.failure))
        widths = np.full(closed, self.width_scale * far)
        return survivors(arms, state.thetas[:closed], state.covariances[:closed], widths)

    def _information(self, phase: int) -> Array:
        """V of a phase: public."""
        return np.asarray(self.ridge * np.eye(self.dim) + self._state.grams[phase])

    def _logged_row(self, x: Array) -> Raw[Array]:
        """A choice: its arm is public."""
        short = shortened(x)
        self._state.grams[self._steps] += np.outer(short, short)
        return super()._logged_row(x)

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        low, high = self.rewards
        self._state.prefix.absorb(lambda x, r, out: add_reward(x, r, low, high, out), row, reward)

    def _update(self, released: Released) -> None:
        """Of the phase that has just closed; done again, it is the same."""
        state, closed = self._state, self._steps
        assert self.subgaussian is not None
        inverse = np.linalg.inv(self._information(closed - 1))
        state.sums[closed] = released
        state.thetas[closed - 1] = inverse @ (state.sums[closed] - state.sums[closed - 1])
        moved = self.mechanism.sigma**2 + (self.ridge * self.radius) ** 2
        state.covariances[closed - 1] = self.subgaussian**2 * inverse + moved * inverse @ inverse

    def _releases(self, steps: int) -> tuple[GaussianRelease, ...]:
        moved = self._sensitivity, steps, self.max_rounds_per_person or 1
        statistic = f"sums of r x, {self.dim} numbers, one for each phase"
        return (self.mechanism.entry("phases", statistic, *moved, relation=self._relation),) if steps else ()

    @property
    @owner_only
    def theta(self) -> Array:
        """The estimate from the last phase that is over, of rewards less the middle of their range: a function of noisy
        sums and of public arms."""
        closed = self._steps
        return self._state.thetas[closed - 1].copy() if closed else np.zeros(self.dim)
