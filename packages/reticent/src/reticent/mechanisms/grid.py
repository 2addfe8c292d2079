"""Continual release on integers: what runs wherever privacy is claimed for people's data.

Floating-point noise has holes: some sums can produce a value that others cannot. Here everything that touches data is
an integer. A factorisation (prefix matrix) = B C releases Y = C X + Z:

    X  leaf sums of contributions, each rounded to whole cells h, a public power of two. Exact, int64: any order of
       adding, any split over workers gives the same bits.
    C  the mechanism's coefficients, rounded to multiples of 2^-q: whole numbers m, public.
    Z  exact discrete Gaussians, in steps of g = h 2^-q.

Y is what is released. The floats of Y g, and B applied to them, are post-processing; B is what undoes the rounded C, so
that B C is the prefix matrix again and the rounding of C costs nothing.

Sensitivity. A contribution v becomes v^ = h round(v / h), each coordinate at most h / 2 away. So for any two,
|v^ - v'^| <= |v - v'| + h sqrt(size), and the norm of the stacked (v^, v'^) is at most that of (v, v') plus
h sqrt(size / 2); both are at most D + h sqrt(size), which is what late contributions need too (mechanisms.continual;
the rounded m are non-negative as well). Floats that computed v may have overshot its bound by some roundings, for which
there is LENGTH_SLACK. A v that is longer than that, or no number at all, can only come from arithmetic that has gone
wrong: it counts as no contribution, which is a distance of at most D from any other.
The largest column norm is recomputed from the m that are used.

Size. Cells are small against D / sqrt(size), so the rounding costs less than 1e-4 of sigma. |X| <= choices (D / h + 1):
`capacity` says how many choices keep that within 62 bits, and no more are accepted. Twelve sigma have to be within 61
bits of noise: for budgets so small that they are not, cells are larger, up to D / sqrt(size) / 2^4, which costs up to
a sixteenth of sigma; and a plan that needs more is refused. C X needs more than 64 bits: X is
split into a high and a low part, and the sums of both are carried into the one representation of their total.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent.data import Array, Exact, Integers, Released
from reticent.errors import HorizonReached, NotSecure
from reticent.kernels.continual import HISTORY, NOTHING, Closing, ContinualState, PrefixState, close_on_grid
from reticent.kernels.summing import add_rounded
from reticent.mechanisms import together
from reticent.mechanisms.continual import Continual, RowAdder, row_norms
from reticent.privacy import discrete
from reticent.privacy.noise import Source

CELL_BITS = 14  # h = D / sqrt(size) / 2^14, rounded down to a power of two
COEFFICIENT_BITS = 16  # q
SPLIT = 24  # bits of the low part
MOST_LEAVES = 1 << 14  # of a mechanism that keeps all leaves: a release costs as much as there are leaves
COARSEST_BITS = 4  # the same for the largest cells
LENGTH_SLACK = 2.0**-30  # relative, of the longest contribution
ROOM = 12  # sigmas of noise for which there has to be room; beyond them is a probability of 1e-32


@dataclass(frozen=True, kw_only=True)
class Grid(Continual):
    """`real` on integers, with discrete Gaussian noise of parameter sigma.

    Guarantee: mu-GDP for mu = column_norm sensitivity(D) / sigma, up to the loss of privacy.discrete.
    Reference: Canonne, Kamath & Steinke 2020, arXiv:2004.00010; Mironov 2012 for the holes.
    Departure: none.
    """

    real: Continual  # the same mechanism on real numbers
    cell: float
    longest: float  # contribution that counts: D and its slack

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window > MOST_LEAVES:
            raise NotSecure(
                f"Expected at most {MOST_LEAVES} steps of a {type(self.real).__name__} mechanism with secure "
                f"noise, got {self.window}: use longer steps, or source=Simulated(seed) in experiments."
            )

    @property
    def step(self) -> float:
        """g: noise is a multiple of it."""
        return math.ldexp(self.cell, -COEFFICIENT_BITS)

    @property
    def cells(self) -> float:
        """The discrete Gaussian's parameter, in steps."""
        return self.sigma / self.step

    @property
    def capacity(self) -> int:
        """How many choices cannot overflow."""
        return (1 << 62) // self._most

    @property
    def fading(self) -> float:
        return self.real.fading

    @property
    def window(self) -> int:
        return self.real.window

    @property
    def kept(self) -> int:
        """Vectors of whole numbers that are kept of closed steps."""
        return self.window

    @property
    def memory(self) -> int:
        return 2 * self.real.memory

    def sensitivity(self, exact: float, size: int | None = None) -> float:
        return exact * (1 + LENGTH_SLACK) + self.cell * math.sqrt(self.size if size is None else size)

    def numbers(self, steps: int, size: int | None = None) -> int:
        """How many integers `steps` releases draw, at most."""
        return 2 * steps * (self.size if size is None else size)

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        rounded = np.ldexp(self.encoder_cells[:steps].astype(np.float64), -COEFFICIENT_BITS)
        return together.sum_norm(rounded, weeks, self.spacing)

    def gain(self, steps: Array) -> Array:
        return row_norms(self._decoder, steps)

    def noise_state(self, source: Source) -> ContinualState:
        return self._state(HISTORY, weights=self._decoder.copy(), table=np.zeros((self.window, self.size)))

    def init(self, source: Any) -> PrefixState:
        """The state before the first leaf; the first noise is drawn ahead from here on."""
        source.expect(self.size, self.cells)
        opened, closed = Exact(np.zeros(self.size, np.int64)), Exact(np.zeros((self.kept, self.size), np.int64))
        fading, released = np.array([self.fading]), Released(np.zeros(self.size))
        return PrefixState(opened, closed, fading, self.noise_state(source), released)

    def encode(self, v: Array) -> Integers:
        """A contribution in whole cells; zero for one that no user can make (see above)."""
        out: Integers = np.zeros(self.size, np.int64)
        self._add(v, out)
        return out

    def _add(self, v: Array, out: Integers) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            inside = bool(v @ v <= self.longest**2)  # false for NaN and infinities as well
        if inside:
            add_rounded(v, self.cell, out)

    def absorb(self, state: PrefixState, add: Callable[[Exact], None]) -> None:
        v = Exact(np.zeros(self.size))
        add(v)
        self._add(v, state.open)

    def _sum(self, rows: Array, rewards: Array, adder: RowAdder, out: Exact) -> None:
        adder.add(rows, rewards, self.cell, self.longest, out)

    def release(self, state: PrefixState, source: Any, closing: Closing = NOTHING) -> Released:
        closed, values = self._closing(state, self._noise(state, source))
        close_on_grid(state, closed, values * self.step, closing)
        return state.released

    def _closing(self, state: PrefixState, noise: Integers) -> tuple[Exact, Array]:
        """The rows of `closed` that are to change, and the noisy leaf. What is written here already is a row
        that this step does not read: an interrupted release writes it again."""
        return Exact(state.closed[:0]), self._leaf(state, noise)

    def close(self, state: PrefixState, step: int, sums: Exact) -> None:
        """The exact sums of the next step, which has been released by whomever. Steps between may be missing: those
        that have left the window."""
        state.closed[step % len(state.closed)] = sums
        state.noise.step[0] = step + 1

    def measure(self, state: PrefixState, sums: Exact, source: Any) -> Released:
        """The next leaf, Y = C X + Z in floats of the grid: `sums` and those of earlier steps with fresh noise. It
        closes no step."""
        state.open[:] = sums
        noisy = Released(self._leaf(state, self._noise(state, source))[0] * self.step)
        state.open[:] = 0
        return noisy

    def _noise(self, state: PrefixState, source: Any) -> Integers:
        """Of the next step."""
        step = int(state.noise.step[0])
        if step >= self.leaves:
            raise HorizonReached(f"Expected at most {self.leaves} steps, and they have all been released.")
        noise: Integers = source.integers(self._draws(step), self.size, self.cells)
        return noise

    def _draws(self, step: int) -> int:
        """Vectors of noise that the next step takes."""
        return 1

    def _leaf(self, state: PrefixState, noise: Integers) -> Array:
        """Y = sum_s m_{t-s} X_s + Z over the leaves of the window, this one kept in the place of the oldest."""
        t, window = int(state.noise.step[0]), self.window
        state.closed[t % window] = state.open
        within = state.closed[: t + 1]
        m = self.encoder_cells[(t - np.arange(len(within))) % window]
        low = m @ (within & ((1 << SPLIT) - 1)) + noise
        high = m @ (within >> SPLIT) + (low >> SPLIT)
        values: Array = high * float(1 << SPLIT) + (low & ((1 << SPLIT) - 1))
        return values

    @property
    def _most(self) -> int:
        """No coordinate of a contribution has more cells: it is at most D."""
        return math.ceil(2.0 ** (CELL_BITS + 1) * math.sqrt(self.size)) + 1

    @functools.cached_property
    def encoder_cells(self) -> Integers:
        """m: the encoder's coefficients in units of 2^-q."""
        return np.rint(np.ldexp(self.real.encoder(), COEFFICIENT_BITS)).astype(np.int64)

    @functools.cached_property
    def _decoder(self) -> Array:
        """B's coefficients: the series sum_k fading^k x^k divided by that of the rounded encoder, within the window."""
        sums = self.fading ** np.arange(self.window)
        encoder = np.ldexp(self.encoder_cells.astype(np.float64), -COEFFICIENT_BITS)
        out = np.empty(self.window)
        for k in range(self.window):  # encoder * out = sums, one coefficient after the other
            out[k] = (sums[k] - encoder[k:0:-1] @ out[:k]) / encoder[0]
        return out


