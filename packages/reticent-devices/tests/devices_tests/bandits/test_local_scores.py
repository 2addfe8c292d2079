"""LocalIRLS without curvature: scores alone."""

import json
import math

import numpy as np
import pytest
from numpy.random import default_rng

from reticent import Budget, Simulated
from reticent.features import Number, Schema
from reticent.model.scores import PACE, REACH, TURN
from reticent_devices import LocalIRLS
from reticent_devices.bandits.server import named
from reticent_devices.roles.local import LocalClient

BUDGET = Budget(4.0, 1e-6)


def make(**options):
    return named(LocalIRLS, **{"features": 3, "radius": 2.0, "budget": BUDGET, "curvature": "none"} | options)


def seeded(**options):
    return make(source=Simulated(1), policy=default_rng(2), **options)


@pytest.mark.parametrize(
    ("link", "rewards", "steep"), [("logistic", (0.0, 1.0), 0.25), ("identity", (-1.0, 3.0), 0.25)]
)
def test_the_estimate_is_a_multiple_of_the_sum_of_reports(link, rewards, steep):
    """Against the formula in numpy: what each device decodes to, added up with the discount, times eta."""
    server = seeded(link=link, range=rewards, first=4, forced=4, growth=1.5, discount=0.8)
    rng, step, sums, weight = default_rng(0), np.zeros(3), np.zeros(3), 0.0
    last = 0
    for n in range(40):
        version = server.version
        client = LocalClient(server.billboard(), noise=server._noise(), draws=server._draws())
        if server.version > version:
            sums, weight = 0.8 * sums + step, 0.64 * weight + n - last
            last, step = n, np.zeros(3)
            length = max(4, math.floor(1.5 * n) - n)
            eta = 1 / (server.std * math.sqrt(weight) * math.sqrt(3) / (PACE * 2) + 2 * steep * length / TURN)
            theta = eta * sums * min(1.0, REACH * 2 / np.linalg.norm(eta * sums))
            np.testing.assert_allclose(client._theta, theta, rtol=1e-12)
        x, reward = rng.standard_normal(3) / 3, float(rng.uniform(*rewards))
        before = server._state.sums[0].copy()
        server.observe(client.report(x, reward))
        step += server._state.sums[0] - before
    assert server.version > 3 and server.theta.any()


def test_a_device_sends_its_score_and_plays_the_best_arm():
    server = make(budget=Budget(math.inf, 0.0), source=Simulated(1), policy=default_rng(2), first=5, forced=5)
    rng = default_rng(0)
    arms = rng.standard_normal((4, 3)) / 3
    while server.version < 2:
        client = server.device()
        server.observe(client.report(arms[rng.integers(4)], 1.0))
        server.billboard()
    client, theta = server.device(), server.theta
    assert client.choose(arms).index == int(np.argmax(arms @ theta))
    x, mean = arms[1], 1 / (1 + math.exp(-arms[1] @ theta))
    for reward in (0.0, 0.25, 1.0):
        expected = (reward - mean) / max(mean, 1 - mean) * x / np.linalg.norm(x)
        np.testing.assert_allclose(client.contribution(x, reward), expected, rtol=1e-12)
    assert not client.contribution(x, None).any() and not client.contribution(np.zeros(3), 1.0).any()


def test_the_first_users_explore_and_their_chances_are_told():
    server = seeded(first=5, forced=20)
    assert json.loads(server.billboard())["policy"] == {"name": "best", "random": True}
    client, arms = server.device(), np.eye(3)
    played = [client.choose(arms).index for _ in range(300)]
    assert min(played.count(i) for i in range(3)) > 60  # 100 +- 8 each: 4.9 standard deviations
    assert client.chance(arms, 0).value == pytest.approx(1 / 3, abs=0.04)
    while server.version < 5:
        server.observe(client.report(arms[0], 1.0))
        server.billboard()
    settled = server.device()
    assert not json.loads(server.billboard())["policy"]["random"]
    assert settled.chance(arms, settled.pick(arms)).value == 1.0


def test_which_of_the_two_by_public_numbers_and_the_certificate_says_so():
    def told(**options):
        return str(named(LocalIRLS, budget=BUDGET, **options)._release().statistic)

    assert "the score" in told(features=50) and "without curvature, as dimensions are 50 or more" in told(features=50)
    assert "x x'" in told(features=49) and "with curvature, as dimensions are fewer than 50" in told(features=49)
    assert "curvature" not in told(features=6, curvature="none") + told(features=60, curvature="released")
    assert "reward" in told(features=60, public_arms=True)
    fields = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("walk", "ride"))
    assert "as arms are disjoint" in told(features=fields) and "6 numbers" in told(features=fields)
    with pytest.raises(ValueError, match="curvature"):
        make(curvature="some")
    with pytest.raises(ValueError, match="public arms"):
        make(public_arms=True)


def test_reports_and_billboards_stay_short():
    server = LocalIRLS(300, BUDGET)
    assert len(server.billboard()) < 3000
    client = LocalClient(server.billboard(), epsilon=4.0)
    report = client.randomize(client.choose(np.eye(300)[:5]), 1.0)
    assert len(report) == 613  # a letter, an id, a tag, and 2 bytes a number
    server.observe(report)
    assert server.users == 1 and server.privacy.epsilon <= 4.0
