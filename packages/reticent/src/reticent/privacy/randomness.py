"""Where a device's random numbers come from: the operating system; in simulation, a generator that may be seeded."""

import math
import os
import stat
import sys
from typing import Protocol

import numpy as np

from reticent.data import Array, Integers, Words
from reticent.errors import NotSecure
from reticent.privacy import randomness

FARTHEST = 9  # discrete_gaussian draws within this many sigma
RATIO = 2.0**-44  # discrete_gaussian: |ln (probability drawn / probability of the exact law)| within reach is at most
STRAY = 2.0**-56  # this, apart from events of at most this probability
SHORT = 2048  # bytes: up to here the kernel is asked for all of them
LONGEST = 2**30  # bytes that OpenSSL is asked for at a time
DEVICE = "/dev/urandom"
NUMBERS = 1, 9  # of that device, on Linux: major and minor


def octets(count: int) -> bytes:
    """Independent uniform bytes.

    The kernel gives some 400 MB/s, OpenSSL's generator (AES-256 in counter mode, SP 800-90A) ten times as many. More
    than SHORT bytes therefore come from OpenSSL's, after new bytes of the kernel's were mixed into it: it then reseeds
    before it answers, so that it remembers nothing that another process could repeat. Where Python has no OpenSSL, or
    a relative of it that does not reseed, the kernel gives all."""
    if count <= SHORT:
        return os.urandom(count)
    try:
        import ssl  # here: 15 ms that devices with short reports need not spend
    except ImportError:
        return os.urandom(count)
    if not ssl.OPENSSL_VERSION.startswith("OpenSSL "):
        return os.urandom(count)
    out = b""
    while count > len(out):
        ssl.RAND_add(os.urandom(32), 32.0)
        out += ssl.RAND_bytes(min(count - len(out), LONGEST))
    return out


def fill(out: Words) -> None:
    """Independent uniform words into `out`, from the kernel, and into no other memory: who wipes them has wiped them.
    The device does not wait until the kernel has gathered entropy, after the machine has started; the call does.
    NotSecure if something else is in the device's place: a file, as in some chroots, gives the same bytes each time."""
    os.urandom(1)
    view = out.view(np.uint8).data
    with open(DEVICE, "rb", buffering=0) as device:
        if not _is_random(device.fileno()):
            raise NotSecure(f"Expected the kernel's random device at {DEVICE}, got something else.")
        while len(view):
            got = device.readinto(view)
            if not got:
                raise OSError(f"Expected random bytes from {DEVICE}, got none.")
            view = view[got:]


def _is_random(device: int) -> bool:
    found = os.fstat(device)
    if not stat.S_ISCHR(found.st_mode):
        return False
    return sys.platform != "linux" or (os.major(found.st_rdev), os.minor(found.st_rdev)) == NUMBERS


def words(count: int) -> Words:
    """Independent uniform 64-bit words."""
    return np.frombuffer(octets(8 * count), np.uint64)


def below(bound: int, count: int) -> Integers:
    """Uniform integers in [0, bound), exactly: words above the largest multiple of `bound` are drawn again."""
    if not 1 <= bound <= 2**62:
        raise ValueError(f"Expected a bound in [1, 2^62], got {bound}.")
    limit = np.uint64(2**64 - 1 - 2**64 % bound)
    out = words(count)
    while (bad := np.flatnonzero(out > limit)).size:
        out = out.copy()
        out[bad] = words(bad.size)
    return (out % np.uint64(bound)).astype(np.int64)


def halves(trials: int, count: int) -> Integers:
    """Binomial(trials, 1/2), exactly: the number of ones among `trials` random bits."""
    whole, rest = divmod(trials, 64)
    drawn = words(count * (whole + 1)).reshape(count, whole + 1).copy()
    drawn[:, whole] &= np.uint64((1 << rest) - 1)
    out: Integers = np.bitwise_count(drawn).sum(axis=1, dtype=np.int64)
    return out


