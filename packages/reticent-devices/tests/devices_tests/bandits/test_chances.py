"""The probability of each arm under a Thompson draw, beside slow derivations of the same.

False alarms: shares of DRAWS draws are compared at five standard errors, 4e-7 a comparison with normal tails, about 80
comparisons; seeds are fixed."""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from core_tests.made import joint
from reticent import Budget, Simulated
from reticent.algorithms import chances
from reticent.special import ndtr
from reticent_devices import Embedded, LocalIRLS

DRAWS = 200_000


def problem(seed, *, count, directions, dim=6):
    rng = default_rng(seed)
    arms = rng.standard_normal((count, dim))
    arms /= np.linalg.norm(arms, axis=1)[:, None]
    root = np.linalg.qr(rng.standard_normal((dim, dim)))[0][:, :directions] * rng.uniform(0.2, 1.0, directions)
    return arms, 0.15 * rng.standard_normal(dim), root


def stated(arms, theta, root):
    of = chances.values(arms, theta, root)
    return np.array([chances.chance(of, index) for index in range(len(arms))]).T


def by_angles(arms, theta, root, rays=8_000):
    """Two directions: on each ray the best arm changes at a few points; beyond s lies the probability exp(-s^2 / 2)."""
    mean, slopes = arms @ theta, arms @ root
    out = np.zeros(len(arms))
    for angle in (np.arange(rays) + 0.5) * 2 * math.pi / rays:
        speed = slopes @ [math.cos(angle), math.sin(angle)]
        best, at = int(np.argmax(mean)), 0.0
        while True:
            with np.errstate(divide="ignore", invalid="ignore"):
                meets = np.where(speed > speed[best], (mean[best] - mean) / (speed - speed[best]), math.inf)
            following = int(np.argmin(meets))
            beyond = math.exp(-(meets[following] ** 2) / 2)
            out[best] += math.exp(-(at**2) / 2) - beyond
            if not beyond:
                break
            best, at = following, meets[following]
    return out / rays


def test_two_arms_in_closed_form():
    arms, theta, root = problem(1, count=2, directions=5)
    values, errors = stated(arms, theta, root)
    difference = arms[0] - arms[1]
    expected = ndtr(difference @ theta / np.linalg.norm(difference @ root))
    assert values == pytest.approx([expected, 1 - expected], abs=1e-11) and not errors.any()


@pytest.mark.parametrize("count", [3, 7])
def test_two_directions_beside_an_integral_over_angles(count):
    arms, theta, root = problem(count, count=count, directions=2)
    values, errors = stated(arms, theta, root)
    assert values == pytest.approx(by_angles(arms, theta, root), abs=1e-6) and not errors.any()


@pytest.mark.parametrize(("count", "directions"), [(5, 1), (6, 2), (5, 6), (8, 3), (12, 6)])
def test_shares_of_draws(count, directions):
    arms, theta, root = problem(10 * count + directions, count=count, directions=directions)
    values, errors = stated(arms, theta, root)
    targets = theta + default_rng(0).standard_normal((DRAWS, directions)) @ root.T
    shares = np.bincount(np.argmax(targets @ arms.T, axis=1), minlength=count) / DRAWS
    limit = 5 * np.sqrt(errors**2 + values * (1 - values) / DRAWS) + 1e-5
    assert (abs(values - shares) <= limit).all() and values.sum() == pytest.approx(1.0, abs=1e-9)
    assert (errors < 0.003).all() and errors.any() == (min(count - 1, directions) > 2)
    wrong = stated(arms, theta, 0.5 * root)[0]
    assert (abs(wrong - shares) > limit).any()  # draws of another spread are told apart


def test_the_error_that_is_stated_is_the_error():
    """Shifts of other seeds: their spread about the mean of many is what `error` says, within a factor of 2."""
    arms, theta, root = problem(4, count=8, directions=5)
    of, index = chances.values(arms, theta, root), int(np.argmax(stated(arms, theta, root)[0]))
    ahead, faster = np.delete(of.mean[index] - of.mean, index), np.delete(of.slopes[index] - of.slopes, index, axis=0)
    exact = chances._on_lines(ahead + default_rng(3).standard_normal((400_000, 4)) @ faster[:, 1:].T, faster[:, 0])
    value, error = chances.chance(of, index)
    assert abs(value - exact.mean()) < 5 * math.hypot(error, exact.std() / math.sqrt(len(exact))) and 0 < error < 1e-3


@pytest.mark.parametrize("directions", [0, 1, 2, 4])
def test_the_first_of_equals(directions):
    arms, theta, root = problem(2, count=6, directions=directions)
    arms[3] = arms[1]
    arms[5] = (arms[0] + arms[1]) / 2  # never better than both
    values, _ = stated(arms, theta, root)
    assert values[3] < 1e-9 and values[5] < 1e-9 and values.sum() == pytest.approx(1.0, abs=1e-9)


def test_all_equal_without_an_estimate():
    """theta = 0 and four arms at right angles in a plane: a quarter each, though no arm is ahead."""
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    assert stated(arms, np.zeros(2), np.eye(2))[0] == pytest.approx([0.25] * 4, abs=1e-9)


def test_a_choice_carries_its_error_and_draws_nothing():
    bandit = joint(features=12, budget=Budget(4.0, 1e-3), first=20, source=Simulated(3), policy=default_rng(1))
    rng = default_rng(0)
    for _ in range(60):
        bandit.observe(bandit.choose(rng.uniform(-0.25, 0.25, (6, 12))), float(rng.integers(2)))
    choice = bandit.choose(rng.uniform(-0.25, 0.25, (6, 12)))
    before = bandit.sums.policy.bit_generator.state, bandit.source.generator.bit_generator.state
    assert 0 < choice.propensity < 1 and 0 < choice.propensity_error < 0.01 and choice.propensity == choice.propensity
    assert (bandit.sums.policy.bit_generator.state, bandit.source.generator.bit_generator.state) == before
    assert bandit.choose(rng.uniform(-0.25, 0.25, (3, 12))).propensity_error == 0.0


def test_a_device_states_the_error_of_its_draws():
    choice = Embedded(LocalIRLS(2, Budget(2.0, 1e-3))).choose([[0.5, 0.1], [0.1, 0.5]])
    assert choice.propensity_error == pytest.approx(math.sqrt(choice.propensity * (1 - choice.propensity) / 4096))
