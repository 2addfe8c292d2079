"""A prior and public rows: they help, they are combined after the mechanism, and the certificate names them."""

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from core_tests.made import algorithm, joint
from reticent import Bandit, Budget, JointGLM, Simulated, Spec, environments
from reticent.algorithms import prior
from reticent.algorithms.prior import WarmStart
from reticent.errors import BadState
from reticent.mechanisms.opening import opened
from reticent.model import links
from reticent_serve import Stored

BUDGET = Budget(1.0, 0.02)
THETA = np.array([1.0, -2.0, 0.5])


def rows(count, seed=0, theta=THETA):
    rng = default_rng(seed)
    x = rng.standard_normal((count, 3))
    x /= np.linalg.norm(x, axis=1)[:, None]
    return x, (rng.random(count) < links.named("logistic").mean(x @ theta)).astype(float)


def make(**options):
    return joint(features=3, radius=3.0, budget=BUDGET, source=Simulated(4), policy=default_rng(5), **options)


def test_nothing_raw_and_no_noise_changes():
    """The same people leave the same sums and get the same noise, whatever is known: only the estimate differs."""
    plain, told = make(), make(prior=(THETA, 0.0))
    for bandit in (plain, told):
        rng = default_rng(1)
        for _ in range(300):
            bandit.observe(bandit.choose([rng.uniform(-0.5, 0.5, 3)]), float(rng.integers(2)))
    assert told.plan.mechanism == plain.plan.mechanism and told.plan.schedule == plain.plan.schedule
    assert np.allclose(told.theta, plain.theta)  # a precision of 0 says nothing
    told = make(rows=rows(200))
    assert not opened(told.sums.state.prefix).open.any() and not told.sums.state.prefix.released.any()
    assert told.privacy.epsilon == plain.privacy.epsilon


def test_a_fit_to_public_rows_beside_slow_ascent():
    """Gradient ascent in tiny steps finds the same mode; the precision is minus the second derivative there."""
    x, y = rows(150)
    given, link = WarmStart(prior=(THETA / 2, 0.7), rows=(x, y)), links.named("logistic")
    found = prior.knowledge(given, dim=3, link=link, rewards=(0.0, 1.0), radius=3.0, unit=1.0)

    def gradient(theta):
        return x.T @ (y - 1 / (1 + np.exp(-x @ theta))) + 0.7 * (THETA / 2 - theta) - theta / 3

    theta = np.zeros(3)
    for _ in range(4000):
        theta = theta + 0.02 * gradient(theta)
    assert found.theta == pytest.approx(theta, abs=1e-6)
    second = np.array([(gradient(theta + e) - gradient(theta - e)) / 2e-5 for e in (1e-5 * np.eye(3))])
    assert found.precision == pytest.approx(-second - np.eye(3) / 3, abs=1e-4)  # the bandit's own prior is added later


def test_identity_rewards_in_any_unit():
    x, _ = rows(100)
    y, found = x @ THETA * 2, []
    for k in (1.0, 10.0):
        sizes = {"rewards": (-9.0 * k, 9.0 * k), "radius": 9.0 * k, "unit": 9.0 * k}
        found.append(prior.knowledge(WarmStart(rows=(x, k * y)), dim=3, link=links.named("identity"), **sizes))
    assert found[1].theta == pytest.approx(10 * found[0].theta)
    assert found[1].precision == pytest.approx(found[0].precision / 100)


def test_combined_as_two_independent_estimates():
    """Beside the formula for Gaussians: precisions add, means are weighted by them."""
    bandit, q = make(prior=(THETA, np.diag([5.0, 1.0, 2.0]))), np.diag([5.0, 1.0, 2.0])
    own, posterior = np.eye(3) * 3 / 9, bandit.sums.state.estimate
    assert posterior.centre == pytest.approx(np.linalg.solve(own + q, q @ THETA))
    assert posterior.inverse == pytest.approx(np.linalg.inv(own + q))
    assert bandit.choose([[0.0, -0.9, 0.0], [0.0, 0.9, 0.0]]).propensity != 0.5  # not random at the start


def test_public_rows_help():
    """Less than half the regret on every seed: without, it is above 20 (the seeds are fixed)."""
    world = environments.ball(dim=3, arms=10, link="logistic", radius=3.0)
    for seed in range(3):
        regret = []
        for options in ({}, {"rows": 200}, {"rows": 200, "stepwise": True}):
            fill, theta = world.start(default_rng(seed), 1500)
            given = {"rows": rows(options["rows"], seed, theta)} if options else {}
            bandit = Spec(JointGLM, budget=BUDGET, **given).build(world, 1500, SeedSequence(seed))
            block = world.block(1500)
            fill(block)
            (Bandit._one_by_one if "stepwise" in options else Bandit.play)(bandit, block)
            regret.append(block.regret.sum())
        assert regret[1] < regret[0] / 2
        assert regret[1] == regret[2]  # the compiled loop does the same


def test_the_certificate_names_it_and_files_keep_it(tmp_path):
    bandit = joint(features=3, radius=3.0, budget=BUDGET, prior=(THETA, 2.0), rows=rows(120))
    text = " ".join(str(bandit.privacy).split())
    assert "from 120 rows that were given as public: the people behind these are not protected" in text
    assert "a prior that was given" in text and bandit.privacy.private
    bandit.save(tmp_path / "bandit.json")
    loaded = Bandit.load(tmp_path / "bandit.json")
    assert np.array_equal(loaded.theta, bandit.theta)
    assert np.array_equal(*[each.algorithm.warm_start.rows[0] for each in (loaded, bandit)])
    assert "public" not in str(make().privacy.caveats)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prior": 3}, "Expected prior to be"),
        ({"prior": ([9.0, 0.0, 0.0], 1.0)}, "radius"),
        ({"prior": ([0.0, 0.0], 1.0)}, "theta of 3 numbers"),
        ({"prior": ([0.0, 0.0, 0.0], -1.0)}, "symmetric and positive"),
        ({"rows": ([[0.1, 0.2, 0.3]], [2.0])}, r"warm rewards in \[0, 1\]"),
        ({"rows": ([[1.0, 1.0, 1.0]], [1.0])}, "norm at most 1"),
        ({"rows": ([[0.1, 0.2]], [1.0])}, "3 features"),
        ({"rows": ([], [])}, "3 features"),
    ],
)
def test_bad_knowledge(given, message):
    with pytest.raises(ValueError, match=message):
        make(**given)


def test_a_store_keeps_to_it(tmp_path):
    """Workers with other knowledge are refused: it is a setting like others."""
    arms = [[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0]]
    settings = {"features": 3, "radius": 3.0, "budget": BUDGET, "window": "1 minute"}
    with Stored(algorithm(**settings, prior=(THETA, 50.0)), tmp_path / "a.db") as stored:
        assert stored.choose(arms).index == 0 and stored.offers(arms).probability[0] > 0.99
        assert any("not protected" in caveat for caveat in stored.privacy.caveats)
    with pytest.raises(BadState, match="another prior"):
        Stored(algorithm(**settings, prior=(-THETA, 50.0)), tmp_path / "a.db")
