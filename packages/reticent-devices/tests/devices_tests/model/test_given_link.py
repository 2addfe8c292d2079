"""Links of the user's own: kept as tables, bounded for every input, learnt from like the built-in ones."""

import math

import numpy as np
import pytest
from scipy.special import expit

from core_tests.bandits.test_joint_glm import CAUCHIT, posterior_at, vector
from core_tests.bandits.test_joint_glm import OWN as CLOGLOG
from core_tests.made import joint
from reticent import Bandit, Budget, JointGLM, Reward, Simulated, Spec, environments, simulate
from reticent.algorithms import irls
from reticent.model import links
from reticent.model.glm import GLMContribution, balanced_curvature, glm_sensitivity, largest_weight
from reticent_devices import ShuffleNewton

RARE = links.given(lambda z: expit(z - 3), lambda z: expit(z - 3) * expit(3 - z), steepest=0.25)
LOGISTIC = links.given(expit, lambda z: expit(z) * expit(-z), steepest=0.25)


@pytest.mark.parametrize(
    ("link", "heaviest", "paid"),
    [(LOGISTIC, 1.0, (1.0, 1.0, 1.0)), (CLOGLOG, 0.791, (0.981, 0.952, 0.79)), (RARE, 0.4, (0.970, 0.920, 0.40))],
)
def test_a_link_without_symmetry_pays_more_than_a_search_finds(link, heaviest, paid):
    """Nobody's curvature is above max mu' / m, which is attained, and so is D for that in the place of W: by one user
    with it and one without, or by two at an angle. What that is of the D that is paid is written in GLMContribution."""
    z = np.linspace(-link.reach, link.reach, 2001)
    c = link.mean(z) - link.slope(z) * z
    weights = link.slope(z) / np.maximum(np.abs(c), np.abs(1 - c))
    at, most = z[np.argmax(weights)], float(weights.max())
    assert most / largest_weight(link) == pytest.approx(heaviest, abs=2e-3)
    iterate = irls.prior(2, 1e-9)
    for scale, share in zip((*(balanced_curvature(link, r) for r in (1.0, 3.0)), 40.0), paid, strict=True):
        contribution = GLMContribution(dim=2, link=link, scale=scale, low=0.0, high=1.0)
        users, angles = [], np.linspace(0, math.pi, 721)
        for angle in angles:  # each with an estimate that gives the same predictor
            for sign in (1, -1):
                x = sign * np.array([math.cos(angle), math.sin(angle)])
                iterate.theta[:] = at * x
                users += [vector(contribution, x, r, iterate) for r in (0.0, 1.0)]
                users += [vector(contribution, 1e-9 * x, r, _far(iterate)) for r in (0.0, 1.0)]
        found = max(np.linalg.norm(np.array(users) - user, axis=1).max() for user in users[:8])
        limit = glm_sensitivity(scale * most)
        assert 0.998 * limit <= found <= limit * (1 + 1e-4)
        assert found / contribution.sensitivity == pytest.approx(share, abs=6e-3)


def _far(iterate):
    """An estimate 10^9 times as far: the same predictor for an arm that is so much shorter, whose weight is about 0."""
    far = irls.prior(2, 1e-30)
    far.theta[:] = 1e9 * iterate.theta
    return far


@pytest.mark.parametrize("link", [CLOGLOG, CAUCHIT])
def test_responses_reach_their_bound_where_saturating_at_the_mean_would_pass_it(link):
    """|B'| = 1 is attained; with m = max(mu, 1 - mu) it would be exceeded for one of these links."""
    contribution = GLMContribution(dim=1, link=link, scale=1e-9, low=0.0, high=1.0)
    iterate = irls.prior(1, 1e-6)
    plain, bounded = [], []
    for z in np.linspace(-4, 4, 161):
        iterate.theta[0] = z
        mean, slope = float(link.mean(z)), float(link.slope(z))
        for r in (0.0, 1.0):
            bounded.append(abs(vector(contribution, [1.0], r, iterate)[1]))
            plain.append(abs(r - mean + slope * z) / max(mean, 1 - mean))
    assert 0.99 < max(bounded) <= 1 + 1e-12
    if link is CLOGLOG:
        assert max(plain) > 1.02


def test_a_table_is_as_good_as_the_formula():
    z = np.linspace(-15.99, 15.99, 1001)
    assert np.allclose(LOGISTIC.mean(z), expit(z), atol=1e-10)
    assert np.allclose(LOGISTIC.slope(z), expit(z) * expit(-z), atol=1e-5)
    rng = np.random.default_rng(4)
    for _ in range(20):
        iterate = posterior_at(rng, 3)
        x, y = rng.uniform(-0.5, 0.5, 3), float(rng.integers(2))
        pair = [GLMContribution(dim=3, link=link, scale=1.5, low=0, high=1) for link in (LOGISTIC, links.logistic)]
        assert np.allclose(*(vector(c, x, y, iterate) for c in pair), atol=1e-4)


@pytest.mark.full
def test_it_learns_with_a_given_link():
    """Regret of choosing at random is above 500; that of each of 4 runs below 200 (it is about 60)."""
    world = environments.ball(dim=3, arms=10, radius=2.0, link=CLOGLOG)
    result = simulate([Spec(JointGLM, budget=Budget(4.0, 1e-3))], world, horizon=3000, runs=4, seed=8)
    assert max(run.regret for run in result.runs) < 200


def test_saved_and_loaded(tmp_path):
    bandit = joint(features=2, link=CAUCHIT, radius=2.0, budget=Budget(1.0, 1e-3), source=Simulated(1))
    bandit.observe(bandit.choose(np.eye(2)), 1.0)
    bandit.save(tmp_path / "bandit.json")
    loaded = Bandit.load(tmp_path / "bandit.json")
    link = loaded.algorithm.reward.link
    assert link.name == CAUCHIT.name and np.array_equal(link.code.mean, CAUCHIT.code.mean)
    assert loaded.interval(np.eye(2)) == bandit.interval(np.eye(2))


@pytest.mark.parametrize(
    ("mean", "slope", "steepest", "message"),
    [
        (lambda z: z, lambda z: np.ones_like(z), 1.0, "means in"),
        (expit, lambda z: expit(z) * expit(-z), 0.1, "slopes in"),
        (expit, lambda z: 0.5 * expit(z) * expit(-z), 1.0, "derivative"),
        (lambda z: expit(-z), lambda z: -expit(z) * expit(-z), 1.0, "slopes in"),
        (lambda z: np.full_like(z, np.nan), lambda z: 0 * z, 1.0, "finite"),
        (lambda z: 0.5, lambda z: 0 * z, 1.0, "means and slopes"),
    ],
)
def test_links_that_are_none_are_refused(mean, slope, steepest, message):
    with pytest.raises(ValueError, match=message):
        links.given(mean, slope, steepest=steepest)


def test_a_radius_beyond_the_table_and_other_algorithms_are_refused():
    with pytest.raises(ValueError, match="known for"):
        joint(features=2, link=CLOGLOG, radius=5.0, budget=Budget(1.0, 1e-3))
    with pytest.raises(ValueError, match="identity, logistic"):
        ShuffleNewton(2, Budget(1.0, 1e-3), Reward(CLOGLOG))
