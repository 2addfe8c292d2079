"""The square-root Toeplitz factorisation, exactly: the noise of all leaves drawn in advance."""

from dataclasses import dataclass

import numpy as np

from reticent.data import Array
from reticent.kernels.continual import TABLE, ContinualState
from reticent.mechanisms import together
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.discounted import coefficients
from reticent.privacy.noise import Source
from reticent_lab.mechanisms.toeplitz_kernel import root_squares

LARGEST_TABLE = 1 << 27  # floats: one gibibyte


@dataclass(frozen=True, kw_only=True)
class Toeplitz(Continual):
    """Prefix sums by (prefix matrix) = C C, C lower triangular Toeplitz with coefficients binom(2k, k) / 4^k.

    Guarantee: mu-GDP, mu = column_norm sensitivity / sigma, column_norm^2 = sum_{k < leaves} (binom(2k, k) / 4^k)^2.
    Memory: one vector per leaf. For long horizons use Buffered, or release on a geometric schedule of steps.
    Reference: Fichtenberger, Henzinger & Upadhyay 2022, arXiv:2202.11205.
    Departure: none.
    """

    @property
    def memory(self) -> int:
        return self.leaves

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        if weeks == 1:  # for any number of steps
            return float(self.gain(np.array([float(steps)]))[0])
        return together.sum_norm(coefficients(steps), weeks, self.spacing)

    def gain(self, steps: Array) -> Array:
        order = np.argsort(steps)
        squares = np.empty(steps.size)
        root_squares(steps[order].astype(np.int64), squares)
        out = np.empty(steps.size)
        out[order] = np.sqrt(squares)
        return out

    def noise_state(self, source: Source) -> ContinualState:
        if self.leaves * self.size > LARGEST_TABLE:
            raise ValueError(
                f"Expected at most {LARGEST_TABLE // self.size} steps of {self.size} numbers for an exact Toeplitz "
                f"table, got {self.leaves}. Buffered has the same error within 1 % in constant memory."
            )
        z = source.rows(self.leaves, self.size, self.law)
        return self._state(TABLE, table=correlate(z))

    def encoder(self) -> Array:
        return coefficients(self.leaves)


def correlate(z: Array) -> Array:
    """Row t = sum_{s <= t} f_{t-s} z_s, f_k = binom(2k, k) / 4^k."""
    from scipy import fft  # only where noise is simulated

    size = fft.next_fast_len(2 * len(z) - 1, real=True)
    filtered = fft.rfft(z, size, axis=0) * fft.rfft(coefficients(len(z)), size)[:, None]
    return np.ascontiguousarray(fft.irfft(filtered, size, axis=0)[: len(z)])
