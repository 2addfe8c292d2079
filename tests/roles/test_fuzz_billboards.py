"""Thousands of damaged billboards: each is refused, or no datum makes a device behave otherwise than another does.

Every run has another seed; a failure names it, and TACIT_FUZZ_SEED repeats it."""

import contextlib
import json
import math
import os
import secrets

import numpy as np
import pytest
from numpy.random import default_rng

from tacit import Shuffler
from tacit.errors import BadBillboard
from tacit.mechanisms.shuffle.flips import SHARE
from tacit.model.linear import linear_sensitivity
from tacit.privacy import entropy, gaussian
from tacit.roles import billboard as boards
from tacit.roles import limits
from tacit.roles.fleet import Fleet
from tacit_papers.shuffle import rounds
from tacit_papers.shuffle.sblb_device import SBLBClient
from tests.roles.boards import COARSE, LOCAL, SERVERS, Stream, behaviour, device, document, mutated, people, published

SEED = int(os.environ.get("TACIT_FUZZ_SEED", secrets.randbits(32)))
EACH = 400  # damaged billboards of each of the 20 kinds
MOST = 1 << 26  # random bytes of a report


def accepted(board):
    """A device at this billboard, or None where it is refused; any other error is a failure."""
    try:
        return device(board)
    except BadBillboard:
        return None


@pytest.mark.parametrize("name", SERVERS)
def test_no_damaged_billboard_makes_two_data_behave_differently(name, monkeypatch):
    index = list(SERVERS).index(name)
    rng, stream = default_rng([SEED, index]), Stream(SEED)
    made = [json.loads(board) for board in published(name)]
    models = [other for other in SERVERS if (other in LOCAL) == (name in LOCAL) and other != name]
    others = [document(other) for other in models]
    data = people(made[0]["dim"], tuple(made[0]["rewards"]))
    monkeypatch.setattr(entropy, "octets", stream)
    kept = 0
    for number in range(EACH):
        board = mutated(made[number % 2], others[rng.integers(len(others))], rng)
        told = f"TACIT_FUZZ_SEED={SEED}, {name}, number {number}: {board[:3000]!r}"
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
        if name not in LOCAL:
            together(board, client, data, budget=number % 4 == 0)
    assert EACH / 50 < kept < EACH, "a fuzz that is always refused, or never, tests nothing"


def moved(board, client):
    """How far data move the vector that noise is added to, as a share of what the noise is calibrated for."""
    low, high = client.rewards
    data = [
        (arms[0] / max(1.0, np.linalg.norm(arms[0])), r)
        for arms, _ in people(client.dim, (low, high))
        for r in (low, high)
    ]
    if isinstance(client, rounds.RoundsClient):
        plan, most = client._board["plan"], math.sqrt(2) * client._board["largest"]
        rows = [client.contribution(x, reward, client._board) for x, reward in data]
        assert np.abs(rows).max() * plan["grid"] <= plan["reach"]
        coins = (plan["minimum"] - plan["malicious"]) * plan["trials"]
        for i, j in ((0, 2), (1, 4), (2, 5), (0, 1)):
            cells = in_rounds(client, np.linalg.norm(rows[i] - rows[j]), data[i], data[j])
            less = gaussian.delta(plan["epsilon"], cells / math.sqrt(coins / 4)) > plan["delta"]
            assert not less, "less noise than it claims"
    elif isinstance(client, SBLBClient):
        plan, most = client._plan, linear_sensitivity(1.0) / 2
        rows = np.array([client.values(x, reward) for x, reward in data])
        assert (rows >= 0).all() and (rows <= 1 + 1e-15).all()
        p, coins = plan["chance"] / SHARE, (plan["minimum"] - plan["malicious"]) * plan["bits"]
        farthest = max(np.linalg.norm(rows - row, axis=1).max() for row in rows)
        mu = farthest * plan["bits"] * (1 - p) / math.sqrt(coins * p * (2 - p) / 4)
        assert gaussian.delta(plan["epsilon"], mu) <= plan["delta"], "less noise than it claims"
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


def in_rounds(client, first, one, other):
    """How far two people's answers to all rounds are apart, in cells, if the server asks for gradients where they are
    farthest."""
    board, (information, gradient) = client._board, client._board["grids"]
    asked = board | {"round": 1, "plan": board["plan"] | {"norm": 1.0}}
    thetas = [0 * one[0], 1e6 * (one[0] - other[0]), 1e6 * (other[0] - one[0]), 1e6 * (one[0] + other[0])]
    two = ([client.contribution(*user, asked | {"theta": theta}) for user in (one, other)] for theta in thetas)
    later = max(np.linalg.norm(a - b) for a, b in two)
    return math.hypot(information * first, math.sqrt(board["gradients"]) * gradient * later)


def together(board, client, data, *, budget):
    """What a device accepts a shuffler accepts, and reads its reports; with a budget it refuses or accepts."""
    shuffler = Shuffler(board)
    if client.dim == data[2][0].shape[1]:
        shuffler.add(client.randomize(client.choose(data[2][0]), data[2][1]))
        assert shuffler.reports == 1
    if isinstance(client, SBLBClient):
        with pytest.raises(BadBillboard, match="got one of bits"):
            Fleet(board)
    else:
        assert len(Fleet(board).reports(np.zeros((3, client.parameters.size)))) == 3 * client.parameters.length
    if budget:
        with contextlib.suppress(BadBillboard):
            Shuffler(board, budget=COARSE)


@pytest.mark.parametrize("name", SERVERS)
def test_our_own_billboards_are_accepted_and_treat_all_data_alike(name, monkeypatch):
    stream = Stream(5)
    for board in published(name):
        client = device(board, rewards=SERVERS[name]().rewards)
        with monkeypatch.context() as patched:
            patched.setattr(entropy, "octets", stream)
            shown = {behaviour(client, *datum, stream) for datum in people(client.dim, client.rewards)}
        assert len(shown) == 1 and shown.pop()[2] == "sent"


def test_the_fuzz_finds_a_device_whose_errors_depend_on_the_datum(monkeypatch):
    """The test of the test: an error for one reward, one random byte more for another, a longer report for a third."""
    client, stream = device(published("irls")[1]), Stream(0)
    monkeypatch.setattr(entropy, "octets", stream)
    data = people(client.dim, client.rewards)
    honest = client.report

    def raising(x, reward, id):
        return honest(x, 1 / reward if reward == 0.0 else reward)

    def drawing(x, reward, id):
        entropy.octets(reward == 1.0)
        return honest(x, reward)

    def longer(x, reward, id):
        return honest(x, reward) + b"0" * (reward is None)

    for bad in (raising, drawing, longer):
        monkeypatch.setattr(client, "report", bad)
        assert len({behaviour(client, *datum, stream) for datum in data}) == 2
