"""What a device of the shuffle model works out of a billboard's plan, beside the enumerated truth: no hostile plan that
it accepts has less noise than it claims. And a person's limits, and one report to a batch."""

import copy
import json
import math
import os
import pickle
import secrets

import numpy as np
import pytest
from numpy.random import default_rng

from devices_tests.roles.boards import COARSE, SERVERS, changed, device, document, encoded, people, published
from devices_tests.roles.fleet import Fleet
from devices_tests.roles.test_outbox import WAIT, World
from devices_tests.roles.true_cost import delta_of_two
from reticent import Budget
from reticent.errors import BadBillboard, TooManyReports
from reticent_devices.roles import shuffle
from reticent_devices.roles.outbox import WEEK

SEED = int(os.environ.get("RETICENT_FUZZ_SEED", secrets.randbits(32)))
PLANNED = [name for name in SERVERS if name.startswith("newton")]
KEYS = ["grid", "norm", "trials", "minimum", "malicious", "epsilon", "delta", "curvature", "users"]


def true_delta(board, client, epsilon):
    """At epsilon, with the fewest honest reports: of the two people, among some, whose data are farthest apart."""
    plan = json.loads(board)["plan"]
    data = [arms[0] / max(1.0, np.linalg.norm(arms[0])) for arms, _ in people(client.dim, client.rewards)]
    rows = np.array([client.contribution(x, reward) for x in data for reward in client.rewards]) * plan["grid"]
    apart = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    one, other = np.unravel_index(np.argmax(apart), apart.shape)
    return delta_of_two(rows[one], rows[other], (plan["minimum"] - plan["malicious"]) * plan["trials"], epsilon)


def hostile_plan(made, rng):
    """A plan that looks like an honest one: some of its numbers are multiplied, its reach follows."""
    made = copy.deepcopy(made)
    plan = made["plan"]
    for _ in range(rng.integers(1, 4)):
        key = str(rng.choice(KEYS))
        factor = float(rng.choice([0.1, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0, 10.0, 100.0]))
        if key == "curvature":
            made["curvature"], made["moment"] = made["curvature"] * factor, made["moment"] * factor
        elif key == "malicious":
            plan[key] = int(rng.integers(plan["users"]))
        elif isinstance(plan[key], int):
            plan[key] = max(1, round(plan[key] * factor))
        else:
            plan[key] = min(plan[key] * factor, 0.9) if key == "delta" else plan[key] * factor
    plan["reach"] = math.ceil(plan["grid"] * plan["norm"])
    return encoded(made)


