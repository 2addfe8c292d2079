"""What a device and a shuffler refuse of a server, and numbers of users that must be whole."""

import json
import math

import numpy as np
import pytest

from devices_tests.roles.fleet import Fleet
from reticent import Budget, Reward
from reticent.errors import BadBillboard
from reticent.privacy.randomness import Seeded
from reticent_devices import ShuffleNewton
from reticent_devices.roles import limits
from reticent_devices.roles.shuffle import ShuffleClient
from reticent_devices.roles.shuffler import Shuffler

BUDGET = Budget(1.0, 1e-2)
SERVER = ShuffleNewton(2, BUDGET, first=60)
DOCUMENT = json.loads(SERVER.billboard())


def board(**plan):
    return json.dumps(DOCUMENT | {"plan": DOCUMENT["plan"] | plan}).encode()


@pytest.mark.parametrize(
    "plan",
    [
        *({"trials": 0}, {"users": 1, "minimum": 1, "trials": 49}, {"minimum": 1, "trials": 49}, {"malicious": 60}),
        *({"laplace": 3.0, "reach": DOCUMENT["plan"]["reach"] + 120}, {"epsilon": None}),
    ],
)
def test_a_plan_without_coins_is_for_simulation_only(plan):
    for kind in (ShuffleClient, Fleet, lambda made: Shuffler(made, budget=BUDGET)):
        with pytest.raises(BadBillboard, match="people's data"):
            kind(board(**plan))
    ShuffleClient(board(**plan), noise=Seeded(np.random.default_rng(0)))


def test_a_shuffler_with_a_budget_recomputes_epsilon():
    Shuffler(SERVER.billboard(), budget=BUDGET)
    grid, norm = 2 * DOCUMENT["plan"]["grid"], DOCUMENT["plan"]["norm"]
    for weaker in ({"minimum": 50}, {"trials": 50}, {"malicious": 9}, {"grid": grid, "reach": math.ceil(grid * norm)}):
        Shuffler(board(**weaker))
        with pytest.raises(BadBillboard, match="epsilon at most 1"):
            Shuffler(board(**weaker), budget=BUDGET)
    with pytest.raises(BadBillboard, match="epsilon at most 0.9"):
        Shuffler(SERVER.billboard(), budget=Budget(0.9, 1e-2))


@pytest.mark.parametrize(
    "server",
    [
        SERVER,
        ShuffleNewton(3, BUDGET, Reward("probit", 4.0), first=60),
        ShuffleNewton(3, BUDGET, Reward("identity", range=(-2.0, 1.0)), first=60),
        ShuffleNewton(3, BUDGET, first=60, curvature="none"),
        ShuffleNewton(3, BUDGET, Reward("identity", range=(-2.0, 1.0)), first=60, curvature="none"),
    ],
)
def test_the_shufflers_sensitivity_is_the_servers(server):
    document = json.loads(server.billboard())
    assert limits.shuffled_sensitivity(document) == pytest.approx(server.contribution.sensitivity, rel=1e-9)
    Shuffler(server.billboard(), budget=BUDGET)


@pytest.mark.parametrize("long", [50.0, np.int8(16), np.int32(2**16), np.int64(2**32)])  # squares wrap around to 0
def test_a_fleet_cuts_long_rows_and_sends_noise_for_what_is_not_finite(long):
    fleet = Fleet(SERVER.billboard())
    size, plan = fleet.parameters.size, SERVER.analyzer.plan(0)
    rows = np.frombuffer(fleet.reports(np.full((400, size), long)), fleet.parameters.record)["counts"]
    mean = (rows - plan.reach - plan.trials / 2).mean(axis=0) / plan.scale
    assert np.linalg.norm(mean) == pytest.approx(SERVER.analyzer.norm, rel=0.2)  # ten times its standard error
    for bad in (np.nan, np.inf, 1e300):
        vectors = np.full((400, size), bad)
        vectors[0] = 0.0
        rows = np.frombuffer(fleet.reports(vectors), fleet.parameters.record)["counts"]
        assert np.linalg.norm((rows - plan.reach - plan.trials / 2).mean(axis=0) / plan.scale) < 0.2  # five times that
    with pytest.raises(ValueError, match="shape"):
        fleet.reports(np.zeros((3, size + 1)))


@pytest.mark.parametrize(
    ("malicious", "dropout", "first"), [(0.07, 0.0, 50), (0.0, 0.07, 100), (0.14, 0.0, 100), (0.1, 0.2, 90)]
)
def test_whole_numbers_of_users_are_calibrated_as_they_are_charged(malicious, dropout, first):
    made = ShuffleNewton(2, BUDGET, first=first, growth=2.0, malicious=malicious, dropout=dropout)
    for batch in range(4):
        plan = made.analyzer.plan(batch)
        assert 0.9 < made.analyzer.epsilon(plan, made.analyzer.minimum(plan)) <= 1.0 + 1e-6
    assert made.analyzer.liars(made.analyzer.plan(1)) == {0.07: 7, 0.0: 0, 0.14: 28, 0.1: 18}[malicious]


def test_surplus_reports_count_for_nothing():
    plan = SERVER.analyzer.plan(0)
    assert SERVER.analyzer.epsilon(plan, 600) == SERVER.analyzer.epsilon(plan, 60)


def batch(server, users):
    shuffler = Shuffler(server.billboard(), budget=BUDGET)
    for _ in range(users):
        client = ShuffleClient(server.billboard())
        shuffler.add(client.randomize(client.choose([[0.6, 0.0]]), 1.0))
    return shuffler.close()


def test_a_server_with_malicious_users_goes_on_after_its_first_batch():
    made = ShuffleNewton(2, BUDGET, first=50, malicious=0.07)
    made.observe(batch(made, 50))
    assert made.users == 50 and json.loads(made.billboard())["batch"] == 1 and made.privacy.private


def test_a_batch_whose_successor_cannot_be_planned_changes_nothing():
    made = ShuffleNewton(2, BUDGET, first=60)
    full = batch(made, 60)
    object.__setattr__(made.analyzer, "sensitivity", -1.0)  # no plan can be made from here on
    with pytest.raises(ValueError, match="sensitivity"):
        made.observe(full)
    assert made.users == 0 and made.version == 0
