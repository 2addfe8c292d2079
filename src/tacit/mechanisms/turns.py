"""Noise for one person who contributes again and again, at least so many leaves apart.

In each world a person contributes to at most `turns` leaves, any two at least `apart` leaves from each other; which
ones, and how many, may differ between the worlds: turns of the two may lie between each other in any order. C is lower
triangular Toeplitz with coefficients a_k >= 0 that do not rise, R(l) = sum_k a_k a_{k+l}, which falls with l. Then C x
moves by at most D sqrt(turns K),

    K = the largest, over d = 0 .. apart, of R(d) + R(apart - d) + R(apart + d) + R(2 apart - d) + ...   (turns terms).

Proof. Let v_w be contributed to leaf s_w in one world, v'_u to s'_u in the other, z = sum_w c_{s_w} v_w - sum_u
c_{s'_u} v'_u, p_w = |v_w|^2 and q_u = |v'_u|^2. Contributions have two properties (mechanisms.together), in any pair:
|v - v'| <= D and |v|^2 + |v'|^2 <= D^2. So 2 <v_w, v_u> <= p_w + p_u, the same for v', and - 2 <v_w, v'_u> <= D^2 - p_w
- q_u. With G, G' and H the inner products of columns within the worlds and between them, none of them negative,

    |z|^2 <= sum_w p_w (G_w - H_w) + sum_u q_u (G'_u - H'_u) + D^2 sum_w H_w,

G_w = sum_v G_wv, H_w = sum_u H_wu, and G'_u, H'_u likewise. The largest p and the largest q have a sum of at most D^2,
and the right side is linear in either: so one of them is D^2 and the other 0, say q = 0, and each p_w is D^2 or 0.
What is left is D^2 times a sum over w of G_w or H_w, each at most K: the leaves of one world are `apart` from each
other, so that, from any leaf, those on one side are at least d, apart + d, ... away and those on the other at least
apart - d, 2 apart - d, ..., for some d, and R falls. There are at most `turns` such w (or u, if p = 0).

Where C has no more than `apart` bands, columns of one world do not overlap, and K = R(0): R(d) + R(apart - d) is a sum
of products a_k a_j in which no index is twice on either side. The norm is sqrt(turns) times that of a column, which who
contributes D to turns leaves attains.

With k contributions at a time z is a sum of k such (algorithms.turns): k times the norm.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from tacit import checks
from tacit.data import Array
from tacit.kernels.continual import HISTORY, ContinualState
from tacit.mechanisms.continual import Continual, row_norms
from tacit.mechanisms.discounted import FAINTEST
from tacit.privacy.noise import Source

POWERS = (0.5, 0.4, 0.3, 0.2, 0.1)


@dataclass(frozen=True, kw_only=True)
class Separated(Continual):
    """Releases sum_{s <= t} discount^(t-s) x_s by (that matrix) = B C, for a person of several turns.

    C has the first coefficients of (1 - discount x)^-power, which are positive and fall, as many as lie between two
    turns, or all of them. Which power, of POWERS, and which of the two: where the noise of late releases is smallest,
    computed. B is what undoes C, cut to the window in which discount^k can be seen on the grid.
    Guarantee: mu-GDP for replacing a person in all turns, mu = column_norm sensitivity / sigma, with the sqrt(turns K)
    above for column_norm, from the coefficients in use.
    Memory: one vector for each leaf of the window; cost of a release: the same.
    Reference: Kalinin & Lampert 2024, arXiv:2405.13763 (banded square root); Choquette-Choo et al. 2023,
    arXiv:2306.08153 (turns with a separation).
    Departure: other powers beside the square root; columns may overlap; the turns of the two worlds need not agree.
    """

    discount: float
    turns: int

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive_int(turns=self.turns)
        if not 0 < self.discount <= 1:
            raise ValueError(f"Expected discount in (0, 1], got {self.discount!r}.")

    @classmethod
    def of(cls, mechanism: Continual, turns: int) -> "Separated":
        """For the sums of that one."""
        shape = {name: getattr(mechanism, name) for name in ("leaves", "size", "apart", "sigma")}
        return cls(**shape, discount=mechanism.fading, turns=turns)

    @property
    def fading(self) -> float:
        return self.discount

    @property
    def window(self) -> int:
        if self.discount == 1:
            return self.leaves
        return min(self.leaves, 1 + math.ceil(math.log(FAINTEST) / math.log(self.discount)))

    @property
    def memory(self) -> int:
        return self.window

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return self.norm_of(self.encoder()[:steps], steps, weeks)

    def norm_of(self, coefficients: Array, steps: int, weeks: int) -> float:
        """weeks: 1, for all turns of a person; so many people's together."""
        return weeks * turns_norm(coefficients, min(self.turns, math.ceil(steps / self.apart)), self.apart)

    def gain(self, steps: Array) -> Array:
        return row_norms(self._design[1], steps)

    def noise_state(self, source: Source) -> ContinualState:
        return self._state(HISTORY, weights=self._design[1].copy(), table=np.zeros((self.window, self.size)))

    def encoder(self) -> Array:
        return self._design[0]

    @property
    def _design(self) -> tuple[Array, Array]:
        return _design(self.window, self.discount, min(self.turns, math.ceil(self.leaves / self.apart)), self.apart)


def turns_norm(coefficients: Array, turns: int, apart: int) -> float:
    """sqrt(turns K), for D = 1: the norm of a column where there is one turn. ValueError where nothing is proven."""
    if np.any(np.diff(coefficients, append=0.0) > 0):
        raise ValueError("Expected coefficients that are not negative and do not rise, got others.")
    size = coefficients.size
    overlaps = np.correlate(coefficients, coefficients, "full")[size - 1 :]
    half = np.arange(turns) // 2 * apart
    odd = np.arange(turns) % 2 == 1
    worst = 0.0
    for d in range(min(apart // 2, size) + 1):  # the same for apart - d, and no more from size on
        away = np.where(odd, half + apart - d, half + d)
        worst = max(worst, float(overlaps[away[away < size]].sum()))
    return math.sqrt(turns * worst)


@functools.lru_cache(maxsize=64)
def _design(window: int, discount: float, turns: int, apart: int) -> tuple[Array, Array]:
    """C's and B's coefficients within the window."""
    found = [
        _pair(power, bands, window, discount) for power in POWERS for bands in sorted({min(apart, window), window})
    ]
    best = min(found, key=lambda pair: turns_norm(pair[0], turns, apart) * float(np.linalg.norm(pair[1])))
    for part in best:
        part.flags.writeable = False
    return best


def _pair(power: float, bands: int, window: int, discount: float) -> tuple[Array, Array]:
    k = np.arange(1, window)
    encoder = np.concatenate([[1.0], np.cumprod(discount * (power + k - 1) / k)])
    encoder[bands:] = 0.0
    out = np.empty(window)
    for t in range(window):  # encoder * out = discount^t, one coefficient after the other
        first = max(0, t - bands + 1)
        out[t] = discount**t - encoder[t - first : 0 : -1] @ out[first:t]
    return encoder, out
