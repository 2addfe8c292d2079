"""What a report costs the shuffler: over HTTP, database, alone and in bodies of 64; and its parts one by one: randomise
(on the device), check, sum, commit. A billion reports a day is computed from these, not measured.

d = 5, ShuffleNewton. Devices and shuffler share the machine; the shuffler's CPU time is its own."""

import asyncio
import contextlib
import copy
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from devices_tests.roles.fleet import Fleet
from reticent.experiments.table import to_text
from reticent_devices.roles import hpke, identity, sealed
from reticent_devices.roles.shuffle import ShuffleClient
from reticent_devices.roles.shuffler import Shuffler
from reticent_devices.servers.journal import Journal
from tools.bench.serve import cpu, running

DIM, SIZE, CONNECTIONS = 5, 20, 16
SECONDS, WARM, BODY = 5.0, 1.0, 64
BODIES = {"alone": 1, f"in bodies of {BODY}": BODY}
DAY = 10**9  # reports
ANALYZER = """
[analyzer]
kind = "shuffle-newton"
features = 5
reward = {radius = 3.0}
budget = {epsilon = 1.0, delta = 1e-6}
database = "analyzer.db"
options = {first = 3_000_000, malicious = 0}
"""
SHUFFLER = """
[shuffler]
analyzer = "http://127.0.0.1:%d"
budget = {epsilon = 1.0, delta = 1e-6}
malicious = 0
database = "data/shuffler.db"
witness = "shuffler.witness"
"""


def measure(progress: Callable[[float], None]) -> list[dict[str, Any]]:
    rows = []
    with roles() as (port, process):
        billboard = asyncio.run(_billboard(port))
        for what, body in BODIES.items():
            asyncio.run(load(port, billboard, body, WARM))
            before = cpu(process)
            times, count, seconds = asyncio.run(load(port, billboard, body, SECONDS))
            rows.append(
                {
                    "what": f"reports over HTTP, {what}",
                    "per_second": count / seconds,
                    "p50_ms": 1e3 * float(np.quantile(times, 0.5)),
                    "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
                    "cpu_us_per_report": 1e6 * (cpu(process) - before) / count,
                }
            )
            progress(len(rows) / 3)
    rows += parts(billboard)
    rows.append(a_day(rows))
    progress(1.0)
    return rows


def a_day(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Cores that DAY reports a day keep busy, in bodies of 64. Computed."""
    (one,) = (row["cpu_us_per_report"] for row in rows if row["what"].endswith(f"bodies of {BODY}"))
    return {"what": f"{DAY:.0e} reports a day, computed", "per_second": DAY / 86400, "cores": DAY / 86400 * one / 1e6}


def render(rows: Sequence[dict[str, Any]]) -> str:
    names = {"per_second": ("reports / s", ".0f"), "p50_ms": ("p50, ms", ".1f"), "p99_ms": ("p99, ms", ".1f")}
    names |= {"cpu_us_per_report": ("CPU, µs a report", ".3g"), "cores": ("cores", ".2g")}
    return tabled(f"{CONNECTIONS} connections, d={DIM}", names, rows)


def tabled(first: str, names: Mapping[str, tuple[str, str]], rows: Sequence[dict[str, Any]]) -> str:
    """names: of what is measured -> its title, and how it is written."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column(first)
    for title, _ in names.values():
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(row["what"], *(format(row[key], form) if key in row else "" for key, (_, form) in names.items()))
    return to_text(table)


@contextlib.contextmanager
def roles() -> Iterator[tuple[int, int]]:
    """Port and process of a shuffler with an analyzer, whose files are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="reticent-bench-"))
    try:
        (folder / "analyzer.toml").write_text(ANALYZER)
        with running("reticent", "serve", "analyzer", str(folder / "analyzer.toml"), "--port", "0") as (analyzer, _):
            (folder / "shuffler.toml").write_text(SHUFFLER % analyzer)
            (folder / "data").mkdir()
            with running("reticent", "serve", "shuffler", str(folder / "shuffler.toml"), "--port", "0") as found:
                yield found
    finally:
        shutil.rmtree(folder)


async def load(port: int, billboard: bytes, body: int, seconds: float) -> tuple[list[float], int, float]:
    """Seconds of each request, the number of reports, and the seconds in all. Each report is sent once."""
    fleet = Fleet(billboard)
    length = fleet.parameters.length

    async def sender(until: float) -> list[float]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        times, stock = [], b""
        while time.perf_counter() < until:
            if not stock:
                stock = fleet.reports(np.zeros((BODY * 8, SIZE)))
            sent, stock = stock[: body * length], stock[body * length :]
            began = time.perf_counter()
            await _ask(reader, writer, f"POST /reports HTTP/1.1\r\ncontent-length: {len(sent)}", sent)
            times.append(time.perf_counter() - began)
        writer.close()
        await writer.wait_closed()
        return times

    began = time.perf_counter()
    every = await asyncio.gather(*(sender(began + seconds) for _ in range(CONNECTIONS)))
    return [t for times in every for t in times], sum(map(len, every)) * body, time.perf_counter() - began


async def _billboard(port: int) -> bytes:
    """As soon as it is shown."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            return await _ask(reader, writer, "GET /billboard HTTP/1.1", b"")
        except RuntimeError:
            await asyncio.sleep(0.05)
        finally:
            writer.close()
            await writer.wait_closed()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: str, body: bytes) -> bytes:
    said = f"{head}\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\n\r\n"
    writer.write(said.encode() + body)
    found = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", found)
    if not found.startswith(b"HTTP/1.1 200") or length is None:
        raise RuntimeError("Expected a shuffler that answers, got a refusal.")
    return await reader.readexactly(int(length[1]))


def parts(billboard: bytes) -> list[dict[str, Any]]:
    """CPU time of one report in each step, alone and, for the shuffler, among BODY."""
    client = ShuffleClient(billboard)
    arms = np.eye(DIM)

    def reported() -> None:
        own = copy.copy(client)  # each person has one
        own.randomize(own.choose(arms), 1.0)

    shuffler = Shuffler(billboard)
    many = Fleet(billboard).reports(np.zeros((BODY, SIZE)))
    intake, _ = shuffler.check(many)
    folder = tempfile.mkdtemp(prefix="reticent-bench-")
    journal = Journal(os.path.join(folder, "bench.db"), None, os.path.join(folder, "bench.witness"))
    journal.open()
    journal.begin(0, billboard)
    place = iter(range(10**9))
    signer, secret, of = identity.drawn(), hpke.drawn(), shuffler.parameters
    key = sealed.checked(sealed.shown_key(signer, secret, of), identity.public(signer))
    hidden = sealed.sealed(many[: len(many) // BODY], key)
    steps: dict[str, tuple[int, Callable[[], Any]]] = {
        "choose and randomise, on the device": (1, reported),
        "open one that came through a relay": (1, lambda: sealed.opened(hidden, secret, of)),
        f"check {BODY}": (BODY, lambda: shuffler.check(many)),
        f"sum {BODY}": (BODY, lambda: shuffler.take(intake)),
        f"commit {BODY}": (BODY, lambda: journal.write(0, next(place), intake)),
    }
    try:
        return [{"what": what, "cpu_us_per_report": _timed(call) / n} for what, (n, call) in steps.items()]
    finally:
        journal.close()
        shutil.rmtree(folder)


def _timed(call: Callable[[], Any], times: int = 300) -> float:
    """Microseconds of CPU."""
    call()
    before = time.process_time()
    for _ in range(times):
        call()
    return 1e6 * (time.process_time() - before) / times
