"""Writers that saturate the server: releases go on meanwhile, and memory stays as it is."""

import asyncio
import contextlib
import json
import os
import time
from pathlib import Path

import pytest

from tacit.bench.serve import BATCH, CONFIG, CONNECTIONS, _post
from tacit.holders.postgres import Postgres
from tacit.holders.sqlite import SQLite
from tests.service.servers import Running
from tests.store.conftest import folder, on_postgres, postgres  # noqa: F401

ARMS = [[float(i == j) for j in range(5)] for i in range(5)]
STEP = 41  # choices: so many close a step of this bandit


def saturate(servers, each):
    """So many choices with their rewards by each of 16 connections to each server, as fast as they answer; all servers
    are asked the same, and answer the same. Returns what the status says meanwhile, four times to two connections (more
    would be too many reads): choices, and the version that they are made by."""
    seen = []

    async def one(server, number):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for i in range(each):
            asked = json.dumps({"request": f"{number} {i}", "arms": ARMS})
            reply = json.loads(await _post(reader, writer, "choose", asked))
            await _post(reader, writer, "reward", json.dumps({"id": reply["id"], "reward": 1.0}))
            if number < 2 and (i + 1) % (each // 4) == 0:
                seen.append(await asyncio.to_thread(status, server))
        writer.close()

    async def all_of_them():
        await asyncio.gather(*(one(server, number) for server in servers for number in range(CONNECTIONS)))

    asyncio.run(all_of_them())
    return seen


def status(server):
    code, _, text = server.ask("GET", "/v1/bandits/bench/status", timeout=300)
    assert code == 200, text
    found = json.loads(text)
    return found["choices"], found["version"]


def check(servers, database, each):
    """Releases that wait until writers rest would leave the version at 0 while they write. Here half of the steps that
    are closed are released at any time, but for two. Both are counted in steps: how fast the machine is, is none of
    it."""
    seen = saturate(servers, each)
    choices = CONNECTIONS * each
    until = time.monotonic() + 300  # against an endless wait
    while status(servers[0])[1] < (choices - 1) // STEP:
        assert time.monotonic() < until
        time.sleep(0.2)
    for server in servers:
        assert server.stop() == 0
    with contextlib.closing(database()) as opened, opened.transaction() as run:
        found = run("SELECT choices, step FROM bandit")
        steps = [step for (step,) in run("SELECT step FROM leaf ORDER BY step")]
    assert found == [(choices, len(steps))] and steps == list(range((choices - 1) // STEP))
    assert all(version >= n // STEP / 2 - 2 for n, version in seen), seen


@pytest.mark.parametrize("each", [60, pytest.param(2000, marks=pytest.mark.full)])
def test_releases_on_sqlite_go_on(folder, each):  # noqa: F811
    check([Running(folder, CONFIG + "delay = 0.0\n")], lambda: SQLite(folder / "bench.db"), each)


@pytest.mark.parametrize("each", [60, pytest.param(2000, marks=pytest.mark.full)])
def test_releases_of_two_workers_go_on(on_postgres, folder, each):  # noqa: F811
    text = CONFIG.replace('"bench.db"', f'"{on_postgres.where}"\nkeys = "{on_postgres.keys}"') + "delay = 0.0\n"
    servers = []
    for name in "ab":
        Path(folder / name).mkdir()
        servers.append(Running(folder / name, text))
    check(servers, lambda: Postgres(on_postgres.where), each)


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
