"""What a durable choice costs: a server in a process of its own, some connections that ask as fast as they get answers;
the same on a file system in memory, where nothing survives; and without noise and database (tools.bench.plain). Or
workers on one PostgreSQL, behind a network (tools.bench.network), and its store without HTTP.

d = 5, K = 7, logistic JointGLM. Client and servers share the machine: read the ratios."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng
from rich.box import SIMPLE_HEAD
from rich.table import Table

from reticent.experiments.table import to_text
from tools.bench import network

DIM, ARMS, CONNECTIONS, BATCH = 5, 7, 16, 32
SECONDS, WARM = 5.0, 1.0
MEMORY = Path("/dev/shm")
Server = contextlib.AbstractContextManager[tuple[int, int]]  # port and process
CONFIG = """
[bandits.bench]
kind = "joint-glm"
features = 5
budget = {epsilon = 1.0, delta = 1e-6}
reward = {window = "1 second"}
"""
LIMITED = CONFIG.replace("1e-6}", "1e-6, unit = {rounds = 5}}")
KINDS = {  # route -> rows of a request; "choose + reward": each choice's reward as well
    "choose": 1,
    "choose + reward": 1,
    "choose:batch": BATCH,
}


def measure(
    progress: Callable[[float], None], *, postgres: bool = False, workers: int = 1, network_delay: float = 0.0
) -> list[dict[str, Any]]:
    """postgres: so many workers on one, with so many milliseconds more for each trip."""
    if postgres:
        return list(_on_postgres(progress, workers, network_delay))
    servers: dict[str, Callable[[], Server]] = {"durable": lambda: served(None)}
    if MEMORY.is_dir():
        servers["in memory, not durable"] = lambda: served(MEMORY)
    servers["no database, not private"] = plain
    rows = []
    for name, serving in servers.items():
        for kind in KINDS:
            with serving() as (port, process):
                rows.append({"where": name} | _measured(kind, [port], [process]))
            progress(len(rows) / (len(servers) * len(KINDS)))
    return rows


def _measured(kind: str, ports: Sequence[int], processes: Sequence[int]) -> dict[str, Any]:
    asyncio.run(load(ports, kind, WARM))
    before = sum(map(cpu, processes))
    times, count, seconds = asyncio.run(load(ports, kind, SECONDS))
    return {
        "what": kind,
        "rows_per_second": count / seconds,
        "p50_ms": 1e3 * float(np.quantile(times, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
        "cpu_us_per_row": 1e6 * (sum(map(cpu, processes)) - before) / count,
    }


def _on_postgres(progress: Callable[[float], None], workers: int, delay: float) -> Iterator[dict[str, Any]]:
    where = f"PostgreSQL, {workers} worker{'s' * (workers > 1)}, {delay:g} ms"
    with network.postgres(delay) as place, tempfile.TemporaryDirectory(prefix="reticent-bench-") as folder:
        toml = Path(folder, "bench.toml")
        toml.write_text(LIMITED + f'database = "{place.address}"\nkeys = "keys"\n')
        for done, kind in enumerate(KINDS, 1):
            with contextlib.ExitStack() as stack:
                serving = [running("reticent", "serve", str(toml), "--port", "0") for _ in range(workers)]
                ports, processes = zip(*map(stack.enter_context, serving), strict=True)
                yield {"where": where} | _measured(kind, ports, processes)
            progress(done / (len(KINDS) + 1))
        yield {"where": where} | network.store(place, lambda: cpu(os.getpid()))
    progress(1.0)


def render(rows: Sequence[dict[str, Any]]) -> str:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column(f"{CONNECTIONS} connections, d={DIM} K={ARMS}")
    table.add_column("", no_wrap=True)
    for name in ("rows / s", "p50, ms", "p99, ms", "servers' CPU, µs a row", "trips a group"):
        table.add_column(name, justify="right")
    for row in rows:
        numbers = [f"{row[name]:.0f}" for name in ("rows_per_second", "cpu_us_per_row")]
        times = [f"{row[name]:.1f}" for name in ("p50_ms", "p99_ms")]
        trips = f"{row['trips_per_group']:.2f}" if "trips_per_group" in row else ""
        table.add_row(row["what"], row["where"], numbers[0], *times, numbers[1], trips)
    return to_text(table)


@contextlib.contextmanager
def served(parent: Path | None) -> Iterator[tuple[int, int]]:
    """Port and process of a new server, whose files are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="reticent-bench-", dir=parent))
    try:
        (folder / "bench.toml").write_text(LIMITED + 'database = "bench.db"\n')
        with running("reticent", "serve", str(folder / "bench.toml"), "--port", "0") as found:
            yield found
    finally:
        shutil.rmtree(folder)


def plain() -> Server:
    return running("tools.bench.plain", str(DIM))


@contextlib.contextmanager
def running(*module: str) -> Iterator[tuple[int, int]]:
    """Port and process of a module that says where it serves."""
    checkout = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-m", *module], stderr=subprocess.PIPE, text=True, cwd=checkout)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            found = re.search(r"Serving on http://[\d.]+:(\d+)", line)
            if found:
                yield int(found[1]), process.pid
                break
        else:
            raise RuntimeError("Expected a server that starts, got one that stopped.")
    finally:
        process.send_signal(signal.SIGTERM)
        with process:  # which closes what it says
            process.communicate()


async def load(ports: Sequence[int], kind: str, seconds: float) -> tuple[list[float], int, float]:
    """Seconds of each request, the number of rows, and the seconds in all."""
    began = time.perf_counter()
    visitors = (_visitor(ports[i % len(ports)], kind, began + seconds, i) for i in range(CONNECTIONS))
    parts = await asyncio.gather(*visitors)
    return [t for part in parts for t in part], sum(map(len, parts)) * KINDS[kind], time.perf_counter() - began


async def _visitor(port: int, kind: str, until: float, seed: int) -> list[float]:
    rng = default_rng(seed)
    arms = rng.normal(size=(ARMS, DIM))
    arms /= np.linalg.norm(arms, axis=1)[:, None]
    text = json.dumps(arms.tolist())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    times, route = [], kind.partition(" ")[0]
    while time.perf_counter() < until:
        person = f'"person":{rng.integers(10**6)},'
        lines = [f'{{"request":"{rng.bytes(12).hex()}",{person}"arms":{text}}}' for _ in range(KINDS[kind])]
        began = time.perf_counter()
        reply = await _post(reader, writer, route, "\n".join(lines))
        times.append(time.perf_counter() - began)
        if "reward" in kind:
            await _post(reader, writer, "reward", json.dumps({"id": json.loads(reply)["id"], "reward": 1.0}))
    writer.close()
    return times


async def _post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, route: str, body: str) -> bytes:
    media = "application/x-ndjson" if "batch" in route else "application/json"
    head = f"POST /v1/bandits/bench/{route} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
    found = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", found)
    if not found.startswith(b"HTTP/1.1 200") or length is None:
        raise RuntimeError(f"Expected a server that answers, got {found[:15]!r}.")
    return await reader.readexactly(int(length[1]))


def cpu(process: int) -> float:
    """Seconds of processor time that it has used: user's and system's, of all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
