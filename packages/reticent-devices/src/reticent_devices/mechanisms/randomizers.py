"""What a device does to a bounded vector, or to a bounded reward, before anything leaves it: integers in, from the
operating system's generator, and integers out. Here are their laws; mechanisms.local calibrates them."""

import functools
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reticent.data import Array, Exact, Released, Sent
from reticent.privacy import randomness

Int16 = npt.NDArray[np.int16]

UNIT = 2**12  # grid cells in one standard deviation of a candidate
FINE = 2**15  # grid cells in the unit of the vector that candidates are compared with
SHARE = 2**32  # chances are whole multiples of 1 / SHARE
CELLS = 2**20  # grid cells in one standard deviation of lattice noise
SPREAD = 1.0e-8  # E e^2 at most, e = (quantised - real) normal number of the candidates, in standard deviations
PORTION = 2**16  # numbers of candidates that are drawn at a time
SILENT, GAUSSIAN, CAP = 0, 1, 2  # kinds of Law
EDGE = 128  # of the 2^16 cells of a candidate's law, the outer ones on each side that are cut 512 times finer


class Law(NamedTuple):
    """A randomiser in floating point, as the kernels of a simulation take it (mechanisms.randomize_kernel)."""

    kind: int  # SILENT, GAUSSIAN or CAP
    scale: float  # standard deviation of the noise in a decoded number
    chance: float  # CAP: of a vector from inside the cap
    gamma: float  # CAP: its threshold
    radius: float  # CAP: the largest norm of a vector


@dataclass(frozen=True)
class Cap:
    """A vector v of norm at most `radius` by a random vector that leans towards it: pure epsilon.

    v / radius is lifted to a unit vector x of one more dimension, x = (v / radius, sqrt(1 - |v|^2 / radius^2)), and
    rounded to whole multiples of 1 / FINE. Candidates z are independent of everything: numbers of one fixed law on a
    grid, a quantised normal law. Sent: a candidate with <z, x> >= threshold with probability chance / SHARE, else one
    with <z, x> < threshold; without its last number.

    Work: a candidate of each side is sought, whichever is sent, among candidates of its own, whose numbers `rows` and
    `others` are fixed. Where none of `rows` is inside (probability f_x) one from outside is sent; where none of
    `others` is outside (probability h_x = q_x^others) one from inside.
    Guarantee: with q_x = P(<z, x> >= threshold), a candidate from inside is sent with probability p_x, chance (1 - f_x)
    <= p_x <= chance + h_x (chance as a share), so that the law sent has the density p_x / q_x on one side and
    (1 - p_x) / (1 - q_x) on the other, with respect to one law that no datum enters. If q <= q_x <= p_x <= p for all x,
    then all densities are between (1 - p) / (1 - q) and p / q: it is epsilon-private for
    epsilon = ln(p (1 - q) / ((1 - p) q)). No floating-point number matters: all products <z, x> are sums of integers
    below 2^53, exact in any order; the law of the candidates enters only through bounds of q_x (mechanisms.local has
    them).
    Reference: PrivUnit, Bhowmick et al. 2018, arXiv:1812.00984; with normal vectors, Asi, Feldman & Talwar 2022,
    arXiv:2205.02466.
    Departure: candidates by rejection on a grid, where those papers draw real numbers; so many and no more, which makes
    what is decoded shorter by a factor 1 - f_x, f_x < 1 / 1000.
    """

    radius: float
    chance: int
    threshold: int
    scale: float  # decoded vector = scale * z / UNIT: unbiased

    @property
    def nominal(self) -> float:
        """P(<z, x> >= threshold) of real normal numbers z and real unit vectors x."""
        return 0.5 * math.erfc(self.threshold / (UNIT * FINE * math.sqrt(2)))

    @property
    def rows(self) -> int:
        """Candidates among which one inside is sought, up to its sign: all fail with probability e^-8, nearly."""
        return math.ceil(4 / self.nominal)

    @property
    def others(self) -> int:
        """Candidates among which one outside is sought: all fail with probability 1 / SHARE at most."""
        return math.ceil(math.log2(SHARE) / -math.log2(min(0.5, 2 * self.nominal)))

    def encode(self, vector: Exact) -> Sent:
        x = lift(vector / self.radius)
        z = candidates(self.others, x.size)
        outside: Int16 = z[int((z @ x < self.threshold).argmax())]  # the first of them, or of all
        inside = outside
        for count in portions(self.rows, x.size):
            z = candidates(count, x.size)
            dots = z @ x
            at = int((np.abs(dots) >= self.threshold).argmax())
            if inside is outside and abs(dots[at]) >= self.threshold:
                inside = z[at] if dots[at] > 0 else -z[at]  # the law of z is symmetric
        first = int.from_bytes(randomness.octets(4), "little") < self.chance  # of SHARE
        return Sent((inside if first else outside)[:-1].astype("<i2").tobytes())

    def decode(self, report: bytes) -> Released:
        return Released(np.frombuffer(report, "<i2").astype(np.float64) * (self.scale / UNIT))

    def length(self, size: int) -> int:
        return 2 * size

    @property
    def law(self) -> Law:
        return Law(CAP, self.scale, self.chance / SHARE, self.threshold / (UNIT * FINE), self.radius)

    def simulate(self, vector: Exact, generator: np.random.Generator) -> Released:
        """The same law in floating point, draw by draw as the kernel."""
        _, scale, chance, gamma, radius = self.law
        x = vector / radius
        last = 1.0
        for value in x.tolist():
            last -= value * value
        inside = generator.random() < chance
        target = beyond(generator, gamma) if inside else -beyond(generator, -gamma)
        draws = generator.standard_normal(x.size)
        along = 0.0
        for draw, value in zip(draws.tolist(), x.tolist(), strict=True):
            along += draw * value
        along += math.sqrt(max(last, 0.0)) * generator.standard_normal()
        return Released(scale * draws + (scale * (target - along)) * x)


