"""The calibration of the shuffled sum against brute force: the law of the sum enumerated, both directions."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from reticent import Budget
from reticent.privacy import gaussian
from reticent_devices.mechanisms.shuffle import calibration as cal
from reticent_devices.mechanisms.shuffle import nearness, portable


def hockey(p, q, epsilon):
    """max over events of P(S) - e^epsilon Q(S): both directions, the worse."""
    return max(np.maximum(p - math.exp(epsilon) * q, 0).sum(), np.maximum(q - math.exp(epsilon) * p, 0).sum())


def law(u, trials, length):
    """Of floor(u + U) + Bin(trials, 1/2) on 0 .. length - 1, u >= 0."""
    noise = np.zeros(length)
    noise[: trials + 1] = binom.pmf(np.arange(trials + 1), trials, 0.5)
    low, share = math.floor(u), u - math.floor(u)
    return (1 - share) * np.roll(noise, low) + share * np.roll(noise, low + 1)


@pytest.mark.parametrize(("trials", "width"), [(200, 1.3), (401, 2.5), (1000, 4.0), (5000, 6.37), (5001, 20.0)])
@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0])
def test_one_dimension_by_brute_force(trials, width, epsilon):
    length = trials + math.ceil(width) + 3
    true = max(
        hockey(law(start, trials, length), law(start + width, trials, length), epsilon)
        for start in np.linspace(0, 0.99, 12)
    )
    bound = cal.delta_of(trials, 1, width, epsilon)
    assert true <= bound
    if width**2 > trials / 10:  # else delta is tiny and made of the tails that the bound gives away
        assert true > 0.5 * bound


@pytest.mark.parametrize(("trials", "width"), [(200, 2.0), (300, 4.0), (401, 7.5)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_two_dimensions_by_brute_force(trials, width, epsilon):
    length = trials + math.ceil(width) + 3
    bound, worst = cal.delta_of(trials, 2, width, epsilon), 0.0
    for angle in (0.0, 0.3, math.pi / 4, 1.1):
        for start in ((0.0, 0.0), (0.5, 0.25), (0.3, 0.9)):
            a = [law(s, trials, length) for s in start]
            ends = start[0] + width * math.cos(angle), start[1] + width * math.sin(angle)
            b = [law(s, trials, length) for s in ends]
            worst = max(worst, hockey(np.outer(*a), np.outer(*b), epsilon))
    assert worst <= bound


def test_two_dimensions_as_planned():
    plan = cal.calibrate(Budget(1.0, 1e-2), users=20, size=2, sensitivity=1.0, norm=1.0)
    trials, width = plan.users * plan.trials, plan.scale
    length, worst = trials + math.ceil(width) + 3, 0.0
    for angle in (0.0, math.pi / 8, math.pi / 4):
        a = law(0.25, trials, length)
        ends = 0.25 + width * math.cos(angle), 0.25 + width * math.sin(angle)
        worst = max(worst, hockey(np.outer(a, a), np.outer(*(law(s, trials, length) for s in ends)), 1.0))
    assert 0.6e-2 < worst <= 1e-2


def test_the_brute_force_rejects_a_wrong_calibration():
    """With 0.8 of the noise, or half the sensitivity assumed, the enumerated delta is above what would be claimed."""
    budget = Budget(1.0, 1e-3)
    plan = cal.calibrate(budget, users=100, size=1, sensitivity=1.0, norm=1.0)
    trials, width = plan.users * plan.trials, plan.scale
    length = trials + math.ceil(2 * width) + 3

    def true(count, shift):
        return max(
            hockey(law(start, count, length), law(start + shift, count, length), budget.epsilon)
            for start in np.linspace(0, 0.99, 7)
        )

    assert 0.6e-3 < true(trials, width) <= 1e-3 and true(int(0.64 * trials), width) > 2e-3
    assert true(trials, 2 * width) > 1e-2


@pytest.mark.parametrize("trials", [64, 101, 1000, 30_001])
def test_closeness_bounds_the_ratio_and_the_tails(trials):
    s = math.sqrt(trials / 4 - 1 / 12)
    over, under, lost, missed = nearness.near(trials)
    for t, up, down, tail_b, tail_g in zip(nearness.REACHES, over, under, lost, missed, strict=True):
        reach, k = min(math.ceil(t * s), trials // 2), np.arange(trials + 1)
        j = k - trials / 2
        inside = np.abs(j) <= reach + 0.5 * (trials % 2)
        tails = norm.sf((np.abs(j) - 0.5) / s) - norm.sf((np.abs(j) + 0.5) / s)
        ratio = binom.logpmf(k, trials, 0.5)[inside] - np.log(tails[inside])
        assert ratio.max() <= up and -ratio.min() <= down
        assert binom.pmf(k[~inside], trials, 0.5).sum() <= tail_b * (1 + 1e-9)
        assert 2 * norm.sf((reach + 0.5 + 0.5 * (trials % 2)) / s) <= tail_g * (1 + 1e-9)
        assert tail_b <= 3 * max(binom.pmf(k[~inside], trials, 0.5).sum(), 1e-300) or reach == trials // 2


def test_the_central_probability():
    for trials in (50, 51, 64, 1001):
        assert nearness.central(trials) == pytest.approx(binom.pmf(trials // 2, trials, 0.5), rel=1e-11)


def test_what_every_machine_rounds_alike_is_right():
    """decay, log and tail to the digits that the proof allows for; delta of a Gaussian mechanism, rounded up."""
    rng = np.random.default_rng(0)
    q = np.concatenate([[0.0, 745.0, 1e300], rng.uniform(0, 700, 2000), 10 ** rng.uniform(-12, 0, 200)])
    assert np.allclose(portable.decay(q), np.exp(-q), rtol=1e-15, atol=1e-300)
    t = np.concatenate([rng.uniform(-9, 30, 2000), np.linspace(2.4, 2.6, 201), [0.0, -0.0, 1e9]])
    assert np.allclose(portable.tail(t), norm.sf(t), rtol=portable.DIGITS / 2, atol=0)
    for x in 10 ** rng.uniform(-20, 20, 500):
        assert portable.log(x) == pytest.approx(math.log(x), rel=1e-14, abs=1e-16)
    for mu, epsilon in zip(10 ** rng.uniform(-2, 1, 300), 10 ** rng.uniform(-2, 1, 300), strict=True):
        true, found = gaussian.delta(epsilon, mu), float(portable.gaussian_delta(np.array(epsilon), np.array(mu)))
        assert true * (1 - 1e-9) <= found <= true + 1e-11


def test_coupled_rounding_is_as_far_apart_as_the_proof_says():
    """|K|^2: mean at most x0, and tails at most sub-Gaussian, on worst and random pairs."""
    rng = np.random.default_rng(0)
    for size, width in ((3, 2.0), (20, 6.0), (54, 12.0)):
        for _ in range(20):
            a = rng.standard_normal(size) * rng.random(size) ** 3
            a *= width / np.linalg.norm(a)
            start, u = rng.random(size), rng.random((20_000, size))
            moved = np.floor(start + a + u) - np.floor(start + u)
            squares = (moved**2).sum(axis=1)
            x0, spread = width**2 + size / 4, width + math.sqrt(size) / 2
            assert squares.mean() <= x0 + 5 * squares.std() / math.sqrt(len(u))
            for z in (1.0, 2.0, 3.0):  # 20 000 draws: 5 standard errors
                assert (squares > x0 + z * spread).mean() <= math.exp(-(z**2) / 2) + 5 * math.sqrt(0.25 / len(u))
    half = np.full(4, 0.5)  # nearly attains the mean: every coordinate half-way between two integers
    moved = np.floor(half + rng.random((50_000, 4))) - np.floor(rng.random((50_000, 4)))
    assert (moved**2).sum(axis=1).mean() > 0.9 * (1 + 4 / 4)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-2), (1.0, 1e-6), (4.0, 1e-6)])
def test_plans_keep_the_budget_and_are_near_a_trusted_curator(epsilon, delta):
    budget = Budget(epsilon, delta)
    for users in (60, 1000, 10**5):
        plan = cal.calibrate(budget, users=users, size=20, sensitivity=2.2, norm=1.2)
        assert cal.epsilon(plan, delta) <= epsilon * (1 + 1e-6)
        assert 1 <= plan.std / (2.2 / gaussian.mu(budget)) <= cal.OVERHEAD
        assert cal.epsilon(plan, delta, users // 2) > epsilon and cal.epsilon(plan, delta, 2 * users) < epsilon
        spare = cal.calibrate(budget, users=users, size=20, sensitivity=2.2, norm=1.2, dropout=0.2)
        assert cal.epsilon(spare, delta, math.floor(0.8 * users)) <= epsilon * (1 + 1e-6)
    assert cal.epsilon(plan, delta, 0) == math.inf


def test_bits_per_user_are_few():
    for users in (10**3, 10**4, 10**5):
        for epsilon in (0.5, 1.0):
            assert cal.calibrate(Budget(epsilon, 1e-6), users=users, size=20, sensitivity=2.27, norm=1.19).bits <= 6000


def test_bad_settings():
    options = {"users": 100, "size": 5, "sensitivity": 2.0, "norm": 1.0}
    for change in ({"users": 0}, {"dropout": 1.0}, {"sensitivity": 0.0}, {"norm": math.inf}):
        with pytest.raises(ValueError, match="Expected"):
            cal.calibrate(Budget(1.0, 1e-6), **(options | change))
    with pytest.raises(ValueError, match="batch large enough"):
        cal.calibrate(Budget(1e-6, 1e-9), **(options | {"users": 1, "size": 2000}))
