"""Where noise comes from: exact integers from the operating system's entropy, or fast floats for experiments.

`private` says whether what a source draws can carry a privacy claim; `description` goes into the certificate."""

import functools
import importlib.util
import os
import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
from numpy.random import Generator, SeedSequence, default_rng

from tacit.checks import Array
from tacit.errors import NotSecure
from tacit.kernels.continual import draw_rows
from tacit.kernels.noise import SILENT

Integers = npt.NDArray[np.int64]
AHEAD = 4  # requests that numbers are kept for
MOST_AHEAD = 1 << 16  # numbers kept, at most


class Source(Protocol):
    """What a bandit asks of a source of noise."""

    private: bool
    description: str

    def rows(self, count: int, size: int, law: Array) -> Array:
        """`count` fresh noise vectors of length `size`: floats of a law (kind, scale, degrees of freedom)."""
        ...


class Simulated:
    """Fast floating-point noise from a seedable generator: for experiments, never for people's data."""

    private = False
    description = "simulated (NumPy PCG64, floating point): for experiments, not for people's data"

    def __init__(self, seed: int | SeedSequence | None = None) -> None:
        self.generator: Generator = default_rng(seed)

    def rows(self, count: int, size: int, law: Array) -> Array:
        out = np.empty((count, size))
        draw_rows(self.generator, law, out)
        return out

    def __repr__(self) -> str:
        return "Simulated()"


class Secure:
    """Exact discrete Gaussians, on integers, from a cryptographic generator: what a privacy claim rests on.

    Guarantee: independent draws whose law is the discrete Gaussian exactly (distance 0), by OpenDP's sampler (Canonne,
    Kamath & Steinke 2020, arXiv:2004.00010, in rational arithmetic), from OpenSSL's generator seeded by the operating
    system. There is no seed to give and none is stored.
    Drawn ahead: a thread keeps numbers for the next AHEAD requests, so that what a request takes does not depend on the
    draws, as long as requests come more slowly than the sampler (tens of thousands of numbers a second).
    Numbers drawn ahead have touched no data: they live in memory only, each leaves once, and those of the parent are
    dropped in a forked child (OpenSSL reseeds itself there).
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
        self._forget()

    def _forget(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._pools: dict[float, list[int]] = {}
        self._wanted: dict[float, int] = {}
        self._thread: threading.Thread | None = None

    def rows(self, count: int, size: int, law: Array) -> Array:
        if law[0] != SILENT:
            raise NotSecure("Expected integer noise from a secure source, got a request for floats.")
        return np.zeros((count, size))

    def integers(self, count: int, size: int, cells: float) -> Integers:
        """`count` fresh vectors of length `size` of discrete Gaussians of parameter `cells`."""
        need = count * size
        if os.getpid() != self._process:
            self._forget()
        self.expect(need, cells, start=False)
        if self._thread is not None and len(self._pools[cells]) < need:
            self._thread.join()
        with self._lock:
            pool = self._pools[cells]
            taken, self._pools[cells] = pool[:need], pool[need:]
        if len(taken) < need:
            taken += _sampler(cells)(need - len(taken))
        self.expect(need, cells)
        return np.array(taken, np.int64).reshape(count, size)

    def expect(self, need: int, cells: float, *, start: bool = True) -> None:
        """Draw ahead for requests of `need` numbers."""
        if os.getpid() != self._process:
            self._forget()
        self._wanted[cells] = max(self._wanted.get(cells, 0), min(AHEAD * need, MOST_AHEAD))
        self._pools.setdefault(cells, [])
        if start and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._fill, daemon=True)
            self._thread.start()

    def _fill(self) -> None:
        for cells, wanted in list(self._wanted.items()):
            missing = wanted - len(self._pools[cells])
            if missing > 0:
                drawn = _sampler(cells)(missing)
                with self._lock:
                    self._pools[cells] += drawn

    def __repr__(self) -> str:
        return "Secure()"


@functools.lru_cache(maxsize=64)
def _sampler(cells: float) -> Callable[[int], list[int]]:
    """What draws so many discrete Gaussians of parameter `cells`, a float that is taken as the rational it is."""
    from opendp.domains import atom_domain, vector_domain  # a quarter of a second, so only when it is needed
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    release = make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), scale=float(cells))
    return lambda count: list(release([0] * count)) if count else []
