"""Linear bandits whose rewards alone are private: episodes that end when the information has grown."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reticent import checks
from reticent.core.choices import Index
from reticent.data import Array, Exact, Integers, Raw, Released
from reticent.errors import NoHorizon
from reticent.kernels.rounds import BOUNDARY, CHOICES, Schedule
from reticent.mechanisms.memory import PrefixSums
from reticent.model.vectors import shortened
from reticent.privacy import ledger
from reticent.privacy.ledger import GaussianRelease
from reticent.process import owner_only
from reticent_papers.joint.continual import ContinualBandit
from reticent_papers.mechanisms.alone import Alone


class EpisodeState(NamedTuple):
    """gram, total, opened: of arms that were chosen, which are public here."""

    counts: Integers  # (2,): choices, and at which of them the open episode ends
    prefix: PrefixSums  # of (r - middle) x, closed, and what was released
    gram: Array  # (d, d): ridge I + sum of x x'
    total: Array  # (d,): sum of x over all choices
    opened: Array  # (1,): log det of gram when the open episode began
    fitted: Array  # (d, d): gram at the last release
    estimate: Array  # (d,): theta


def add_reward(x: Array, reward: float, low: float, high: float, out: Exact) -> None:
    """out += (r - (low + high) / 2) x, |x| cut to 1 and r to [low, high]."""
    out += (min(max(reward, low), high) - 0.5 * (low + high)) * shortened(x)


@dataclass(kw_only=True, eq=False)
class AdaCOFUL(ContinualBandit):
    """Optimism under V = ridge I + sum of x x', with an estimate that is renewed when det V has grown by 1 + growth
    since the last time: V is public, and the rewards of an episode are released once, as the noisy sum of r x.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user's reward, whatever later users do;
    features, offered and chosen arms are public. A reward is in one episode: replaced, it moves one sum by |r - r'| |x|
    <= high - low; that comes at another time or never, two sums by half as much. When an episode ends is a function of
    public arms. So the run is mu-GDP, mu = (high - low) / sigma, for any number of episodes.
    Reference: Azize 2024, PhD thesis (Univ. Lille), Algorithm 9 and appendix C.4.1; Azize & Basu 2024, "Concentrated
    Differential Privacy for Bandits", arXiv:2309.00557, AdaC-OFUL. Steps are the thesis's, checked line by line.
    Departure: exact Gaussian accounting instead of zCDP (sigma^2 is the thesis's 2 / rho). Rewards are centred,
    (low + high) / 2 times the sum of all chosen arms is added back, so that a reward that never comes counts as the
    middle. The width has three terms. Two are as printed, subgaussian sqrt(2 log(1 / failure) + log(det V / ridge^d))
    + sqrt(ridge) radius. The third bounds the noise of l episodes in the norm of V^-1: printed is sigma sqrt(l (d +
    2 sqrt(d log(1 / failure)) + 2 log(T / failure)) / m), where m = ridge + lambda0 t / 4 - 8 log(d (t + 3) / failure)
    - 2 sqrt(t log(d (t + 3) / failure)) bounds V's smallest eigenvalue if arms are drawn at random, lambda0 being that
    of their second moment. Here m is the smallest eigenvalue of V itself, which is public and assumes nothing, and
    the root of the bracket is sqrt d + sqrt(2 log(1 / failure)): for each estimate, not for all rounds at once.

    ridge: lambda, 0.1 in the thesis's experiments. growth: C. width_scale: of the width, 1 as above."""

    rewards: tuple[float, float] = (0.0, 1.0)
    ridge: float = 1.0
    growth: float = 1.0
    failure: float | None = None
    subgaussian: float | None = None
    width_scale: float = 1.0
    _state: EpisodeState = field(init=False, repr=False)
    _public = True

    def __post_init__(self) -> None:
        self._check()
        if self.horizon is None:
            raise NoHorizon("Expected a horizon for AdaCOFUL, whose number of episodes follows from it, got None.")
        checks.positive(ridge=self.ridge, growth=self.growth)
        checks.non_negative(width_scale=self.width_scale)
        checks.interval(rewards=self.rewards)
        low, high = self.rewards
        if self.failure is None:
            self.failure = 1 / max(2, self.horizon)
        checks.probability(failure=self.failure)
        if self.subgaussian is None:
            self.subgaussian = (high - low) / 2
        checks.positive(subgaussian=self.subgaussian)
        most = self.dim * math.log1p(self.horizon / (self.dim * self.ridge)) / math.log1p(self.growth)
        self._schedule = Schedule(first=float(self.horizon + 1), growth=2.0)  # no episode ends by the number of choices
        self._sensitivity = high - low
        noiseless = Alone(leaves=math.floor(most) + 1, size=self.dim, sigma=0.0)
        self.mechanism = self._with_noise(noiseless, self._sensitivity, self._mu)
        self.epsilon = ledger.check(self._planned(), self.budget)
        super().__post_init__()

    def init(self) -> EpisodeState:
        gram, opened = self.ridge * np.eye(self.dim), np.array([self.dim * math.log(self.ridge)])
        prefix = PrefixSums(self.mechanism, self.source)
        return EpisodeState(self._opened(2), prefix, gram, np.zeros(self.dim), opened, gram.copy(), np.zeros(self.dim))

    def _pick(self, features: Array) -> Index:
        state = self._state
        inverse = np.linalg.inv(state.fitted)
        far = np.sqrt(np.maximum(np.einsum("nki,ij,nkj->nk", features, inverse, features), 0.0))
        return np.asarray((features @ state.estimate + self._confidence() * far).argmax(axis=1), np.int64)

    def _confidence(self) -> float:
        """beta of the present estimate: public."""
        gram, d = self._state.fitted, self.dim
        assert self.failure is not None and self.subgaussian is not None
        grown = float(np.linalg.slogdet(gram)[1]) - d * math.log(self.ridge)
        plain = self.subgaussian * math.sqrt(grown + 2 * math.log(1 / self.failure))
        tail = math.sqrt(d) + math.sqrt(2 * math.log(1 / self.failure))
        noise = self.mechanism.sigma * math.sqrt(self._steps) * tail / math.sqrt(float(np.linalg.eigvalsh(gram)[0]))
        return self.width_scale * (plain + self.radius * math.sqrt(self.ridge) + noise)

    def _row(self, offered: Array, picked: int, place: int, name: str | None) -> Raw[Array]:
        """A choice: its arm is public, and may end the episode, after this user."""
        state, short = self._state, shortened(offered[picked])
        state.gram[:] += np.outer(short, short)
        state.total[:] += short
        return super()._row(offered, picked, place, name)

    def chosen(self, row: Raw[Array], mark: bytes) -> None:
        state = self._state
        if np.linalg.slogdet(state.gram)[1] > state.opened[0] + math.log1p(self.growth):
            state.counts[BOUNDARY] = state.counts[CHOICES]

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        low, high = self.rewards
        self._state.prefix.absorb(lambda x, r, out: add_reward(x, r, low, high, out), row, reward)

    def _update(self, released: Released) -> None:
        state, (low, high) = self._state, self.rewards
        state.opened[0] = np.linalg.slogdet(state.gram)[1]
        state.fitted[:] = state.gram
        state.estimate[:] = np.linalg.solve(state.gram, released + 0.5 * (low + high) * state.total)

    def _releases(self, steps: int) -> tuple[GaussianRelease, ...]:
        moved = self._sensitivity, steps, self.max_rounds_per_person or 1
        statistic = f"sums of r x, {self.dim} numbers, one for each episode"
        return (self.mechanism.entry("episodes", statistic, *moved, relation=self._relation),) if steps else ()

    @property
    @owner_only
    def theta(self) -> Array:
        """The estimate: a function of noisy sums and of public arms."""
        return self._state.estimate.copy()
