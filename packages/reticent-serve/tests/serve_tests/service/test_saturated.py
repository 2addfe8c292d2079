"""Writers that saturate the server: releases go on meanwhile, and memory stays as it is."""

import asyncio
import contextlib
import itertools
import json
import os
import time
from pathlib import Path

import pytest

from core_tests.made import algorithm
from reticent import Budget
from reticent.kernels.rounds import next_boundary
from reticent_serve.holders.postgres import Postgres
from reticent_serve.holders.sqlite import SQLite
from serve_tests.service.servers import Running
from serve_tests.store.conftest import folder, on_postgres, postgres  # noqa: F401
from tools.bench.serve import BATCH, CONFIG, CONNECTIONS, _post

ARMS = [[float(i == j) for j in range(5)] for i in range(5)]
STORED = CONFIG + 'database = "bench.db"\n'
SOON = STORED.replace("1 second", "0.05 seconds") + "delay = 0.0\n"


def steps(entered):
    """That end by so many entries."""
    schedule, count, end = algorithm(features=5, budget=Budget(1.0, 1e-6)).one_pass(exact=True).plan.schedule, 0, 0
    while (end := int(next_boundary(end, *schedule))) <= entered:
        count += 1
    return count


def saturate(servers, each, wanted):
    """Choices with their rewards by each of 16 connections to each server, as fast as they answer: so many, and more
    until so many releases are used. All servers are asked the same, and answer the same. Returns what the status says
    meanwhile, now and then: the entries, and the version that choices are made by."""
    seen, done = [], asyncio.Event()

    async def one(server, number):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for i in itertools.count():
            if i >= each and done.is_set():
                break
            asked = json.dumps({"request": f"{number} {i}", "arms": ARMS})
            reply = json.loads(await _post(reader, writer, "choose", asked))
            await _post(reader, writer, "reward", json.dumps({"id": reply["id"], "reward": 1.0}))
        writer.close()

    async def look():
        until = time.monotonic() + 300  # against an endless wait
        while (not seen or seen[-1][1] < wanted) and time.monotonic() < until:
            await asyncio.sleep(0.5)
            seen.append(await asyncio.to_thread(status, servers[len(seen) % len(servers)]))
        done.set()

    async def all_of_them():
        await asyncio.gather(look(), *(one(server, number) for server in servers for number in range(CONNECTIONS)))

    asyncio.run(all_of_them())
    return seen


def status(server):
    code, _, text = server.ask("GET", "/v1/bandits/bench/status", timeout=300)
    assert code == 200, text
    found = json.loads(text)
    return found["entered"], found["version"]


def check(servers, database, each):
    """Entries and releases that wait until writers rest would leave the version at 0 while they write. Here half of the
    steps whose choices have entered are released at any time, but for two. Both are counted in steps: how fast the
    machine is, is none of it."""
    seen = saturate(servers, each, wanted=5)
    assert seen[-1][1] >= 5 and all(version >= steps(entered) / 2 - 2 for entered, version in seen), seen
    until = time.monotonic() + 300
    while (found := status(servers[0]))[0] < CONNECTIONS * each or found[1] < steps(found[0]):
        assert time.monotonic() < until
        time.sleep(0.2)
    for server in servers:
        assert server.stop() == 0
    with contextlib.closing(database()) as opened, opened.transaction() as run:
        ((step, entered),) = run("SELECT step, settled FROM open_step")
        leaves = [leaf for (leaf,) in run("SELECT step FROM leaf ORDER BY step")]
        answers = run("SELECT count(DISTINCT request), count(*) FROM choice")[0]
    assert leaves == list(range(step)) and step >= steps(CONNECTIONS * each)
    assert answers[0] == answers[1] >= CONNECTIONS * each and entered <= 2 * answers[0]


@pytest.mark.parametrize("each", [20, pytest.param(2000, marks=pytest.mark.full)])
def test_releases_on_sqlite_go_on(folder, each):  # noqa: F811
    check([Running(folder, SOON)], lambda: SQLite(folder / "bench.db"), each)


@pytest.mark.parametrize("each", [60, pytest.param(2000, marks=pytest.mark.full)])
def test_releases_of_two_workers_go_on(on_postgres, folder, each):  # noqa: F811
    text = SOON.replace('"bench.db"', f'"{on_postgres.where}"\nkeys = "{on_postgres.keys}"')
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
            asks = [usual | {"request": f"{prefix} {number} {i + j}"} for j in range(BATCH)]
            asks[0]["propensity"] = True
            found = [json.loads(line) for line in await post(reader, writer, "choose:batch", [*asks, {"arms": 1}])]
            assert list(found.pop()) == ["error"]
            ids = [each["id"] for each in found]
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
    server = Running(folder, STORED + "pending = 2000\n")
    visit(server, "first", rows // 6)
    before = resident(server)
    visit(server, "then", rows - rows // 6)
    after = resident(server)
    assert server.stop() == 0
    assert after - before < most, (before, after)
