"""LocalSquareCB and LocalReweighted by real devices: they learn, late reports are refused, bounds are attained."""

import json
import math

import numpy as np
import pytest

from papers_tests.test_reweighted import positive_definite
from reticent import Budget
from reticent.errors import BadBillboard, BadReport, WrongBatch
from reticent.privacy.randomness import Seeded
from reticent_devices.bandits.server import named
from reticent_papers import LocalReweighted, LocalSquareCB
from reticent_papers.local.device import PublishedClient
from reticent_papers.local.statements import STAGES, SumQuery, apart, said

BUDGET, LINEAR = Budget(8.0, 1e-3), {"link": "identity", "range": (-1.0, 1.0)}


def server(kind, **options):
    return named(kind, **{"features": 2, "horizon": 700, "first": 200, "budget": BUDGET} | LINEAR | options)


@pytest.mark.parametrize("kind", [LocalSquareCB, LocalReweighted])
def test_devices_teach_two_epochs(kind):
    """Each device reads the billboard of its time, and sends one report. Which people come is fixed; by the noise
    LocalReweighted's first number is .87 +- .11 of .9, measured: eight standard deviations above 0."""
    made, rng, theta = server(kind, budget=Budget(12.0, 1e-3)), np.random.default_rng(0), np.array([0.9, 0.3])
    steps = set()
    for _ in range(600):
        client = PublishedClient(made.billboard(), epsilon=12.0, delta=1e-3, rewards=(-1.0, 1.0))
        choice = client.choose(rng.uniform(-0.7, 0.7, (4, 2)))
        assert 0 < choice.propensity <= 1
        made.observe(client.randomize(choice, 1.0 if rng.random() < 0.5 * (1 + choice.features @ theta) else -1.0))
        steps.add(made.version)
    made.billboard()
    assert made.closed == 2 and made.users == 600 and len(steps) > 4
    assert made.theta[0] > 0 if kind is LocalReweighted else made.theta.any()
    assert made.privacy.private and 11.9 < made.privacy.epsilon <= 12 * (1 + 1e-6) and made.privacy.spent > 0


@pytest.mark.parametrize("kind", [LocalSquareCB, LocalReweighted])
def test_a_report_for_a_closed_step_is_refused(kind):
    made = server(kind)
    first = PublishedClient(made.billboard())
    late = first.randomize(first.choose([[0.5, 0.1]]), 1.0)
    while made.version == 0:
        client = PublishedClient(made.billboard())
        made.observe(client.randomize(client.choose([[0.5, 0.1]]), 1.0))
        made.billboard()
    users = made.users
    with pytest.raises(BadReport) as error:
        made.observe(late)
    assert made.users == users and isinstance(error.value, WrongBatch)


@pytest.mark.parametrize("link", ["identity", "logistic", "probit"])
@pytest.mark.parametrize("stage", STAGES)
def test_no_question_sets_two_people_farther_apart_than_devices_count_on(link, stage):
    """Random people; U ill-conditioned, not positive, not the square of `half`: at most 1 apart, and nearly that."""
    rng, most = np.random.default_rng(1), 0.0
    for turn in range(1200):
        matrix = positive_definite(rng, 2, 10.0 ** rng.uniform(0, 6))
        half = np.linalg.cholesky(matrix) if turn % 3 else rng.standard_normal((2, 2))
        if turn % 7 == 0:
            matrix = matrix - 2 * np.eye(2)
        point = rng.standard_normal(2) * rng.choice([0.0, 1.0, 100.0])
        asked = SumQuery(stage, matrix, half, point, float(rng.choice([0.5, 3.0])), rng.uniform(0.1, 2), 0.1)
        people = []
        for _ in range(2):
            x = rng.standard_normal(2)
            if people and turn % 2:
                x = np.linalg.solve(matrix, -matrix @ people[0][0] + 1e-3 * rng.standard_normal(2))
            reward = float(rng.integers(2)) if link != "identity" else rng.choice([-1.0, 1.0])
            people.append((x / np.linalg.norm(x), reward))
        one, two = (said(x, r, asked, link) for x, r in people)
        norm, far = apart(asked, link)
        assert max(np.linalg.norm(one), np.linalg.norm(two)) <= norm / far * (1 + 1e-9)
        most = max(most, float(np.linalg.norm(one - two)))
    assert 0.8 < most <= 1 + 1e-9


def test_a_gradient_of_square_cb_is_bounded_at_every_iterate():
    rng, board, most = np.random.default_rng(2), json.loads(server(LocalSquareCB).billboard()), 0.0
    for _ in range(500):
        h = 10.0 ** rng.uniform(-6, 0)
        hostile = board | {"theta": list(rng.choice([0.0, 1.0, 1e9]) * rng.standard_normal(2))}
        client = PublishedClient(json.dumps(hostile).encode(), noise=Seeded(np.random.default_rng(0)))
        users = [np.array([math.cos(h), sign * math.sin(h)]) for sign in (1, -1)]
        rows = [client.contribution(x, y) for x in users for y in (-1.0, 1.0)]
        assert max(np.linalg.norm(row) for row in rows) <= 1 + 1e-12
        most = max(most, *(np.linalg.norm(one - two) for one in rows for two in rows))
    assert 1.9 < most <= 2.0


def test_reports_that_hold_matrices_have_few_features():
    wide = LocalReweighted(257, BUDGET, horizon=700, first=400)
    with pytest.raises(BadBillboard, match="at most 256 features"):
        wide.billboard()
    flat = LocalSquareCB(5000, BUDGET, horizon=700, first=400)
    client = PublishedClient(flat.billboard())
    flat.observe(client.randomize(client.choose(np.eye(3, 5000)), 1.0))
    assert flat.users == 1
