"""`Recursive` on integers: C X from ten sums that are rounded at each step, and a bound on what the rounding adds.

C has coefficients c_k = first [k = 0] + sum_i v_i r_i^k. On the grid (mechanisms.grid) v_i and `first` are multiples of
2^-16 and r_i of 2^-30: public whole numbers V_i, F and R_i. Kept are whole numbers S_i, in units of 2^-f cells:

    S_i <- floor(R_i S_i / 2^30) + 2^f X,        Y = sum_i V_i S_i + 2^f F X + Z,        in steps g = h 2^-(16+f).

Sensitivity. Without the floor S_i would be sum_s r_i^(t-s) 2^f X_s, and Y - Z = C X exactly. The floor takes away less
than 1 at each step, so S_i is below that by less than 1 + r_i + r_i^2 + ... = 1 / (1 - r_i), in any run. In two runs,
whatever they sum and whatever later users do, Y - Z therefore differs by C (X - X') and at most
    e = sum_i V_i / (1 - r_i)    steps
in each number of each release: together at most e g sqrt(leaves size) in norm. This is added to the sensitivity, over
c_0, which is no more than any column norm; f is large enough for it to be less than 2^-13 of D.

Adaptive users. What is rounded away depends on all X so far, and later users' X on earlier releases; so the shift of Y
does, too, even where one X was replaced, and the theorem that mechanisms.continual cites, for Y linear in X, does not
cover it. But given all earlier releases the shift at each step is fixed, and the squares of the shifts of a run add up
to at most (mu sigma)^2 whatever was released. Gaussian mechanisms with such a bound compose to mu-GDP, each chosen by
the releases before it (Smith & Thakurta 2022, arXiv:2210.17520).

Room. |S_i| <= 2^f |X| + 1 / (1 - r_i), so that `capacity` allows for f bits fewer. R_i S_i has more than 64: S_i is
split into s 2^30 + l, 0 <= l < 2^30, and the product over 2^30 is R_i s + floor(R_i l / 2^30). Y as in mechanisms.grid.

Decoder. B, post-processing, is C backwards: X^ = (Y - sum_i v_i r_i S^_i) / c_0, then S^_i <- r_i S^_i + X^, in floats.
The first r_i is the discount, so the released prefix is the first S^_i.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reticent.data import Array, Exact, Integers, Released
from reticent.errors import BadState
from reticent.kernels.continual import BACKWARDS, ContinualState, PrefixState
from reticent.kernels.recursive import DECAY_BITS, advance, close_known, combine
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.grid import CELL_BITS, COEFFICIENT_BITS, Grid, on_grid
from reticent.mechanisms.recursive import Exponentials, Recursive, sum_norm
from reticent.privacy.noise import Source

SLACK_BITS = 13  # the roundings add less than 2^-13 of D to the sensitivity


class Coefficients(NamedTuple):
    """Whole numbers: V, F and R."""

    weights: Integers
    first: int
    decay: Integers


@dataclass(frozen=True, kw_only=True)
class RecursiveGrid(Grid):
    """`real`, a Recursive, on integers, with discrete Gaussian noise of parameter sigma.

    Guarantee: mu-GDP for mu = column_norm sensitivity(D) / sigma, up to the loss of privacy.discrete.
    Reference: as Grid and Recursive; adaptive users: Smith & Thakurta 2022 (above).
    Departure: the rounded recursion, with the bound above.
    """

    @property
    def step(self) -> float:
        return math.ldexp(self.cell, -COEFFICIENT_BITS - self.fraction)

    @property
    def capacity(self) -> int:
        return (1 << (62 - self.fraction)) // self._most

    @property
    def fading(self) -> float:
        return math.ldexp(float(self.coefficients.decay[0]), -DECAY_BITS)

    @property
    def kept(self) -> int:
        return self.coefficients.decay.size

    def sensitivity(self, exact: float, size: int | None = None) -> float:
        size = self.size if size is None else size
        error = math.ldexp(self._error * self.cell, -self.fraction) * math.sqrt(self.leaves * size)
        return super().sensitivity(exact, size) + error / self._at_zero

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return sum_norm(self._series, steps, weeks, self.spacing)

    def gain(self, steps: Array) -> Array:
        return self.real.gain(steps)

    def noise_state(self, source: Source) -> ContinualState:
        series = self._series
        weights = np.append(series.weights, self._at_zero)
        return self._state(BACKWARDS, levels=series.rates.size, weights=weights, decay=np.exp(-series.rates))

    def close(self, state: PrefixState, step: int, sums: Exact) -> None:
        if step != state.noise.step[0]:
            raise BadState("Expected the exact sums of one step after the other, got a step that is not the next.")
        close_known(state.closed, self.coefficients.decay, sums, self.fraction, state.noise.step)

    def measure(self, state: PrefixState, sums: Exact, source: Any) -> Released:
        return Released(self._measured(Exact(state.closed.copy()), sums, self._noise(state, source)) * self.step)

    def _closing(self, state: PrefixState, noise: Integers) -> tuple[Exact, Array]:
        closed = Exact(state.closed.copy())
        return closed, self._measured(closed, state.open, noise)[None]

    def _measured(self, past: Exact, sums: Exact, noise: Integers) -> Array:
        """Y in steps; `past` becomes the S of the next step."""
        weights, first, decay = self.coefficients
        out = np.empty(self.size)
        advance(past, decay, sums, self.fraction)
        combine(past, weights, first, sums, self.fraction, noise[0], out)
        return out

    @functools.cached_property
    def coefficients(self) -> Coefficients:
        series = self._exact
        whole = np.rint(np.ldexp(series.weights, COEFFICIENT_BITS)).astype(np.int64)
        decay = np.rint(np.ldexp(np.exp(-series.rates), DECAY_BITS)).astype(np.int64)
        most = (1 << DECAY_BITS) - 1
        return Coefficients(whole, round(math.ldexp(series.first, COEFFICIENT_BITS)), np.minimum(decay, most))

    @property
    def _exact(self) -> Exponentials:
        assert isinstance(self.real, Recursive)
        return self.real.series

    @functools.cached_property
    def _series(self) -> Exponentials:
        """C as it is computed: what the column norm and the decoder follow from."""
        weights, first, decay = self.coefficients
        scale = float(1 << COEFFICIENT_BITS)
        return Exponentials(weights / scale, -np.log(np.ldexp(decay.astype(np.float64), -DECAY_BITS)), first / scale)

    @property
    def _at_zero(self) -> float:
        """c_0."""
        return float(self._series.weights.sum()) + self._series.first

    @functools.cached_property
    def _error(self) -> float:
        """e g in units of 2^-f cells."""
        return float(np.sum(self._series.weights / -np.expm1(-self._series.rates)))

    @functools.cached_property
    def fraction(self) -> int:
        """f."""
        return max(
            0, math.ceil(math.log2(self._error * math.sqrt(self.leaves) / self._at_zero) + SLACK_BITS - CELL_BITS)
        )


def on_integers(mechanism: Continual, *, sensitivity: float, mu: float, sigma: float | None = None) -> Grid:
    """`on_grid`, leaf by leaf, by ten sums of the past, or as else the mechanism says."""
    kind = RecursiveGrid if isinstance(mechanism, Recursive) else mechanism.kind or Grid
    return on_grid(mechanism, sensitivity=sensitivity, mu=mu, sigma=sigma, kind=kind)