def discrete_gaussian(sigma: float, count: int) -> Integers:
    """Integers k with probability proportional to exp(-k^2 / (2 sigma^2)), up to a stated distance.

    Rejection: k is uniform in [-J, J], J = ceil(9 sigma), and accepted if a random 63-bit integer is below
    a(k) = floor(2^63 exp(-k^2 / (2 sigma^2))). The number of refusals does not depend on the k that is accepted, so the
    time it takes tells nothing about it.

    Distance. k^2 and 2 sigma^2 are rounded once each, their quotient q once, and exp by at most 4 ulp; J < 9 sigma + 1
    and sigma >= 1, so q <= 50 and the computed exp(-q) is within a factor 1 +- (50 * 3 + 8) 2^-53 of the true one.
    Normalising doubles it: 316 * 2^-53, less than RATIO, which is 512 * 2^-53. Outside that ratio: the floor moves each
    a(k) by less than 2^-63, altogether (2 J + 1) 2^-63 against a total of at least sigma sqrt(2 pi), that is less than
    2^-59 for sigma >= 1; and k beyond 9 sigma, which are never drawn, have probability at most 2 exp(-81 / 2) < 2^-57.
    Together less than STRAY.
    A report of m such numbers that would be (epsilon, delta)-private with the exact law is therefore
    (epsilon + 2 m RATIO, (1 + 2 m RATIO) delta + (2 + e^epsilon) m STRAY)-private with this one."""
    if not 1 <= sigma <= 2.0**40:
        raise ValueError(f"Expected sigma in [1, 2^40] grid cells, got {sigma!r}.")
    reach = math.ceil(FARTHEST * sigma)
    out = np.empty(count, np.int64)
    done = 0
    while done < count:
        tries = 16 + int(8 * (count - done))  # one in 2 * 9 / sqrt(2 pi) = 7.2 is accepted
        k = below(2 * reach + 1, tries) - reach
        accept = np.floor(np.exp(-(k.astype(np.float64) ** 2) / (2 * sigma**2)) * 2.0**63)
        taken = k[(words(tries) >> np.uint64(1)) < accept.astype(np.uint64)][: count - done]
        out[done : done + taken.size] = taken
        done += taken.size
    return out


class Randomness(Protocol):
    """`private`: whether a privacy claim can rest on it."""

    private: bool

    def uniforms(self, count: int) -> Array:
        """Independent numbers, uniform on the multiples of 2^-53 in [0, 1)."""
        ...

    def halves(self, trials: int, count: int) -> Integers:
        """Binomial(trials, 1/2)."""
        ...

    def normals(self, count: int) -> Array:
        """Standard normal numbers, for policies only: no privacy rests on floating point."""
        ...


class System:
    """The operating system's cryptographic generator: exact integers, no seed, no state."""

    private = True

    def uniforms(self, count: int) -> Array:
        out: Array = (randomness.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return out

    def halves(self, trials: int, count: int) -> Integers:
        return randomness.halves(trials, count)

    def normals(self, count: int) -> Array:
        radii = np.sqrt(-2 * np.log1p(-self.uniforms(count)))
        return np.asarray(radii * np.cos(2 * np.pi * self.uniforms(count)))


class Seeded:
    """A NumPy generator, in an order that the simulation kernels repeat: never for people's data."""

    private = False

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def uniforms(self, count: int) -> Array:
        return self.generator.random(count)

    def halves(self, trials: int, count: int) -> Integers:
        """The ones among `trials` bits, 53 of them from each uniform number."""
        whole, rest = divmod(trials, 53)
        words = (self.generator.random((count, whole + 1)) * 2.0**53).astype(np.uint64)
        words[:, whole] &= np.uint64((1 << rest) - 1)
        out: Integers = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        return out

    def normals(self, count: int) -> Array:
        return self.generator.standard_normal(count)
