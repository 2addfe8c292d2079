"""Where noise comes from: exact integers from the operating system's entropy, or fast floats for experiments.

`private` says whether what a source draws can carry a privacy claim; `description` goes into the certificate."""

import contextlib
import functools
import importlib.util
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from numpy.random import Generator, SeedSequence, default_rng

from tacit.data import Array
from tacit.errors import NotSecure
from tacit.forks import Gate, Renewed
from tacit.kernels.continual import draw_rows
from tacit.kernels.noise import SILENT, NoiseLaw

Integers = npt.NDArray[np.int64]
AHEAD = 4  # requests that numbers are kept for
MOST_AHEAD = 1 << 16  # numbers kept, at most
LIMIT = 1 << 62  # noise is smaller, so that with a sum of at most 62 bits it has room in 64
AT_ONCE = 256  # numbers drawn by one call of OpenDP, three milliseconds: as long as a fork may have to wait


class Source(Protocol):
    """What a bandit asks of a source of noise."""

    private: bool
    description: str

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        """`count` fresh noise vectors of length `size`: floats."""
        ...


class Simulated:
    """Fast floating-point noise from a seedable generator: for experiments, never for people's data."""

    private = False
    description = "simulated (NumPy PCG64, floating point): for experiments, not for people's data"

    def __init__(self, seed: int | SeedSequence | None = None) -> None:
        self.generator: Generator = default_rng(seed)

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        out = np.empty((count, size))
        draw_rows(self.generator, law, out)
        return out

    def __repr__(self) -> str:
        return "Simulated()"


def generator_of(source: Source) -> Generator:
    """Of simulated noise: fused loops draw it themselves."""
    if not isinstance(source, Simulated):
        raise ValueError("Expected simulated noise for a simulated block of rounds, got another source.")
    return source.generator


class Secure(Renewed):
    """Exact discrete Gaussians, on integers, from a cryptographic generator: what a privacy claim rests on.

    Guarantee: independent draws whose law is the discrete Gaussian exactly (distance 0), by OpenDP's sampler (Canonne,
    Kamath & Steinke 2020, arXiv:2004.00010, in rational arithmetic), from OpenSSL's generator seeded by the operating
    system. There is no seed to give and none is stored.
    Drawn ahead: a thread keeps numbers for the next AHEAD requests, so that what a request takes does not depend on the
    draws, as long as requests come more slowly than the sampler (tens of thousands of numbers a second).
    Numbers drawn ahead have touched no data: they live in memory only, each leaves once, and those of the parent are
    dropped in a forked child (OpenSSL reseeds itself there). A fork waits until no thread is within OpenDP, and OpenDP
    is imported here, not in the thread: a child that was made meanwhile would wait for ever for locks that nobody
    holds there.
    """

    private = True
    description = "secure (discrete Gaussian, exact, OpenDP; OpenSSL's generator, seeded by the operating system)"
    distance = 0.0  # total variation between what is drawn and the discrete Gaussian

    def __init__(self) -> None:
        if importlib.util.find_spec("opendp") is None:
            raise NotSecure(
                "Expected OpenDP for noise that protects people's data, got none: pip install opendp. "
                "For experiments without protection: source=Simulated(seed)."
            )
        _opendp()
        super().__init__()

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._pools: dict[float, list[int]] = {}
        self._wanted: dict[float, int] = {}

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        if law.kind != SILENT:
            raise NotSecure("Expected integer noise from a secure source, got a request for floats.")
        return np.zeros((count, size))

    def integers(self, count: int, size: int, cells: float) -> Integers:
        """`count` fresh vectors of length `size` of discrete Gaussians of parameter `cells`. A number that has no room
        (OpenDP would put the largest in its place) is an error; plans see to it that this is 12 sigma away."""
        need = count * size
        self._here()
        with self._lock:
            pool = self._pools.get(cells, [])
            taken, self._pools[cells] = pool[:need], pool[need:]
        if len(taken) < need:
            taken += _draw(need - len(taken), cells)
        numbers = np.array(taken, np.int64)
        if ((numbers >= LIMIT) | (numbers <= -LIMIT)).any():
            raise NotSecure(f"Expected noise below 2^62 cells of its grid, got more: its parameter is {cells:.3g}.")
        self.expect(need, cells)
        return numbers.reshape(count, size)

    def expect(self, need: int, cells: float) -> None:
        """Have numbers drawn ahead for requests of `need` of them."""
        self._here()
        with self._lock:
            self._wanted[cells] = max(self._wanted.get(cells, 0), min(AHEAD * need, MOST_AHEAD))
        _worker.give(self)

    def fill(self) -> None:
        """Draw what is missing of the numbers that are expected: what the worker does."""
        with self._lock:
            missing = {cells: wanted - len(self._pools.get(cells, [])) for cells, wanted in self._wanted.items()}
        for cells, count in missing.items():
            drawn = _draw(count, cells)
            with self._lock:
                self._pools[cells] = self._pools.get(cells, []) + drawn

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy draws its own: what this one has drawn ahead stays here."""
        return (Secure, ())

    def __repr__(self) -> str:
        return "Secure()"


class Worker(Renewed):
    """The one thread of a process that draws ahead, for all sources."""

    def _renew(self) -> None:
        self._requests: queue.SimpleQueue[weakref.ref[Secure]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def give(self, source: Secure) -> None:
        """Have `source.fill()` called."""
        self._here()
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=_serve, args=(self._requests,), daemon=True, name="tacit noise")
            self._thread.start()
        self._requests.put(weakref.ref(source))


def _serve(requests: "queue.SimpleQueue[weakref.ref[Secure]]") -> None:
    while True:
        source = requests.get()()
        if source is not None:
            with contextlib.suppress(Exception):  # who asks for these numbers draws them, and gets the error
                source.fill()
        del source


def _draw(count: int, cells: float) -> list[int]:
    """So many fresh discrete Gaussians of parameter `cells`."""
    drawn: list[int] = []
    while len(drawn) < count:
        with _gate:
            drawn += _sampler(cells)([0] * min(AT_ONCE, count - len(drawn)))
    return drawn


@functools.lru_cache(maxsize=64)
def _sampler(cells: float) -> Callable[[list[int]], list[int]]:
    """What adds a discrete Gaussian of parameter `cells` (a float, taken as the rational it is) to each number."""
    made: Callable[[list[int]], list[int]] = _opendp()(scale=float(cells))
    return made


@functools.cache
def _opendp() -> Callable[..., Any]:
    """OpenDP's sampler for lists of numbers, given its scale. The import takes a fifth of a second, so it waits until
    someone wants secure noise."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    sampler: Callable[..., Any] = functools.partial(
        make_gaussian, vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
    )
    return sampler


_gate = Gate()
_worker = Worker()
