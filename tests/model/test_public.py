"""Sensitivities where features are public: never exceeded, nearly attained."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.formulas import add_context, add_reward
from tacit.mechanisms.discounted import Discounted
from tacit.model import glm, links
from tacit.model.public import LONGEST, REACH, RewardContribution, gauge
from tacit.model.vectors import pair_size

REWARDS = [(0.0, 1.0), (-1.0, 1.0), (-2.0, 0.5)]
NAMES = list(links.NAMES)
ANY = st.floats(-1e3, 1e3)


def contribution(link="logistic", rewards=(0.0, 1.0)):
    return RewardContribution(dim=2, link=links.named(link), low=rewards[0], high=rewards[1])


def context(c, x, theta):
    """(what is public of a user, the centre) at an estimate."""
    out, inverse = np.zeros(pair_size(c.dim)), np.eye(c.dim) * 0.3
    centre = add_context(
        np.asarray(x, float), np.asarray(theta, float), inverse, c.link.code, c.blend, c.low, c.high, c.longest, out
    )
    return out, centre


def moment(c, x, y, centre):
    out = np.zeros(c.dim)
    add_reward(np.asarray(x, float), float(y), centre, c.low, c.high, c.longest, out)
    return out


@given(st.sampled_from(NAMES), st.sampled_from(REWARDS), st.data())
@settings(max_examples=300)
def test_never_exceeded(link, rewards, data):
    """Even for rewards far outside their range, and at any estimate: another reward, none, or another time."""
    c = contribution(link, rewards)
    x, theta = (np.array(data.draw(st.lists(ANY, min_size=2, max_size=2))) for _ in range(2))
    _, centre = context(c, x, theta)
    assert abs(centre - 0.5) <= REACH
    one, other = (moment(c, x, data.draw(ANY), centre) for _ in range(2))
    slack = 1 + 1e-9
    assert np.linalg.norm(one - other) <= c.sensitivity * slack
    assert np.linalg.norm(one) <= c.norm * slack
    assert math.hypot(np.linalg.norm(one), np.linalg.norm(other)) <= c.sensitivity * slack


@pytest.mark.parametrize("centre", [0.5 - REACH, 0.4, 0.5, 0.5 + REACH])
def test_attained(centre):
    """By rewards 0 and 1, and at the ends by one reward that moves."""
    both = contribution()
    ends = [moment(both, [0.6, 0.8], y, centre) for y in (0.0, 1.0)]
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(both.sensitivity)
    longest = max(np.linalg.norm(v) for v in ends)
    assert longest == pytest.approx(both.norm) or abs(centre - 0.5) < REACH
    assert math.sqrt(2) * longest == pytest.approx(both.sensitivity) or abs(centre - 0.5) < REACH


def test_a_gauge_of_two_everywhere_would_be_found_out():
    """One reward that comes sooner or later moves two leaves: with |v| = 2 that is more than D = 2."""
    late = [math.hypot(*[g * max(a, 1 - a)] * 2) for a in (0.5, 0.9) for g in (2.0, gauge(a, LONGEST))]
    assert late[0] <= 2 and late[1] <= 2 and late[2] > 2.5 and late[3] <= 2 + 1e-12


@pytest.mark.parametrize("late", [1, 2, 7])
def test_another_time_is_covered_by_the_column_norm(late):
    """The shift of all releases when a reward comes in another leaf, by the mechanism's own encoder."""
    c, coefficients = contribution(), Discounted(leaves=8, size=1, discount=0.995, sigma=0.0).encoder()
    columns = np.array([np.concatenate([np.zeros(s), coefficients[: 8 - s]]) for s in range(8)])
    widest = np.linalg.norm(columns, axis=1).max()
    for centre in np.linspace(0.5 - REACH, 0.5 + REACH, 11):
        v = [moment(c, [1.0, 0.0], y, centre)[0] for y in (0.0, 1.0)]
        worst = max(np.linalg.norm(columns[0] * p - columns[late] * q) for p in v for q in [*v, 0.0])
        assert worst <= c.sensitivity * widest * (1 + 1e-9)


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_private_and_public_parts_make_up_the_step_of_the_private_contribution(link):
    """Up to a weight of the whole: curvature and moment are of the same line."""
    rng, c = np.random.default_rng(0), contribution(link)
    for _ in range(20):
        x, theta, y = rng.uniform(-0.7, 0.7, 2), rng.normal(size=2), float(rng.integers(2))
        public, centre = context(c, x, theta)
        public[3:] += moment(c, x, y, centre)
        weight, response = glm.linearize(x, y, theta, np.eye(2) * 0.3, c.link.code, 0.0)
        expected = np.array(
            [weight * x[0] ** 2, weight * math.sqrt(2) * x[0] * x[1], weight * x[1] ** 2, *response * x]
        )
        assert np.allclose(public * expected[0], expected * public[0], atol=1e-12)
        expected = float(c.link.mean(np.array(x @ theta / math.sqrt(1 + glm.softness(c.link.code) * 0.3 * x @ x))))
        assert centre == pytest.approx(min(max(expected, 0.5 - REACH), 0.5 + REACH))


def test_identity_is_least_squares():
    c, x = contribution("identity", (-2.0, 0.5)), np.array([0.3, -0.4])
    public, centre = context(c, x, [1.0, 0.5])
    public[3:] += moment(c, x, 0.25, centre)
    u = public[0] / x[0] ** 2
    assert np.allclose(public[3:], u * 0.25 / 2.0 * x)  # rewards in units of the largest


def test_nothing_for_an_arm_of_zeros():
    c = contribution()
    assert not context(c, [0.0, 0.0], [1.0, 1.0])[0].any() and not moment(c, [0.0, 0.0], 1.0, 0.5).any()
