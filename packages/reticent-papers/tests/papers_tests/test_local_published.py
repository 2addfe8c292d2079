"""The published local bandits: the learner against a slow reference, both halves, certificates that tell the truth."""

import json
import math

import numpy as np
import pytest

from core_tests.bandits.test_fused import compare
from lab_tests.raising import raised
from papers_tests.reference.maler import Maler, project
from reticent import Budget, Reward, Spec, environments
from reticent.registry import kebab
from reticent_papers import LocalAnytimeUCB, LocalCombiner, LocalGLM, LocalLinUCB, LocalOnlineUCB
from reticent_papers.local.device import PublishedClient
from reticent_papers.local.maler_kernel import into_ball_in_norm, learner_step
from reticent_papers.local.online_kernel import base_review

BUDGET, WORLD = Budget(10.0, 0.1), environments.tail(dim=3, arms=6, radius=1.0)
ALL = [
    (LocalLinUCB, {}), (LocalOnlineUCB, {"learner": "maler", "width_scale": 1e-3}),
    (LocalOnlineUCB, {"learner": "ogd", "eigenvalue": 0.0}), (LocalAnytimeUCB, {"learner": "ogd"}),
    (LocalCombiner, {"learner": "ogd"}), (LocalGLM, {}), (LocalGLM, {"randomizer": "gaussian"}),
]  # fmt: skip
IDS = ["lin", "maler", "ogd shaken", "anytime", "combiner", "glm", "glm gaussian"]


def test_maler_is_the_papers():
    made = LocalOnlineUCB(3, BUDGET, Reward("identity", 1.0), horizon=100)
    learner = made._state.bases[0].learner
    slow, rng = Maler(3, 100, 1.0, learner.settings.clip), np.random.default_rng(0)
    for _ in range(60):
        g = rng.standard_normal(3) * learner.settings.clip * rng.random() + 20 * (learner.theta - 0.5)
        np.testing.assert_allclose(learner.theta, slow.theta, atol=1e-6)
        learner_step(learner, g)
        slow.step(g)
    names = ["c"] + [(k, i) for i in range(len(slow.etas)) for k in "sl"]
    np.testing.assert_allclose(np.exp(learner.logs), [slow.weights[name] for name in names], rtol=1e-5)


@pytest.mark.parametrize(
    ("horizon", "given", "shaken"),
    [(2000, {}, True), (20_000, {}, False), (2000, {"threshold": 0.0}, False), (20_000, {"eigenvalue": 0.0}, True)],
)
def test_arms_are_perturbed_where_the_eigenvalue_is_at_most_the_threshold(horizon, given, shaken):
    """T^(-1/4) is .15 at T = 2000 and .08 at 20 000; the eigenvalue is .1 unless it is given."""
    made = LocalOnlineUCB(3, BUDGET, horizon=horizon, **given)
    variance = json.loads(made.billboard())["report"]["shake"] ** 2
    assert variance == pytest.approx(horizon**-0.25 if shaken else 0.0)


def test_the_projection_in_a_norm_is_the_nearest_point():
    rng = np.random.default_rng(1)
    for _ in range(50):
        root = rng.standard_normal((4, 4))
        sigma, point = root @ root.T + 0.01 * np.eye(4), 3 * rng.standard_normal(4)
        got = point.copy()
        into_ball_in_norm(got, sigma, 1.0)
        np.testing.assert_allclose(got, project(point, sigma, 1.0), atol=1e-5)
        assert np.linalg.norm(got) <= 1 + 1e-9


@pytest.mark.parametrize(("kind", "options"), ALL, ids=IDS)
def test_the_fused_loop_and_the_devices_calls_agree(kind, options):
    compare(Spec(kind, budget=BUDGET, **options), WORLD, close=True)


@pytest.mark.parametrize(("kind", "options"), ALL, ids=IDS)
def test_devices_and_servers_apart_and_what_they_claim(kind, options):
    made = kind(3, BUDGET, horizon=1000, **options)
    for _ in range(3):
        client = PublishedClient(made.billboard())
        choice = client.choose(np.eye(3))
        report = client.randomize(choice, 0.5)
        assert client.randomize(choice, 0.5) == report
        made.observe(report)
    assert made.users == 3 and made.privacy.private and made.privacy.epsilon <= 10.0 * (1 + 1e-9)
    assert kebab(kind.__name__) == "-".join(["local", *kebab(kind.__name__).split("-")[1:]])
    json.loads(made.billboard())
    raised(ValueError, made.observe, report[:-1]).match("Expected")


def test_the_papers_calibration_says_what_it_really_gives():
    reward = Reward("identity", range=(-1.0, 1.0))
    loose = LocalOnlineUCB(5, Budget(10.0, 0.1), reward, calibration="paper", learner="ogd")
    assert loose.privacy.epsilon > 25 and not loose.privacy.private
    assert any("not 10" in caveat for caveat in loose.privacy.caveats)
    small = LocalOnlineUCB(5, Budget(0.2, 0.1), calibration="paper", learner="ogd")
    assert small.privacy.epsilon < 0.2, "it adds more noise than it needs there"
    assert LocalLinUCB(5, Budget(4.0, 1e-6), calibration="paper").privacy.epsilon != 4.0


