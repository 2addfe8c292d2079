"""A bandit that releases scores alone, on a database: its estimate is an average over releases, and the same whoever
computes it."""

import numpy as np

from tacit import JointGLM
from tacit.features import Number, Schema
from tests.store.places import BUDGET, settle, sums

CONTEXT = {"age": Number(0, 100)}


def bandit(*names):
    schema = Schema(context=CONTEXT, arms="disjoint", actions=names, max_actions=4)
    return JointGLM(features=schema, budget=BUDGET, radius=3.0, first=5, curvature="none")


def play(stored, count):
    rng = np.random.default_rng(count)
    for _ in range(count):
        choice = stored.choose({"age": float(rng.integers(100))})
        stored.observe(choice, float(rng.random() < 0.5))
    settle(stored)


def test_every_worker_has_the_same_estimate_and_history(on_sqlite):
    """One that has seen each release as it came, one that starts now; also where an action came between releases."""
    with on_sqlite.open(bandit("walk", "sleep")) as stored:
        play(stored, 23)
        own = stored.algorithm.plan.dim // 4
        assert stored.version == 4 and stored.theta[: 2 * own].all() and not stored.theta[2 * own :].any()
    with on_sqlite.open(bandit("walk", "sleep", "read")) as stored:
        play(stored, 20)
        theta, history, offered = stored.theta, stored.history, stored.offers({"age": 30})
        assert stored.version == 8 and theta[: 3 * own].all() and not theta[3 * own :].any()
        assert abs(offered.probability.sum() - 1) < 1e-6 and (offered.low <= offered.mean).all()
        assert "sums of scores" in stored.privacy.releases[0].statistic and stored.privacy.private
        assert all(len(step) == stored.algorithm.plan.dim for step in sums(stored).values())
    with on_sqlite.open(bandit("walk", "sleep", "read")) as stored:
        assert np.array_equal(stored.theta, theta)
        for one, other in zip(stored.history, history, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        assert np.array_equal(stored.offers({"age": 30}).probability, offered.probability)
