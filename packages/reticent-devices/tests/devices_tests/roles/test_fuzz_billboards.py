"""Thousands of damaged billboards: each is refused, or no datum makes a device behave otherwise than another does.

Every run has another seed; a failure names it, and RETICENT_FUZZ_SEED repeats it."""

import contextlib
import json
import math
import os
import secrets

import numpy as np
import pytest
from numpy.random import default_rng

from devices_tests.roles.boards import (
    ALL,
    COARSE,
    Stream,
    behaviour,
    device,
    document,
    fellows,
    is_local,
    mutated,
    people,
    published,
)
from devices_tests.roles.fleet import Fleet
from reticent.errors import BadBillboard
from reticent.privacy import gaussian, randomness
from reticent_devices import Shuffler
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import limits

SEED = int(os.environ.get("RETICENT_FUZZ_SEED", secrets.randbits(32)))
EACH = 400  # damaged billboards of each of the 20 kinds
MOST = 1 << 26  # random bytes of a report


def accepted(board):
    """A device at this billboard, or None where it is refused; any other error is a failure."""
    try:
        return device(board)
    except BadBillboard:
        return None


def test_no_damaged_billboard_makes_two_data_behave_differently(served, monkeypatch):
    name, index = served, list(fellows(served)).index(served)
    rng, stream = default_rng([SEED, index]), Stream(SEED)
    made = [json.loads(board) for board in published(name)]
    models = [other for other in fellows(name) if is_local(other) == is_local(name) and other != name]
    others = [document(other) for other in models]
    data = people(made[0]["dim"], tuple(made[0]["rewards"]))
    monkeypatch.setattr(randomness, "octets", stream)
    kept = 0
    for number in range(EACH):
        board = mutated(made[number % 2], others[rng.integers(len(others))], rng)
        told = f"RETICENT_FUZZ_SEED={SEED}, {name}, number {number}: {board[:3000]!r}"
        try:
            client = accepted(board)
        except Exception as error:
            raise AssertionError(told) from error
        if client is None:
            continue
        kept += 1
        shown = {behaviour(client, arms, reward, stream) for arms, reward in data}
        assert len(shown) == 1, (shown, told)
        assert max([0, *(part for part in shown.pop() if isinstance(part, int))]) <= MOST, told
        assert moved(board, client) <= 1 + 1e-8, told
        if not is_local(name):
            together(board, client, data, budget=number % 4 == 0)
    assert EACH / 50 < kept < EACH, "a fuzz that is always refused, or never, tests nothing"


MOVED = {}  # devices of packages -> (the most that their noise is for, vectors of these data)


def moved(board, client):
    """How far data move the vector that noise is added to, as a share of what the noise is calibrated for."""
    low, high = client.rewards
    data = [
        (arms[0] / max(1.0, np.linalg.norm(arms[0])), r)
        for arms, _ in people(client.dim, (low, high))
        for r in (low, high)
    ]
    if type(client) in MOVED:
        most, rows = MOVED[type(client)](client, data)
    elif hasattr(client, "parameters"):
        plan = client._plan
        most = min(2 * plan["norm"], limits.shuffled_sensitivity(boards.shuffle(board)[1]))
        rows = np.array([client.contribution(x, reward) for x, reward in data])
        assert np.abs(rows).max() * plan["grid"] <= plan["reach"]
        farthest = max(np.linalg.norm(rows - row, axis=1).max() for row in rows)
        mu = farthest * plan["grid"] / math.sqrt((plan["minimum"] - plan["malicious"]) * plan["trials"] / 4)
        assert gaussian.delta(plan["epsilon"], mu) <= plan["delta"], "less noise than it claims"
    elif client._report["name"] == "public":
        return 0.0
    else:
        most = client._sensitivity
        rows = [limits.clipped(client._vector(x, reward), client._norm) for x, reward in [*data, (data[0][0], None)]]
    return max(np.linalg.norm(rows - row, axis=1).max() for row in np.array(rows)) / most


def together(board, client, data, *, budget):
    """What a device accepts a shuffler accepts, and reads its reports; with a budget it refuses or accepts."""
    shuffler = Shuffler(board)
    if client.dim == data[2][0].shape[1]:
        shuffler.add(client.randomize(client.choose(data[2][0]), data[2][1]))
        assert shuffler.reports == 1
    if type(client) not in MOVED:  # a fleet has devices of ours alone
        assert len(Fleet(board).reports(np.zeros((3, client.parameters.size)))) == 3 * client.parameters.length
    else:
        with pytest.raises(BadBillboard):
            Fleet(board)
    if budget:
        with contextlib.suppress(BadBillboard):
            Shuffler(board, budget=COARSE)


def test_our_own_billboards_are_accepted_and_treat_all_data_alike(served, monkeypatch):
    stream = Stream(5)
    for board in published(served):
        client = device(board, rewards=ALL[served]().rewards)
        with monkeypatch.context() as patched:
            patched.setattr(randomness, "octets", stream)
            shown = {behaviour(client, *datum, stream) for datum in people(client.dim, client.rewards)}
        assert len(shown) == 1 and shown.pop()[2] == "sent"


def test_the_fuzz_finds_a_device_whose_errors_depend_on_the_datum(monkeypatch):
    """The test of the test: an error for one reward, one random byte more for another, a longer report for a third."""
    client, stream = device(published("irls")[1]), Stream(0)
    monkeypatch.setattr(randomness, "octets", stream)
    data, honest = people(client.dim, client.rewards), client.report

    def raising(x, reward, id):
        return honest(x, 1 / reward if reward == 0.0 else reward)

    def drawing(x, reward, id):
        randomness.octets(reward == 1.0)
        return honest(x, reward)

    def longer(x, reward, id):
        return honest(x, reward) + b"0" * (reward is None)

    for bad in (raising, drawing, longer):
        monkeypatch.setattr(client, "report", bad)
        assert len({behaviour(client, *datum, stream) for datum in data}) == 2
