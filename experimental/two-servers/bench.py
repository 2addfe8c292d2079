"""`python experimental/two-servers/bench.py`: what a report costs under two servers, on the device, in bytes, at the
leader and the helper, over HTTP under mutual TLS between the two, each with SQLite, database.

d = 5 for the servers: 20 numbers. Devices and both servers share the machine; each server's CPU time is its own, and
reports a second of a core are computed from it. The time includes the close of a step with all of the reports."""

import asyncio
import contextlib
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from reticent.kernels.rounds import next_boundary
from reticent.privacy.budget import Budget
from reticent_two.bandits.glm import TwoServerGLM
from reticent_two.roles import signed, wire
from reticent_two.roles.device import TwoServerClient
from reticent_two.roles.identity import Identities
from reticent_two.service import files
from tools.bench.roles import tabled
from tools.bench.serve import cpu, running

BUDGET = Budget(1.0, 1e-6)
DIM, FIRST, CONNECTIONS, BODY = 5, 2000, 16, 64
BODIES = {"alone": 1, f"in bodies of {BODY}": BODY}
DIMS, MADE = (5, 10, 20), 50
CONFIG = """
[aggregator]
role = "{role}"
budget = {{epsilon = 1.0, delta = 1e-6}}
database = "{role}.db"
counter = "apart/{role}.counter"
identity = "{role}"
peer_identity = "{theirs}"
peer_certificate = "{peer}.crt"
{more}
"""
LEADER = """peer = "https://127.0.0.1:{port}"
every = 0.05
[bandit]
features = 5
reward = {{radius = 3.0}}
budget = {{epsilon = 1.0, delta = 1e-6}}
options = {{first = {first}, curvature = "released"}}
"""


class Served(NamedTuple):
    """Where the leader answers, the processes of both, and who they are."""

    port: int
    leader: int
    helper: int
    identities: Identities


def measure(progress: Callable[[float], None]) -> list[dict[str, Any]]:
    rows = [device(dim) for dim in DIMS]
    progress(0.2)
    with servers() as served:
        for what, body in BODIES.items():
            rows.append({"what": f"reports over HTTP, {what}"} | asyncio.run(step(served, body)))
            progress(0.2 + 0.4 * body / BODY)
    progress(1.0)
    return rows


def device(dim: int) -> dict[str, Any]:
    """A report, sealed, in Python: processor time."""
    server = TwoServerGLM(dim, BUDGET, curvature="released")
    own, x = server.device(), np.eye(dim)[0]
    own.report(x, 1.0)
    began = time.process_time()
    for _ in range(MADE):
        own.report(x, 1.0)
    seconds = time.process_time() - began
    size, length = server.task.size, wire.length(server.task)
    return {"what": f"a device, {size} numbers", "device_ms": 1e3 * seconds / MADE, "bytes": length}


async def step(served: Served, body: int) -> dict[str, Any]:
    """One step of reports that were made before, until both have closed it."""
    board = await billboard(served.port)
    client, start = TwoServerClient(board, identities=served.identities), signed.read(board).step
    schedule = client.task.steps.schedule
    users = 0
    for _ in range(start):
        users = next_boundary(users, *schedule)
    stock = [client.report(np.eye(DIM)[0], 1.0) for _ in range(next_boundary(users, *schedule) - users)]
    count, before, began = len(stock), (cpu(served.leader), cpu(served.helper)), time.perf_counter()
    times: list[float] = []

    async def sender() -> None:
        while stock:
            some = b"".join(stock.pop() for _ in range(min(body, len(stock))))
            asked = time.perf_counter()
            status, _ = await ask(served.port, "POST /reports", some)
            if status != 200:
                raise RuntimeError(f"Expected reports to be taken, got status {status}.")
            times.append(time.perf_counter() - asked)

    await asyncio.gather(*(sender() for _ in range(CONNECTIONS)))
    while signed.read(await billboard(served.port)).step == start:
        await asyncio.sleep(0.05)
    seconds = time.perf_counter() - began
    spent = [(cpu(process) - was) / count for process, was in zip((served.leader, served.helper), before, strict=True)]
    return {
        "reports": count,
        "per_second": count / seconds,
        "p50_ms": 1e3 * float(np.quantile(times, 0.5)),
        "leader_per_core": 1 / spent[0],
        "helper_per_core": 1 / spent[1],
    }


def render(rows: Sequence[dict[str, Any]]) -> str:
    names = {"device_ms": ("device, ms", ".2f"), "bytes": ("bytes", ",d"), "per_second": ("reports / s", ".0f")}
    names |= {"leader_per_core": ("a core of the leader", ".0f"), "helper_per_core": ("of the helper", ".0f")}
    names |= {"p50_ms": ("p50, ms", ".1f")}
    return tabled(f"{CONNECTIONS} connections, d={DIM} at the servers", names, rows)


@contextlib.contextmanager
def servers() -> Iterator[Served]:
    """Both, whose files are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="reticent-bench-"))
    try:
        (folder / "apart").mkdir()
        known = [files.opened(folder / role).public for role in ("leader", "helper")]
        with socket.socket() as place:
            place.bind(("127.0.0.1", 0))
            port = place.getsockname()[1]
        more = LEADER.format(port=port, first=FIRST), f'listen = "127.0.0.1:{port}"\n'
        for at, role in enumerate(("leader", "helper")):
            peer, theirs = ("helper", "leader")[at], known[1 - at].hex()
            text = CONFIG.format(role=role, peer=peer, theirs=theirs, more=more[at])
            (folder / f"{role}.toml").write_text(text)
        with (
            running("reticent_two", str(folder / "helper.toml"), "--port", "0") as (_, helper),
            running("reticent_two", str(folder / "leader.toml"), "--port", "0") as (found, leader),
        ):
            yield Served(found, leader, helper, Identities(*known))
    finally:
        shutil.rmtree(folder)


async def billboard(port: int) -> bytes:
    while True:
        status, board = await ask(port, "GET /billboard", b"")
        if status == 200:
            return board
        await asyncio.sleep(0.1)


async def ask(port: int, what: str, body: bytes) -> tuple[int, bytes]:
    """Over a connection of its own, as devices do."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{what} HTTP/1.1\r\nhost: a\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
    said = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    reply = await reader.readexactly(int(said.partition("content-length: ")[2].partition("\r")[0]))
    writer.close()
    return int(said.split()[1]), reply


if __name__ == "__main__":
    print(render(measure(lambda share: None)))
