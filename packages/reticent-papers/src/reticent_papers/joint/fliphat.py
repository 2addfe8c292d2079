"""Linear bandits with a sparse parameter in many dimensions: episodes that are forgotten once they have taught."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reticent import checks
from reticent.core.choices import Index
from reticent.data import Array, Exact, Integers
from reticent.kernels.block import Block
from reticent.kernels.rounds import BOUNDARY, CHOICES, outcome
from reticent.privacy import relations
from reticent.privacy.ledger import GaussianRelease
from reticent.process import owner_only
from reticent_papers.epochs import EPOCH, EpochBandit
from reticent_papers.queries import Queries, Query

SEEN = 2  # in counts: rewards of the open episode
SHARE = 0.8  # of the squared budget, for the sum of y x: by a few runs in `sparse`; 0.7 to 0.9 are as good


class SparseState(NamedTuple):
    counts: Integers  # (4,): choices, the choice count at which the episode ends, its rewards, episodes closed
    rows: Exact  # (horizon, d): arms of the open episode
    values: Exact  # (horizon,): their rewards, centred, in [-1, 1]
    played: Array  # (d,): theta, from the last episode's releases, at most `sparsity` numbers that are not 0


@dataclass(kw_only=True, eq=False)
class Fliphat(EpochBandit):
    """Episodes of doubling length. Within one: the arm that is best by the last estimate (any arm, while there is
    none). At its end: noisy iterative hard thresholding on this episode's data, which are then forgotten.

    The oracle asks for u = sum of y x, and then, for each unit vector p along the estimate, for v = sum of x <x, p>.
    With c = <p, v> the length of least loss along p is z = <p, u> / c, and a gradient step of size 1 / c leads to
    (u - z (v - c p)) / c, of which the `sparsity` largest numbers are kept.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: a user's
    datum is in the `iterations` sums of one episode, whose mu^2 add up to the whole budget; episodes end at public
    numbers of choices. |x| is cut to 1 and y to [-1, 1], so a replaced user moves u by at most 2 and v by at most 1 (a
    difference of two projections). v is charged sqrt 2: so a reward that comes in another episode, or never, is
    covered, which moves two sums by at most 1 each. To keep the largest of released numbers is free.
    Reference: Chakraborty, Roy & Basu 2024, "FLIPHAT: Joint Differential Privacy for High Dimensional Sparse Linear
    Bandits", arXiv:2405.14038; Cai, Wang & Zhang 2021, arXiv:1902.04495 (noisy iterative hard thresholding).
    Departure: of the paper we had the abstract, of its steps the authors' public code; not checked line by line against
    the text. Gaussian noise on whole sums and the largest of what is released, instead of Laplace noise in each of s
    selections ("peeling"): for |x| <= 1 that would be more noise (docs/papers/fliphat.md). Exact Gaussian accounting.
    The gradient is asked for in two parts, since u stays; its second part counts where it exceeds 2 sqrt(log d)
    standard deviations of its noise. The step follows from what was released, not from a constant. Few iterations, the
    same number in each episode. Rewards are centred at the middle of their range: a model with another mean at x = 0
    needs a constant feature. The first episode has `first` choices, not one. |theta| <= radius, not its l1 norm.

    sparsity: s, how many features matter. iterations: sums that are released of an episode; 1 keeps the largest of u,
    which is enough where features are not correlated."""

    rewards: tuple[float, float] = (-1.0, 1.0)
    link: str = "identity"
    first: int = 100
    sparsity: int = 5
    iterations: int = 2
    _state: SparseState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        if self._link.bounded:
            raise ValueError(f"Expected link='identity', got {self.link!r}.")
        checks.positive_int(sparsity=self.sparsity, iterations=self.iterations)
        self._half = (self.rewards[1] - self.rewards[0]) / 2
        self._asked = self._queries()
        self.epsilon = self._asked.epsilon
        super().__post_init__()

    def _queries(self) -> Queries:
        """What is asked of the people of one episode."""
        later = self.iterations - 1
        share = SHARE if later else 1.0
        moments = Query("moments", "sum of y x", self.dim, 2.0, share)
        products = [
            Query(f"product {k + 1}", "sum of x <x, p>", self.dim, math.sqrt(2.0), (1 - share) / later)
            for k in range(later)
        ]
        grid = bool(self.source.private) and self.budget.epsilon < math.inf
        return Queries(queries=(moments, *products), budget=self.budget, relation=relations.REPLACE, grid=grid)

    # the algorithm

    def init(self) -> SparseState:
        assert self.horizon is not None
        counts = np.array([0, self._ends[0], 0, 0])
        rows, values = Exact(np.zeros((self.horizon, self.dim))), Exact(np.zeros(self.horizon))
        return SparseState(counts, rows, values, np.zeros(self.dim))

    def _close(self) -> None:
        state, episode, seen = self._state, self.closed, int(self._state.counts[SEEN])
        rows, values = state.rows[:seen].copy(), Exact(state.values[:seen].copy())
        state.rows[:seen], state.values[:seen] = 0.0, 0.0  # forgotten before anything is released, so released once
        state.counts[SEEN], state.counts[EPOCH], state.counts[BOUNDARY] = 0, episode + 1, self._ends[episode + 1]
        rows = Exact(rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True)))
        state.played[:] = self._estimate(rows, values, self._length(episode))

    def _estimate(self, x: Exact, y: Exact, count: int) -> Array:
        """Noisy iterative hard thresholding. count: choices of the episode, which are public."""
        asked, longest = self._asked, self.radius / self._half
        u = asked.release(0, moments(x, y), count, self.source)
        theta = largest(u, self.sparsity)
        for k in range(1, self.iterations):
            p = theta / max(float(np.linalg.norm(theta)), np.finfo(float).tiny)
            v = asked.release(k, products(x, p), count, self.source)
            curvature = max(float(p @ v), asked.std(k, count), np.finfo(float).tiny)
            length = min(max(float(p @ u) / curvature, 0.0), longest)
            off = v - curvature * p  # what the product has beyond p itself, where it is more than noise
            off[np.abs(off) <= asked.std(k, count) * 2 * math.sqrt(math.log(max(self.dim, 2)))] = 0.0
            theta = largest((u - length * off) / curvature, self.sparsity)
        return theta * min(1.0, longest / max(float(np.linalg.norm(theta)), np.finfo(float).tiny))

    def _pick(self, features: Array) -> Index:
        if not self._state.played.any():
            return np.asarray(self.policy.random(len(features)) * features.shape[1], np.int64)
        return np.asarray(np.einsum("nki,i->nk", features, self._state.played).argmax(axis=1), np.int64)

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        chance = 1.0 if self._state.played.any() else 1 / len(features)
        return lambda: chance

    def _learn(self, x: Array, reward: float) -> None:
        state, seen = self._state, int(self._state.counts[SEEN])
        state.rows[seen] = x
        state.values[seen] = min(max((reward - sum(self.rewards) / 2) / self._half, -1.0), 1.0)
        state.counts[SEEN] = seen + 1

    def _rounds(self, block: Block, start: int) -> int:
        counts = self._state.counts
        end = min(len(block.noise), start + int(counts[BOUNDARY] - counts[CHOICES]))
        for t, index in enumerate(self._pick(block.arms[start:end]), start):
            if outcome(block, t, int(index)):
                counts[CHOICES] += 1
                self._learn(block.arms[t, index], float(block.reward[t]))
        return end

    def _releases(self) -> tuple[GaussianRelease, ...]:
        return self._asked.releases()

    def _plan_numbers(self) -> list[float]:
        return [*super()._plan_numbers(), self._half]

    @property
    @owner_only
    def theta(self) -> Array:
        """The estimate that arms are chosen by: a function of noisy sums."""
        return np.asarray(self._state.played * self._half)


def moments(x: Exact, y: Exact) -> Exact:
    """u = sum of y x."""
    return Exact(x.T @ y)


def products(x: Exact, p: Array) -> Exact:
    """v = sum of x <x, p>."""
    return Exact(x.T @ (x @ p))


def largest(vector: Array, count: int) -> Array:
    """The `count` numbers of largest size, 0 elsewhere; of equal ones the first."""
    kept = np.argsort(-np.abs(vector), kind="stable")[:count]
    out: Array = np.zeros(len(vector))
    out[kept] = vector[kept]
    return out
