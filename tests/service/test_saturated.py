"""Writers that saturate the server: every release that is due happens within a second, and memory stays as it is."""

import asyncio
import contextlib
import json
import os
import time
from pathlib import Path

import pytest

from tacit.bench.serve import BATCH, CONFIG, _post, load
from tacit.store.postgres import Postgres
from tacit.store.sqlite import SQLite
from tests.service.servers import Running
from tests.store.conftest import folder, on_postgres, postgres  # noqa: F401

# A release that is committed more than half a delay after its step was closed is late, and an event says so.
DELAY = "delay = 2.0\n"


def saturate(servers, seconds, kind="choose + reward"):
    """As fast as they answer, by 16 connections to each; the number of choices."""

    async def all_of_them():
        return await asyncio.gather(*(load(server.port, kind, seconds) for server in servers))

    return sum(count for _, count, _ in asyncio.run(all_of_them()))


def check(servers, database, seconds):
    choices = saturate(servers, seconds)
    time.sleep(1.0)  # for the last
    for server in servers:
        assert server.stop() == 0
    with contextlib.closing(database()) as opened, opened.transaction() as run:
        ((made, closed),) = run("SELECT choices, step FROM bandit")
        steps = [step for (step,) in run("SELECT step FROM leaf ORDER BY step")]
        events = {what for (what,) in run("SELECT what FROM event")}
    assert 100 * seconds < made <= choices  # two workers are asked the same, and answer the same
    assert steps == list(range(closed)) and closed > 3
    assert not any("late" in what for what in events)


@pytest.mark.parametrize("seconds", [1.5, pytest.param(60.0, marks=pytest.mark.full)])
def test_releases_on_sqlite_happen_within_a_second(folder, seconds):  # noqa: F811
    check([Running(folder, CONFIG + DELAY)], lambda: SQLite(folder / "bench.db"), seconds)


@pytest.mark.parametrize("seconds", [1.5, pytest.param(60.0, marks=pytest.mark.full)])
def test_releases_of_two_workers_happen_within_a_second(on_postgres, folder, seconds):  # noqa: F811
    text = CONFIG.replace('"bench.db"', f'"{on_postgres.where}"\nkeys = "{on_postgres.keys}"') + DELAY
    servers = []
    for name in "ab":
        Path(folder / name).mkdir()
        servers.append(Running(folder / name, text))
    check(servers, lambda: Postgres(on_postgres.where), seconds)


def resident(server):
    """Bytes of memory that its process has."""
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def visit(server, prefix, rows, connections=4):
    """Choices in batches of 32 with names and masks, some with propensities, their rewards, and bad lines."""
    arms = {f"arm {i}": [0.0] * i + [1.0] + [0.0] * (4 - i) for i in range(5)}
    usual = {"arms": arms, "available": ["arm 1", "arm 3"]}

    async def one(number):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for i in range(0, rows // connections, BATCH):
            asks = [usual | {"request": f"{prefix} {number} {i + j}", "deferred": j % 2 == 0} for j in range(BATCH)]
            asks[0]["propensity"] = True
            found = [json.loads(line) for line in await post(reader, writer, "choose:batch", [*asks, {"arms": 1}])]
            assert list(found.pop()) == ["error"]
            ids = [each["id"] for each in found]
            await post(reader, writer, "activate:batch", [{"id": known} for known in ids[::4]])
            await post(reader, writer, "reward:batch", [{"id": known, "reward": 1.0} for known in ids + ids[:3]])
        writer.close()

    async def post(reader, writer, route, given):
        lines = "\n".join(map(json.dumps, given))
        return (await _post(reader, writer, route, lines)).splitlines()

    async def all_of_them():
        await asyncio.gather(*(one(number) for number in range(connections)))

    asyncio.run(all_of_them())


@pytest.mark.parametrize(("rows", "most"), [(12_000, 4e6), pytest.param(1_000_000, 16e6, marks=pytest.mark.full)])
def test_memory_stays_as_it_is(folder, rows, most):  # noqa: F811
    """`most` bytes more than after the first sixth, in which pages, pools and the first keys are made. What is kept for
    each choice is on disk; what expires (here after 2 000 later choices) goes with its keys."""
    server = Running(folder, CONFIG + "pending = 2000\n")
    visit(server, "first", rows // 6)
    before = resident(server)
    visit(server, "then", rows - rows // 6)
    after = resident(server)
    assert server.stop() == 0
    assert after - before < most, (before, after)
