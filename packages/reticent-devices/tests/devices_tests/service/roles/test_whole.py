"""Devices, shuffler and analyzer over the wire: the same bytes as in one process, and the same regret."""

import hashlib
import json
import signal

import numpy as np
import pytest

from devices_tests.service.roles import running
from devices_tests.service.roles.analyzer_stub import Stub, server
from devices_tests.service.roles.running import ask, until
from reticent import Budget, Spec, Uniform, environments, simulate
from reticent.privacy import randomness
from reticent_devices import ShuffleNewton
from reticent_devices.roles.shuffle import ShuffleClient
from reticent_devices.roles.shuffler import Shuffler

FIRST, BATCHES = 60, 3


class RandomBytes:
    """The same random bytes again and again."""

    def __init__(self):
        self._drawn = 0

    def __call__(self, count):
        self._drawn += 1
        return hashlib.shake_256(str(self._drawn).encode()).digest(count)


def devices(billboard, count, seed):
    rng = np.random.default_rng(seed)
    return [running.report(billboard, rng) for _ in range(count)]


def in_process():
    """Billboards, reports and messages of some batches."""
    here, said = server(FIRST), []
    for k in range(BATCHES):
        board = here.billboard()
        sent, shuffler = devices(board, here.wanted, k), Shuffler(board, budget=Budget(1.0, 1e-6))
        for report in sent:
            shuffler.add(report)
        here.observe(shuffler.close())
        said += [board, *sent, shuffler.close()]
    return [*said, here.billboard()]


def over_the_wire(start):
    """The same by way of three processes; what passes from shuffler to analyzer passes through this one."""
    analyzer = start("analyzer", running.analyzer(FIRST))
    between, said = Stub(running.billboard(analyzer.port)), []
    shuffler = start("shuffler", running.shuffler(between.port))
    for k in range(BATCHES):
        board = until(lambda: (found := running.billboard(shuffler.port)) == between.billboard and found)
        sent = devices(board, server(FIRST).analyzer.plan(k).users, k)
        for report in sent:
            assert ask(shuffler.port, "POST", "/reports", report)[0] == 200
        message = until(lambda k=k: dict(between.batches).get(k))
        assert ask(analyzer.port, "POST", f"/batches/{k}", message)[0] == 200
        between.billboard = ask(analyzer.port, "GET", "/billboard")[2]
        said += [board, *sent, message]
    between.close()
    return [*said, between.billboard]


def test_bytes_over_the_wire_are_those_in_process(start, monkeypatch):
    monkeypatch.setattr(randomness, "octets", RandomBytes())
    here = in_process()
    monkeypatch.setattr(randomness, "octets", RandomBytes())
    there = over_the_wire(start)
    assert len(here) == len(there) and [a == b for a, b in zip(here, there, strict=True)] == [True] * len(here)
    assert len(set(here)) == len(here)


def test_an_analyzer_that_was_restored_from_a_backup_is_told_again(start):
    """It then has all that it had, from the same bytes, and nobody's report counts in two batches."""
    analyzer, here = start("analyzer", running.analyzer(FIRST)), server(FIRST)
    shuffler = start("shuffler", running.shuffler(analyzer.port))

    def shown(process):
        return until(lambda: here.billboard() == running.billboard(process.port) and here.billboard())

    def everybody(seed):
        sent = b"".join(devices(shown(shuffler), here.wanted, seed))
        assert ask(shuffler.port, "POST", "/reports", sent)[0] == 200
        both = Shuffler(here.billboard())
        both.add_many(sent)
        here.observe(both.close())

    everybody(0)
    shown(analyzer)
    analyzer.kill(signal.SIGTERM)
    backup = (analyzer.folder / "analyzer.db").read_bytes()
    analyzer = start("analyzer", running.analyzer(FIRST), analyzer.port)
    for k in range(1, BATCHES):
        everybody(k)
    shown(shuffler)
    analyzer.kill(signal.SIGTERM)
    (analyzer.folder / "analyzer.db").write_bytes(backup)
    analyzer = start("analyzer", running.analyzer(FIRST), analyzer.port)
    assert b'"batch": 1,' in running.billboard(analyzer.port)
    everybody(BATCHES)
    shown(analyzer)


GLM = """
[analyzer]
kind = "shuffle-glm"
features = 2
reward = {radius = 3.0}
horizon = 120
budget = {epsilon = 1.0, delta = 1e-2}
database = "analyzer.db"
options = {first = 60, iterations = 2, malicious = 0}
"""


WORLD = environments.ball(dim=2, arms=4, radius=3.0, link="logistic")
HORIZON = 200 + 300 + 450 + 675  # four batches: the fourth is played by what the first three tell


def play(start, folder, seed):
    """The regret of devices over the wire."""
    block = WORLD.block(HORIZON)
    WORLD.start(np.random.default_rng(seed), HORIZON).fill(block)
    analyzer = start("analyzer", running.analyzer(200, "{epsilon = 2.0, delta = 1e-6}"), folder=folder / f"a{seed}")
    text = running.shuffler(analyzer.port, budget="{epsilon = 2.0, delta = 1e-6}")
    shuffler = start("shuffler", text, folder=folder / f"s{seed}")
    regret, at = 0.0, 0
    while at < HORIZON:
        board, batch = running.billboard(shuffler.port), []
        while at < HORIZON and len(batch) < json.loads(board)["plan"]["users"]:
            client = ShuffleClient(board)
            choice, means = client.choose(block.arms[at]), block.means[at]
            batch.append(client.randomize(choice, float(block.noise[at] < means[choice.index])))
            regret, at = regret + means.max() - means[choice.index], at + 1
        for i in range(0, len(batch), 100):
            assert ask(shuffler.port, "POST", "/reports", b"".join(batch[i : i + 100]))[0] == 200
    for process in (analyzer, shuffler):
        process.kill()
    return regret


def compare(start, folder, runs, seed):
    """Standard errors between the mean regret over the wire and in simulation; the same for uniform play."""
    specs = [Spec(ShuffleNewton, budget=Budget(2.0, 1e-6), first=200, growth=1.5), Spec(Uniform)]
    ours, uniform = simulate(specs, WORLD, horizon=HORIZON, runs=100, seed=0).rows
    spread = ours["regret_se"] * 10 * (1 / 100 + 1 / runs) ** 0.5
    played = np.mean([play(start, folder, seed + i) for i in range(runs)])
    return (played - ours["regret_mean"]) / spread, (uniform["regret_mean"] - ours["regret_mean"]) / spread


def test_regret_over_the_wire_is_that_of_the_simulation(start, tmp_path):
    """Below 4 but in one of 10^4 cases."""
    distance, uniform = compare(start, tmp_path, runs=2, seed=100)
    assert abs(distance) < 4 and uniform > 8


@pytest.mark.full
def test_regret_over_the_wire_in_more_runs(start, tmp_path):
    distance, uniform = compare(start, tmp_path, runs=12, seed=200)
    assert abs(distance) < 4 and uniform > 20
