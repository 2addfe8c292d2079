"""Bandits without features, whose rewards alone are private: episodes of one arm that double its plays."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reticent import checks
from reticent.core.choices import Index
from reticent.data import Array, Integers, Released
from reticent.errors import NoHorizon
from reticent.kernels.rounds import Schedule
from reticent.mechanisms.memory import PrefixSums
from reticent.privacy import ledger
from reticent.privacy.ledger import GaussianRelease
from reticent.process import owner_only
from reticent_papers.joint.one_set import OneSetBandit
from reticent_papers.mechanisms.alone import Alone

ARM, PLAYS = 0, 1  # in episodes
UNIT = "Expected the unit vectors as arms, as many as dimensions and in their order, got others."


class EpisodeState(NamedTuple):
    """All but what is closed is public. Rows of episodes and sums are episodes, the open one last."""

    counts: Integers  # (2,): choices, and at which of them the open episode ends
    prefix: PrefixSums  # of r - middle, closed, and what was released
    episodes: Integers  # (episodes + 1, 2): which arm, and how often it was played
    wanted: Integers  # (1,): plays of the open episode
    sums: Array  # (episodes + 1, 1): what was released after each number of episodes
    estimate: Array  # (K,): the noisy mean of each arm's last episode that is over, less the middle
    last: Integers  # (K,): how many plays that episode had


@dataclass(kw_only=True, eq=False)
class AdaCUCB(OneSetBandit):
    """Every arm is played once. Then episodes, in each the arm of the largest index, until it has been played twice as
    often as before. With n, the plays in an arm's last episode, the noise's sigma on rewards in [0, 1], and t the first
    round of the episode, the index is

        (noisy sum of that episode) / n + sqrt((1 / (2 n) + 2 sigma^2 / n^2) optimism log t).

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user's reward, whatever later users do;
    offered and chosen arms are public. An episode releases its sum of r - middle once (OneSetBandit, u = 1): the run is
    mu-GDP, mu = (high - low) / sigma, for any number of episodes. It is divided by n, a number of plays.
    Reference: Azize 2024, PhD thesis (Univ. Lille), Algorithm 7 and equation (5.4); Azize & Basu 2024, "Concentrated
    Differential Privacy for Bandits", arXiv:2309.00557, AdaC-UCB. Constants are the thesis's.
    Departure: exact Gaussian accounting instead of zCDP (2 sigma^2 is the thesis's 1 / rho). n is counted; the thesis
    has half of all plays of the arm, which is the same from its second episode on, and 1/2 instead of 1 in the first.
    Rewards are centred, so that a reward that comes late or never counts as the middle. People of a batch get the same
    arm, so that an episode may have more plays than planned.

    Arms are the unit vectors: nothing is learnt of an arm from another. optimism: beta, 1 as in the thesis's
    experiments; its regret bound is for more than 3."""

    optimism: float = 1.0
    _state: EpisodeState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        if self.horizon is None:
            raise NoHorizon("Expected a horizon for AdaCUCB, whose number of episodes follows from it, got None.")
        checks.interval(rewards=self.rewards)
        checks.non_negative(optimism=self.optimism)
        self._schedule = Schedule(first=float(self.horizon + 1), growth=2.0)  # none ends by the number of choices
        low, high = self.rewards
        most = self.dim * (1 + math.log2(max(1.0, self.horizon / self.dim)))  # where all arms are played as often
        noiseless = Alone(leaves=math.floor(most) + 1, size=1, sigma=0.0)
        self.mechanism = self._with_noise(noiseless, high - low, self._mu)
        self.epsilon = ledger.check(self._planned(), self.budget)
        super().__post_init__()

    def init(self) -> EpisodeState:
        episodes, arms = self.mechanism.leaves, self.dim
        return EpisodeState(
            self._opened(2),
            PrefixSums(self.mechanism, self.source),
            np.zeros((episodes + 1, 2), np.int64),
            np.ones(1, np.int64),
            np.zeros((episodes + 1, 1)),
            np.zeros(arms),
            np.zeros(arms, np.int64),
        )

    def _problem_of(self, arms: Array) -> str | None:
        return None if np.array_equal(arms, np.eye(self.dim)) else UNIT

    def _pick(self, features: Array) -> Index:
        return np.full(len(features), self._state.episodes[self._steps, ARM])

    def _played(self, arm: int) -> Array:
        open_one = self._state.episodes[self._steps]
        planned = arm == open_one[ARM]
        open_one[PLAYS] += planned
        return np.full(1, float(planned))

    def _done(self) -> bool:
        return bool(self._state.episodes[self._steps, PLAYS] >= self._state.wanted[0])

    def _update(self, released: Released) -> None:
        """Of the episode that has just closed; done again, it is the same."""
        state, closed = self._state, self._steps
        arm, plays = state.episodes[closed - 1]
        state.sums[closed] = released
        state.last[arm] = max(1, plays)
        state.estimate[arm] = (state.sums[closed] - state.sums[closed - 1])[0] / state.last[arm]
        following = closed if closed < self.dim else int(self._index().argmax())
        over = state.episodes[:closed]
        state.episodes[closed] = following, 0
        state.wanted[0] = max(1, over[over[:, ARM] == following, PLAYS].sum())

    def _index(self) -> Array:
        """Of each arm, less the middle of the range of rewards."""
        state, (low, high) = self._state, self.rewards
        variances = (high - low) ** 2 / (2 * state.last) + 2 * (self.mechanism.sigma / state.last) ** 2
        return np.asarray(state.estimate + np.sqrt(variances * self.optimism * math.log(self.choices + 1)))

    def _releases(self, steps: int) -> tuple[GaussianRelease, ...]:
        return self._release(steps, "sums of r, one number for each episode of one arm")

    @property
    @owner_only
    def theta(self) -> Array:
        """Of each arm, the mean reward in its last episode that is over, less the middle of their range: noisy sums
        over public counts."""
        return self._state.estimate.copy()
