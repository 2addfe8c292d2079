"""Where noise comes from: exact integers from the operating system's entropy, or fast floats for experiments.

`private` says whether what a source draws can carry a privacy claim; `description` goes into the certificate."""

import contextlib
import functools
import queue
import threading
import weakref
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from reticent.data import Array, Integers
from reticent.errors import NotSecure
from reticent.kernels.continual import draw_rows
from reticent.kernels.noise import SILENT, NoiseLaw
from reticent.process import Renewed

AHEAD = 4  # requests that numbers are kept for
MOST_AHEAD = 1 << 19  # numbers kept, at most: four megabytes
NONE: Integers = np.zeros(0, np.int64)
POLICY = (1 << 32) - 1  # the child of a seed that policies draw from: spawning counts from 0


class Source(Protocol):
    """What a bandit asks of a source of noise."""

    private: bool
    description: str

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        """`count` fresh noise vectors of length `size`: floats."""
        ...


class Simulated:
    """Fast floating-point noise from a seedable generator: for experiments, never for people's data. `policy`: another
    one, of the same seed, for a policy that is given none."""

    private = False
    description = "simulated (NumPy PCG64, floating point): for experiments, not for people's data"

    def __init__(self, seed: int | SeedSequence | None = None) -> None:
        seeds = seed if isinstance(seed, SeedSequence) else SeedSequence(seed)
        self.generator: Generator = default_rng(seeds)
        self.policy: Generator = default_rng(SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, POLICY)))

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        out = np.empty((count, size))
        draw_rows(self.generator, law, out)
        return out

    def integers(self, count: int, size: int, cells: float) -> Integers:
        """As Secure has them, but for the law: rounded floats."""
        return np.rint(self.generator.normal(0.0, cells, (count, size))).astype(np.int64)

    def laplaces(self, size: int, scale: int) -> Integers:
        return np.rint(self.generator.laplace(0.0, scale, size)).astype(np.int64)

    def expect(self, need: int, cells: float) -> None:
        """Nothing is drawn ahead."""

    def __repr__(self) -> str:
        return "Simulated()"


@functools.cache
def _exact() -> ModuleType:
    """The sampler, which is compiled: loaded by the first that draws."""
    from reticent.privacy import exact

    return exact


def generator_of(source: Source) -> Generator:
    """Of simulated noise: fused loops draw it themselves."""
    if not isinstance(source, Simulated):
        raise ValueError("Expected simulated noise for a simulated block of rounds, got another source.")
    return source.generator


def policy_of(source: Source) -> Generator:
    """The generator of a policy that is given none."""
    return source.policy if isinstance(source, Simulated) else default_rng()


class Secure(Renewed):
    """Exact discrete Gaussians, on integers, from a cryptographic generator: what a privacy claim rests on.

    Guarantee: independent draws whose law is the discrete Gaussian exactly (distance 0; kernels.exact), if the bytes of
    the operating system's generator are independent and uniform. There is no seed to give and none is stored: each draw
    reads the kernel, and the words that it took are wiped.
    Drawn ahead: a thread keeps numbers for the next AHEAD requests, so that what a request takes does not depend on the
    draws, as long as requests come more slowly than the sampler (a million numbers a second and more).
    Numbers drawn ahead have touched no data: they live in memory only, each leaves once, and those of the parent are
    dropped in a forked child. The kernel is loaded here, not in the thread: a child that was made meanwhile would wait
    for ever for locks of imports that nobody holds there.
    """

    private = True
    description = "secure (discrete Gaussian, exact; the operating system's generator)"
    distance = 0.0  # total variation between what is drawn and the discrete Gaussian

    def __init__(self) -> None:
        _exact().draw(1, 1.0)
        super().__init__()

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._pools: dict[float, Integers] = {}
        self._wanted: dict[float, int] = {}

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        if law.kind != SILENT:
            raise NotSecure("Expected integer noise from a secure source, got a request for floats.")
        return np.zeros((count, size))

    def integers(self, count: int, size: int, cells: float) -> Integers:
        """`count` fresh vectors of length `size` of discrete Gaussians of parameter `cells`. A number that has no room
        is an error; plans see to it that this is 12 sigma away."""
        need = count * size
        self._here()
        with self._lock:
            pool = self._pools.get(cells, NONE)
            numbers, self._pools[cells] = pool[:need].copy(), pool[need:].copy()
            pool[:] = 0
        if len(numbers) < need:
            numbers = np.concatenate([numbers, _exact().draw(need - len(numbers), cells)])
        with_room(numbers, cells)
        self.expect(need, cells)
        return numbers.reshape(count, size)

    def laplaces(self, size: int, scale: int) -> Integers:
        """Discrete Laplace noise of that scale, fresh for each number."""
        out: Integers = _exact().laplace(size, scale)
        with_room(out, float(scale))
        return out

    def expect(self, need: int, cells: float) -> None:
        """Have numbers drawn ahead for requests of `need` of them."""
        self._here()
        with self._lock:
            self._wanted[cells] = max(self._wanted.get(cells, 0), min(AHEAD * need, MOST_AHEAD))
        _worker.give(self)

    def fill(self) -> None:
        """Draw what is missing of the numbers that are expected: what the worker does."""
        with self._lock:
            missing = {cells: wanted - len(self._pools.get(cells, NONE)) for cells, wanted in self._wanted.items()}
        for cells, count in missing.items():
            if count > 0:
                drawn = _exact().draw(count, cells)
                with self._lock:
                    self._pools[cells] = np.concatenate([self._pools.get(cells, NONE), drawn])

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy draws its own: what this one has drawn ahead stays here."""
        return (Secure, ())

    def __repr__(self) -> str:
        return "Secure()"


def with_room(numbers: Integers, cells: float) -> None:
    """NotSecure unless all of them have room."""
    if (abs(numbers) >= _exact().NO_ROOM).any():
        raise NotSecure(f"Expected noise below 2^62 cells of its grid, got more: its parameter is {cells:.3g}.")


class Worker(Renewed):
    """The one thread of a process that draws ahead, for all sources."""

    def _renew(self) -> None:
        self._requests: queue.SimpleQueue[weakref.ref[Secure]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def give(self, source: Secure) -> None:
        """Have `source.fill()` called."""
        self._here()
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=_serve, args=(self._requests,), daemon=True, name="reticent noise")
            self._thread.start()
        self._requests.put(weakref.ref(source))


def _serve(requests: "queue.SimpleQueue[weakref.ref[Secure]]") -> None:
    while True:
        source = requests.get()()
        if source is not None:
            with contextlib.suppress(Exception):  # who asks for these numbers draws them, and gets the error
                source.fill()
        del source


_worker = Worker()