def test_the_sensitivity_of_a_pair_is_attained():
    made = LocalOnlineUCB(3, BUDGET, Reward("identity", 1.0), learner="ogd", threshold=0.0)
    client, x = PublishedClient(made.billboard()), np.array([0.6, 0.0, 0.8])
    far = np.linalg.norm(client.contribution(x, 1.0) - client.contribution(-x, 0.0))
    assert far == pytest.approx(made._sensitivity) == math.sqrt(5)


def test_gradients_that_vanish_are_reported_like_others():
    made = LocalGLM(3, BUDGET, Reward("logistic"))
    client = PublishedClient(made.billboard())
    reports = {len(client.randomize(client.choose(arms), 1.0)) for arms in (np.zeros((1, 3)), np.eye(3))}
    assert len(reports) == 1


def test_the_combiner_needs_a_horizon_and_drops_what_falls_behind():
    raised(ValueError, LocalCombiner, 3, BUDGET).match("horizon")
    made = LocalCombiner(3, BUDGET, horizon=20_000, learner="ogd", constant=1e-6)
    assert len(made._state.bases) == 3
    first = made._chosen()
    base = made._state.bases[first]
    base.counts[0], base.tally[:2] = 10, [0.5, 1e9]
    base_review(made._state.bases, made._state.rates, first)
    assert base.tally[2] == 0 and made._chosen() != first
    for i in range(3):
        made._state.bases[i].tally[1], made._state.bases[i].counts[0] = 1e9, 10
        base_review(made._state.bases, made._state.rates, i)
    assert sum(base.tally[2] for base in made._state.bases) == 1, "the last one stays"


def _rewarded(bounds, good, users=3000):
    """A combiner whose bandit `good` earns .9 and whose others earn .3."""
    made = LocalCombiner(3, BUDGET, horizon=users, learner="ogd", bounds=bounds)
    rng = np.random.default_rng(good)
    for _ in range(users):
        report = made.std * rng.standard_normal(4)
        report[3] += 0.9 if made._chosen() == good else 0.3
        made._absorb(report)
    return made.plays


@pytest.mark.parametrize("good", [0, 1, 2])
def test_the_combining_bounds_find_the_better_bandit(good):
    plays = _rewarded("combining", good)
    assert len(plays) == 3 and min(plays) >= 5, "each is asked again"
    assert plays[good] > 0.8 * sum(plays)


def test_the_published_bounds_of_the_combiner_decide_before_any_reward():
    """The theorem's R_i exceed T: a bandit whose R_i is large is asked once, though it is the best by .6."""
    for horizon in (2000, 20_000):
        for constant in (0.001, 0.01, 0.1, 1.0, 10.0):
            made = LocalCombiner(3, BUDGET, horizon=horizon, learner="ogd", bounds="published", constant=constant)
            logs = 288 * math.log(horizon**3 * 3 / made.failure)
            assert made.prices.mean() >= 2 * math.sqrt(logs * 2 / horizon) > 2
    dear = int(np.argmax(LocalCombiner(3, BUDGET, horizon=3000, bounds="published").prices))
    assert _rewarded("published", dear)[dear] == 1


def test_a_server_of_several_bases_is_saved_whole(tmp_path):
    made = LocalCombiner(3, BUDGET, horizon=500, learner="ogd")
    client = PublishedClient(made.billboard())
    for _ in range(5):
        made.observe(client.randomize(client.choose(np.eye(3)), 0.5))
    made.save(tmp_path / "server.json")
    assert LocalCombiner.load(tmp_path / "server.json").billboard() == made.billboard()


@pytest.mark.parametrize(("epsilon", "cut", "bias"), [(10.0, (0.002, 0.02), 0.1), (1.0, (0.03, 0.08), 3.0)])
def test_what_the_clip_of_gradients_costs(epsilon, cut, bias):
    """At theta = (1, 0, 0) for theta* = (1/2, 0, 0): how many are cut, and how far that moves their mean, as a share of
    it. With much noise it moves it by more than half its length: said under Departure."""
    made = LocalOnlineUCB(3, Budget(epsilon, 0.1), Reward("identity", 1.0), horizon=1000, threshold=0.0)
    rng, n, most, std = np.random.default_rng(1), 40_000, made._state.bases[0].learner.settings.clip, made.std
    x = rng.standard_normal((n, 3))
    x /= np.linalg.norm(x, axis=1)[:, None]
    reported, y = x + std * rng.standard_normal(x.shape), x[:, 0] / 2 + std * rng.standard_normal(n)
    gradients = 2 * reported * (reported[:, 0] - y)[:, None] - 2 * std**2 * np.eye(3)[0]
    lengths = np.linalg.norm(gradients, axis=1)
    moved = np.mean((np.minimum(1, most / lengths) - 1)[:, None] * gradients, axis=0)
    assert cut[0] < np.mean(lengths > most) < cut[1]
    mean = 1 / 3  # E[x x'] (theta - theta*) 2
    assert bias / 6 < np.linalg.norm(moved) / mean < 2 * bias


def test_the_papers_bound_of_the_noise_lacks_the_root_of_the_dimension():
    noise = np.linalg.norm(np.random.default_rng(2).standard_normal((2000, 40)), axis=1)
    assert np.mean(noise > math.sqrt(2 * math.log(2e6))) > 0.85