@dataclass(frozen=True)
class Lattice:
    """A vector plus discrete Gaussian noise, on a grid of CELLS cells to a standard deviation.

    Guarantee: that of the Gaussian mechanism with sensitivity + sqrt(size) cells (for the rounding of the vector) and
    the stated distances of randomness.discrete_gaussian and of rounded from discrete Gaussians (mechanisms.local).
    """

    sigma: float

    def encode(self, vector: Exact) -> Sent:
        cell = self.sigma / CELLS
        sent = np.rint(vector / cell).astype(np.int64) + randomness.discrete_gaussian(float(CELLS), vector.size)
        return Sent(sent.astype("<i8").tobytes())

    def decode(self, report: bytes) -> Released:
        return Released(np.frombuffer(report, "<i8").astype(np.float64) * (self.sigma / CELLS))

    def length(self, size: int) -> int:
        return 8 * size

    @property
    def law(self) -> Law:
        return Law(GAUSSIAN, self.sigma, 0.0, 0.0, 1.0)

    def simulate(self, vector: Exact, generator: np.random.Generator) -> Released:
        return Released(vector + self.sigma * generator.standard_normal(vector.size))


SILENCE = Law(SILENT, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Open:
    """The vector itself: epsilon is infinite."""

    def encode(self, vector: Exact) -> Sent:
        return Sent(vector.astype("<f8").tobytes())

    def decode(self, report: bytes) -> Released:
        return Released(np.frombuffer(report, "<f8").astype(np.float64))

    def length(self, size: int) -> int:
        return 8 * size

    @property
    def law(self) -> Law:
        return SILENCE

    def simulate(self, vector: Exact, generator: np.random.Generator) -> Released:
        return Released(vector.copy())


@dataclass(frozen=True)
class Coin:
    """Randomised response for a number y in [0, 1]: a bit that is 1 with probability y, sent as it is with probability
    chance / SHARE and flipped otherwise.

    Guarantee: epsilon = ln(chance / (SHARE - chance)), whatever y. The bit is drawn with a 53-bit uniform number, which
    moves its probability by 2^-53: that changes how y is read, not the guarantee.
    Reference: Warner 1965.
    Departure: none."""

    chance: int

    def encode(self, y: float) -> Sent:
        bit = int(randomness.below(2**53, 1)[0]) < y * 2.0**53
        return Sent(bytes([bit ^ (int(randomness.below(SHARE, 1)[0]) >= self.chance)]))

    def decode(self, report: bytes) -> float:
        """Unbiased for y."""
        keep = self.chance / SHARE
        return (report[0] - (1 - keep)) / (2 * keep - 1)

    def simulate(self, y: float, generator: np.random.Generator) -> Sent:
        bit = generator.random() < y
        return Sent(bytes([bit ^ (generator.random() >= self.chance / SHARE)]))


Randomizer = Cap | Lattice | Open


def document(randomizer: Randomizer | Coin) -> dict[str, Any]:
    """As JSON takes it."""
    return {"kind": type(randomizer).__name__.lower()} | vars(randomizer)


def from_document(given: dict[str, Any]) -> Randomizer | Coin:
    kinds: dict[str, type[Randomizer | Coin]] = {"cap": Cap, "lattice": Lattice, "open": Open, "coin": Coin}
    return kinds[given["kind"]](**{k: v for k, v in given.items() if k != "kind"})


def simulated(decoded: Released) -> Sent:
    """What a simulated device sends: the numbers that a server would decode. `Open` decodes it."""
    return Sent(decoded.astype("<f8").tobytes())


def beside_public(arm: Array, reward: Sent) -> Sent:
    """A randomised reward behind an arm in the clear, where the application has said that arms are public."""
    return Sent(arm.astype("<f8").tobytes() + reward)


def framed(head: bytes, body: Sent) -> Sent:
    """A report behind what is public about it."""
    return Sent(head + body)


def lift(vector: Array) -> Array:
    """A vector of norm at most 1 (clipped) as a unit vector of one more dimension, in whole numbers of 1 / FINE.

    Every number is within half a cell of that of a unit vector, so that the norm is FINE (1 +- sqrt(size) / (2 FINE)),
    always: if rounding or a bad vector broke that, the last unit vector is used."""
    size = vector.size + 1
    norm = math.sqrt(float(vector @ vector))
    if not norm < math.inf:
        vector, norm = np.zeros(vector.size), 0.0
    bounded = vector / max(1.0, norm)
    x = np.empty(size)
    x[:-1] = bounded
    x[-1] = math.sqrt(max(0.0, 1.0 - float(bounded @ bounded)))
    x = np.rint(FINE * x)
    if abs(math.sqrt(float(x @ x)) - FINE) > math.sqrt(size) / 2 + 1e-6:
        x = np.zeros(size)
        x[-1] = FINE
    return x


def rarest(size: int) -> float:
    """The least probability of a cap on reports of `size` numbers: rarer ones would keep devices busy."""
    return min(max(2.0**-10, (size + 1) / 2.0**15), 2.0**-5)


def portions(rows: int, size: int) -> list[int]:
    """Numbers of rows that add up to `rows`, each with no more than PORTION numbers, or one row."""
    most = max(1, PORTION // size)
    return [most] * (rows // most) + [rows % most] * (rows % most > 0)


def candidates(rows: int, size: int) -> Int16:
    """Independent numbers in units of 1 / UNIT of the quantised normal law: 16 random bits name one of 2^16 cells of
    equal probability; 16 more cut the outer cells of each side finer."""
    first, outer = tables()
    bits = np.frombuffer(randomness.octets(2 * rows * size), np.uint16)
    z = first.take(bits)
    at = np.flatnonzero((bits + np.uint16(EDGE)) < 2 * EDGE)  # wraps around: the outer cells of both sides
    if at.size:
        finer = outer.take(np.frombuffer(randomness.octets(2 * at.size), np.uint16))
        z[at] = np.where(bits[at] < EDGE, -finer, finer)
    return z.reshape(rows, size)


@functools.cache
def tables() -> tuple[Int16, Int16]:
    """Values of the cells: quantiles of their middles, rounded to the grid; symmetric by construction."""
    quantile = NormalDist().inv_cdf
    half = [round(-UNIT * quantile((i + 0.5) / 2**16)) for i in range(2**15)]
    tail = [round(-UNIT * quantile((i + 0.5) / 2**16 * (EDGE / 2**16))) for i in range(2**16)]
    return np.array([-v for v in half] + half[::-1], np.int16), np.array(tail, np.int16)


def largest() -> int:
    """The largest number of a candidate."""
    first, outer = tables()
    return int(max(first.max(), outer.max()))


def beyond(generator: np.random.Generator, gamma: float) -> float:
    """A standard normal number given that it is at least gamma: simulation only, as the kernel of that name."""
    if gamma <= 0:
        t = generator.standard_normal()
        while t < gamma:
            t = generator.standard_normal()
        return t
    rate = 0.5 * (gamma + math.sqrt(gamma * gamma + 4.0))
    while True:
        t = gamma + generator.standard_exponential() / rate
        if generator.random() <= math.exp(-0.5 * (t - rate) * (t - rate)):
            return t