@pytest.mark.parametrize("each", [30, pytest.param(1000, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", PLANNED)
def test_no_hostile_plan_that_a_device_accepts_has_less_noise_than_it_claims(name, each):
    """Would catch a device that believes the server's epsilon or sensitivity, counts users who are not promised, or has
    a bound that is none."""
    rng, accepted = default_rng([SEED, PLANNED.index(name)]), 0
    for number in range(each):
        board = hostile_plan(json.loads(published(name)[number % 2]), rng)
        told = f"RETICENT_FUZZ_SEED={SEED}, {name}, number {number}: {json.loads(board)['plan']}"
        try:
            client = shuffle.ShuffleClient(board)
        except BadBillboard:
            continue
        accepted += 1
        claim = json.loads(board)["plan"]
        true = true_delta(board, client, claim["epsilon"])
        assert true <= claim["delta"], (told, true)
        assert true_delta(board, client, client.cost.epsilon) <= client.cost.delta, told
        assert client.cost.epsilon <= claim["epsilon"] * (1 + 1e-6), told
    assert 0 < accepted < each, "a fuzz that is always refused, or never, tests nothing"


@pytest.mark.parametrize("name", ["newton-narrow", "newton-scores", "newton-scores-linear", "newton-fields"])
def test_an_honest_plan_costs_what_it_claims_and_not_much_less(name):
    """The enumerated truth is within the claim, and near it at the first billboard; how near the people who are tried
    come at a later one depends on what was learnt from random reports."""
    for board, least in zip(published(name), (0.3, 0.0), strict=True):
        client = device(board)
        assert 0.999 * COARSE.epsilon < client.cost.epsilon <= COARSE.epsilon * (1 + 1e-6)
        assert least * COARSE.delta < true_delta(board, client, COARSE.epsilon) <= COARSE.delta
        plan = json.loads(board)["plan"]
        grid = 1.25 * plan["grid"]
        with pytest.raises(BadBillboard, match="coins that give the claimed epsilon 1"):
            device(changed_plan(board, grid=grid, reach=math.ceil(grid * plan["norm"])))


def changed_plan(board, **values):
    made = json.loads(board)
    return encoded(made | {"plan": made["plan"] | values})


def test_a_devices_limit_is_its_own():
    board = published("newton")[1]
    for own in (Budget(1.0, 1e-2), Budget(8.0, 0.5)):
        shuffle.ShuffleClient(board, budget=own)
    for own in (Budget(0.99, 1e-2), Budget(8.0, 1e-3), Budget(0.5, 0.5)):
        with pytest.raises(BadBillboard, match="epsilon at most"):
            shuffle.ShuffleClient(board, budget=own)
    generous = changed("newton", "plan", "epsilon", to=50.0)  # its noise gives 1, whatever it says
    assert shuffle.ShuffleClient(generous, budget=COARSE).cost == shuffle.ShuffleClient(board).cost
    for wrong in (1.0, (1.0, 1e-2), "1"):
        with pytest.raises(ValueError, match="a Budget"):
            shuffle.ShuffleClient(board, budget=wrong)
    with pytest.raises(TypeError):
        shuffle.ShuffleClient(board, epsilon=1.0)


def test_a_fleet_believes_no_plan_either():
    with pytest.raises(BadBillboard, match="coins that give the claimed epsilon"):
        Fleet(changed_plan(published("newton")[1], trials=50))


# one report to a batch


@pytest.mark.parametrize("name", ["newton", "newton-scores"])
def test_a_device_reports_its_first_choice_of_a_batch_and_no_other(name):
    """Whatever comes of the first one: twenty reports of a person in one batch move its sum twenty times as far."""
    client = device(published(name)[0])
    first, *others = [client.choose(np.eye(client.dim)) for _ in range(20)]
    assert first.reported and not any(choice.reported for choice in others)
    for choice in others:
        for reward in (0.0, 1.0, None, math.nan):
            with pytest.raises(TooManyReports, match="one choice of a user in a batch"):
                client.randomize(choice, reward)
    assert client.randomize(first, 1.0) == client.randomize(first, 0.0)
    kept, choice = pickle.loads(pickle.dumps((client, client.choose(np.eye(client.dim)))))
    with pytest.raises(TooManyReports):
        kept.randomize(choice, 1.0)


def test_a_local_device_reports_every_choice():
    client = device(published("irls")[1])
    assert all(client.choose(np.eye(2)).reported for _ in range(3)) and client.batch is None
    assert client.cost == Budget(**document("irls")["claim"])


def test_an_outbox_answers_a_batch_once_also_after_weeks_and_restarts(tmp_path):
    """The server asks again and again for batch 1, with the same billboard and with others."""
    again, reported, sent = [published("newton")[1], changed("newton", "theta", to=[0.5, 0.5])], [], []
    for day in range(20):
        world = World(tmp_path / "kept", now=day * WEEK / 5)
        ticket = world.outbox.choose(again[day % 2], [[0.6, 0.1], [0.1, 0.9]])
        reported.append(ticket.reported)
        world = World(tmp_path / "kept", now=world.now)
        world.outbox.reward(ticket.id, 1.0)
        world.at(world.now + 2 * WAIT).flush()
        sent += world.sent
    assert reported == [True] + [False] * 19 and len(sent) == 1
    assert world.outbox.choose(changed("newton", "batch", to=2), [[0.6, 0.1]]).reported


def test_a_choice_that_is_not_reported_takes_nothing_of_the_weeks_limit(tmp_path):
    box = World(tmp_path / "kept", weekly=1).outbox
    assert box.choose(published("newton")[1], [[0.6, 0.1]]).reported
    assert not box.choose(published("newton")[1], [[0.6, 0.1]]).reported
    with pytest.raises(TooManyReports, match="at most 1 reports in a week"):
        box.choose(changed("newton", "batch", to=2), [[0.6, 0.1]])
