"""Discounted prefix sums: earlier steps fade, and the noise does not grow with the number of releases."""

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent.data import Array, Released
from reticent.kernels.continual import HISTORY, ContinualState, noise_step
from reticent.mechanisms import together
from reticent.mechanisms.continual import Continual, row_norms
from reticent.mechanisms.grid import COEFFICIENT_BITS
from reticent.privacy.noise import Simulated, Source

FAINTEST = 2.0 ** -(COEFFICIENT_BITS + 1)  # smaller coefficients are 0 on the grid


@dataclass(frozen=True, kw_only=True)
class Discounted(Continual):
    """Releases sum_{s <= t} discount^(t-s) x_s by the square root of that Toeplitz matrix, for any number of leaves.

    With f_k = binom(2k, k) / 4^k the coefficients discount^k f_k convolved with themselves are discount^k, so encoder
    and decoder are both lower triangular Toeplitz with discount^k f_k, which is non-negative.
    Guarantee: mu-GDP, mu = column_norm sensitivity / sigma, column_norm^2 = sum_k (discount^k f_k)^2: bounded for every
    number of leaves (1.462^2 at discount .99), since f_k <= 1 makes it at most 1 / (1 - discount^2).

    For ever. The infinite encoder C has the same column c_0, c_1, ... below each diagonal entry, so all its columns
    have the norm above, and those of its first n rows no more. Nothing here depends on *when* steps close: the discount
    is by the step, so the bound is that of every sequence of release times. A contribution, late or not, is in one
    leaf; replaced, it moves C x by one column, or by two where it comes at another time (mechanisms.continual; the c_k
    are non-negative). B is applied to the released C x + z, whatever B is.
    Window: from the w-th on the c_k are below 2^-17, which the grid rounds to 0. There C has w coefficients, the norm
    is recomputed from them, and leaf s is in no y_t from t = s + w on: its exact sum can be dropped. B, too, is cut to
    w coefficients, which is post-processing: then B C has discount^k for k < w, less than discount^w for the w after
    that, and zeros: what a user contributed is gone after 2 w steps. In floats (experiments) B alone is cut.
    Memory: one vector for each leaf of the window; w is about 10 / (1 - discount), or all leaves where that is more.
    Reference: Fichtenberger, Henzinger & Upadhyay 2022, arXiv:2202.11205 (without discount).
    Departure: none.
    """

    discount: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.discount <= 1:
            raise ValueError(f"Expected discount in (0, 1], got {self.discount!r}.")

    @property
    def fading(self) -> float:
        return self.discount

    @property
    def window(self) -> int:
        return self._coefficients.size

    @property
    def memory(self) -> int:
        return self.window

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return together.sum_norm(self._coefficients[:steps], weeks, self.spacing)

    def gain(self, steps: Array) -> Array:
        return row_norms(self._coefficients, steps)

    def noise_state(self, source: Source) -> ContinualState:
        return self._state(HISTORY, weights=self._coefficients.copy(), table=np.zeros((self.window, self.size)))

    def encoder(self) -> Array:
        return self._coefficients

    @functools.cached_property
    def _coefficients(self) -> Array:
        """discount^k f_k within the window. They fall, so that those above the faintest come first."""
        most = self.leaves
        if self.discount < 1:
            most = min(most, 1 + math.ceil(math.log(FAINTEST) / math.log(self.discount)))
        out: Array = coefficients(most) * self.discount ** np.arange(most)
        return out[: max(1, np.count_nonzero(out > FAINTEST))]


def coefficients(count: int) -> Array:
    """f_0 .. f_{count-1}, f_k = binom(2k, k) / 4^k, by f_k = f_{k-1} (2k - 1) / (2k)."""
    k = np.arange(1, count)
    out: Array = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])
    return out


@functools.lru_cache(maxsize=16)
def gains(mechanism: Continual) -> Array:
    """g, for all leaves of the mechanism: the response of its own noise state to one unit of noise."""
    state, fading = _of_one_number(mechanism).noise_state(Simulated(0)), mechanism.fading
    mixed, out = np.zeros(mechanism.leaves), np.zeros(1)
    for k in range(mechanism.leaves):
        noise_step(state, np.full((1, 1), float(k == 0)), out)
        mixed[k] = out[0]
    made: Array = np.cumsum(mixed - fading * np.concatenate([[0.0], mixed[:-1]]))
    made.setflags(write=False)
    return made


def totals(released: list[Released], fading: float) -> Array:
    """S at each release, from all of them."""
    found = np.array(released)
    before = np.concatenate([np.zeros_like(found[:1]), found[:-1]])
    out: Array = np.cumsum(found - fading * before, axis=0)
    return out


def _of_one_number(mechanism: Continual) -> Continual:
    real: Any = getattr(mechanism, "real", None)
    inner = {} if real is None else {"real": dataclasses.replace(real, size=1)}
    return dataclasses.replace(mechanism, size=1, **inner)
