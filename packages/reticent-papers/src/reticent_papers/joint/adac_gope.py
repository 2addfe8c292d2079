"""Linear bandits with one arm set for all, whose rewards alone are private: phases that rule arms out."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reticent import checks
from reticent.core import snapshot
from reticent.core.choices import Index
from reticent.data import Array, Integers, Released
from reticent.errors import NoHorizon
from reticent.kernels.rounds import Schedule
from reticent.mechanisms.memory import PrefixSums
from reticent.privacy import ledger
from reticent.privacy.ledger import GaussianRelease
from reticent.process import owner_only
from reticent_papers.designs import g_optimal
from reticent_papers.joint.one_set import OTHERS, OneSetBandit
from reticent_papers.mechanisms.alone import Alone

SHORTEST = 1e-290  # smaller numbers have no inverse
FLAT = 1e-7  # directions in which arms are shorter than that share of the longest are none


class PhaseState(NamedTuple):
    """All but what is closed is public. Rows are phases, the open one last. Before the first round: no arms."""

    counts: Integers  # (2,): choices, and at which of them the open phase ends
    prefix: PrefixSums  # of (r - middle) u, closed, and what was released
    arms: Array  # (K, d)
    left: Integers  # (K,): plays of each arm that the open phase has still to make
    alive: npt.NDArray[np.bool_]  # (phases + 1, K): A_l
    roots: Array  # (phases + 1, d, d): R_l, with R' R = V_l^-1 on the span of A_l
    longest: Array  # (phases + 1,): g_l, the largest |R_l a| in A_l
    sums: Array  # (phases + 1, d): what was released after each number of phases
    thetas: Array  # (phases, d): the estimate from each phase, of rewards in [-1, 1]


@dataclass(kw_only=True, eq=False)
class AdaCGOPE(OneSetBandit):
    """Phases l = 1, 2, ..., with beta = 2^-l: a G-optimal design pi on the arms A that are left; each arm of the design
    is played ceil(c pi(a)) times; least squares on the phase alone, with noise; arms whose estimated gap is above
    2 beta are ruled out. With delta = failure / (K l (l + 1)), f = d + 2 sqrt(d log(2 / delta)) + 2 log(2 / delta) and
    the noise's sigma, in units in which rewards are in [-1, 1],

        c = 8 d log(4 / delta) / beta^2 + 2 d sigma sqrt(f) / beta.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user's reward, whatever later users do;
    features, offered and chosen arms are public. A phase releases sum of (r - middle) u once, u = V^-1/2 a / g, where V
    is the sum of a a' over its plan and g the largest |V^-1/2 a| on A: both are computed from the plan in use, so
    |u| <= 1 for any design, also for one that is not optimal. The rest is OneSetBandit's: the run is mu-GDP,
    mu = (high - low) / sigma, for any number of phases. The estimate is V^-1/2 g times what was released.
    Bounds: if (r - middle) / ((high - low) / 2) has mean <a, theta>, and every reward comes within its phase, then with
    probability 1 - failure no estimated <a, theta> is off by more than beta in any phase, and the best arm stays.
    Reference: Azize 2024, PhD thesis (Univ. Lille), Algorithm 8 and appendix C.3.1; Azize & Basu 2024, "Concentrated
    Differential Privacy for Bandits", arXiv:2309.00557, AdaC-GOPE. Constants are the thesis's.
    Departure: exact Gaussian accounting instead of zCDP (sigma^2 is the thesis's 2 / rho). The noise is scaled by g, as
    in appendix C.3.1, not by its bound sqrt(d / c), as in Algorithm 8, which holds for an exact design alone. Where the
    arms that are left do not span all dimensions, d is the dimension of their span: the thesis does not say. R with
    R' R = V^-1 instead of V^-1/2, which is a rotation of it; the noise has no direction. Arms take turns within a
    phase, in an order of ours. Rewards are centred, so that a reward that comes late or never counts as the middle.

    Arms are settled by the first round; a round with others is refused. failure: 1 / horizon by default. length_scale:
    of c, 1 as above; with less no bound is claimed."""

    failure: float | None = None
    length_scale: float = 1.0
    _state: PhaseState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        if self.horizon is None:
            raise NoHorizon("Expected a horizon for AdaCGOPE, whose number of phases follows from it, got None.")
        checks.interval(rewards=self.rewards)
        checks.positive(length_scale=self.length_scale)
        if self.failure is None:
            self.failure = 1 / max(2, self.horizon)
        checks.probability(failure=self.failure)
        self._schedule = Schedule(first=float(self.horizon + 1), growth=2.0)  # no phase ends by the number of choices
        low, high = self.rewards
        phases = shortest = 0
        while shortest <= self.horizon:  # of arms in one dimension, without noise
            phases += 1
            shortest += math.ceil(self._length(phases, 1, 1, 0.0))
        self.mechanism = self._with_noise(Alone(leaves=phases, size=self.dim, sigma=0.0), high - low, self._mu)
        self.epsilon = ledger.check(self._planned(), self.budget)
        super().__post_init__()

    def init(self) -> PhaseState:
        phases, d = self.mechanism.leaves, self.dim
        return PhaseState(
            self._opened(2),
            PrefixSums(self.mechanism, self.source),
            np.zeros((0, d)),
            np.zeros(0, np.int64),
            np.ones((phases + 1, 0), np.bool_),
            np.zeros((phases + 1, d, d)),
            np.ones(phases + 1),
            np.zeros((phases + 1, d)),
            np.zeros((phases, d)),
        )

    # the plan of a phase

    def _length(self, phase: int, d: int, arms: int, sigma: float) -> float:
        """c_l, for noise of that sigma on rewards in [-1, 1]."""
        assert self.failure is not None
        beta, delta = 2.0**-phase, self.failure / (arms * phase * (phase + 1))
        f = d + 2 * math.sqrt(d * math.log(2 / delta)) + 2 * math.log(2 / delta)
        return self.length_scale * (8 * d * math.log(4 / delta) / beta**2 + 2 * d * sigma * math.sqrt(f) / beta)

    def _plan(self, phase: int) -> None:
        """Of the phase after so many: a function of public arms and of releases; done again, it is the same."""
        state = self._state
        alive = np.flatnonzero(state.alive[phase])
        _, sizes, axes = np.linalg.svd(state.arms[alive], full_matrices=False)
        d = int(np.count_nonzero(sizes > FLAT * sizes[0]))
        state.left[:] = 0
        state.roots[phase], state.longest[phase] = 0.0, 1.0
        if d == 0:  # all arms are 0
            state.left[alive[0]] = math.ceil(self._length(phase + 1, 1, len(state.arms), self._noise))
            return
        inside = axes[:d] / sizes[:d, None]  # coordinates in which arms are neither long nor flat
        points = state.arms[alive] @ inside.T
        weights = g_optimal(points)
        state.left[alive] = np.ceil(self._length(phase + 1, d, len(state.arms), self._noise) * weights)
        values, vectors = np.linalg.eigh(np.einsum("k,ki,kj->ij", state.left[alive].astype(np.float64), points, points))
        state.roots[phase, :d] = (vectors / np.sqrt(values)).T @ inside
        state.longest[phase] = np.linalg.norm(state.arms[alive] @ state.roots[phase].T, axis=1).max()

    @property
    def _noise(self) -> float:
        """Sigma in units in which rewards are in [-1, 1]: the root of the thesis's 2 / rho."""
        low, high = self.rewards
        return self.mechanism.sigma / ((high - low) / 2)

    def _problem_of(self, arms: Array) -> str | None:
        if 0 < np.abs(arms).max(initial=0.0) < SHORTEST:
            return f"Expected arms that are all 0 or have a number of at least {SHORTEST:g}, got smaller ones."
        return None if not len(self._state.arms) or np.array_equal(arms, self._state.arms) else OTHERS

    def _settle(self, arms: Array) -> None:
        left, alive = np.zeros(len(arms), np.int64), np.ones((self.mechanism.leaves + 1, len(arms)), np.bool_)
        self._state = self._state._replace(arms=arms, left=left, alive=alive)

    # choices and estimates

    def _pick(self, features: Array) -> Index:
        """People of a batch get the same arm: a batch is one state. The arms of the first choice are everybody's."""
        if not len(self._state.arms):
            self._settle(np.array(features[0]))
            self._plan(self._steps)
        return np.full(len(features), self._state.left.argmax())

    def _played(self, arm: int) -> Array:
        state, phase = self._state, self._steps
        planned = state.left[arm] > 0
        state.left[arm] -= planned
        return np.asarray(planned * (state.roots[phase] @ state.arms[arm]) / state.longest[phase])

    def _done(self) -> bool:
        return not self._state.left.any()

    def _update(self, released: Released) -> None:
        """Of the phase that has just closed; done again, it is the same."""
        state, closed, (low, high) = self._state, self._steps, self.rewards
        phase = closed - 1
        state.sums[closed] = released
        noisy = (state.sums[closed] - state.sums[phase]) / ((high - low) / 2)
        state.thetas[phase] = state.longest[phase] * state.roots[phase].T @ noisy
        if len(state.arms):
            gaps = state.arms @ state.thetas[phase]
            gaps = gaps[state.alive[phase]].max() - gaps
            state.alive[closed] = state.alive[phase] & (gaps <= 2 * 2.0**-closed)
            self._plan(closed)

    def _releases(self, steps: int) -> tuple[GaussianRelease, ...]:
        return self._release(steps, f"sums of r u, {self.dim} numbers, one for each phase")

    @property
    @owner_only
    def theta(self) -> Array:
        """The estimate from the last phase that is over, of rewards less the middle of their range: a function of noisy
        sums and of public arms."""
        closed, (low, high) = self._steps, self.rewards
        return np.asarray(self._state.thetas[closed - 1] * (high - low) / 2) if closed else np.zeros(self.dim)

    # what a file has beside

    def _saved(self) -> dict[str, Any]:
        return super()._saved() | {"arms": snapshot.encoded(self._state.arms)}

    def _resume(self, body: dict[str, Any], where: str) -> None:
        self._settle(snapshot.decoded(body["arms"]))
        super()._resume(body, where)