def cell_for(sensitivity: float, size: int) -> float:
    """h: the largest power of two that is at most sensitivity / sqrt(size) / 2^14."""
    return 2.0 ** math.floor(math.log2(sensitivity / math.sqrt(size)) - CELL_BITS)


def cell_with(sensitivity: float, size: int, cells: Callable[[float], float], *, bits: int) -> float:
    """The same, or as much larger as it takes for ROOM times `cells`, the noise in steps with that h, to be within so
    many bits; NotSecure where no cell will do."""
    cell = cell_for(sensitivity, size)
    coarsest = math.ldexp(cell, CELL_BITS - COARSEST_BITS)
    while ROOM * cells(cell) > 2.0**bits:
        if cell == coarsest:
            raise NotSecure("Expected a budget whose noise has room in 64 bits, got one that asks for more noise.")
        cell *= 2
    return cell


def sigma_for(shift: float, mu: float, step: float) -> float:
    """The parameter with which a shift of that norm is mu-GDP on a grid of that step: privacy.discrete's mu1 solved."""
    return math.hypot(shift / mu, discrete.WIDTH * step)


def on_grid(
    mechanism: Continual, *, sensitivity: float, mu: float, sigma: float | None = None, kind: "type[Grid]" = Grid
) -> Grid:
    """`mechanism` (its sigma does not matter) on integers with the noise that mu asks for, or with sigma if given."""
    shape = {name: getattr(mechanism, name) for name in ("leaves", "size", "spacing")}

    def with_cell(cell: float) -> Grid:
        longest = sensitivity * (1 + LENGTH_SLACK)
        grid = kind(**shape, sigma=0.0, real=mechanism, cell=cell, longest=longest)
        shift = grid.sensitivity(sensitivity) * grid.column_norm
        return dataclasses.replace(grid, sigma=sigma_for(shift, mu, grid.step) if sigma is None else sigma)

    return with_cell(cell_with(sensitivity, mechanism.size, lambda cell: with_cell(cell).cells, bits=61))
