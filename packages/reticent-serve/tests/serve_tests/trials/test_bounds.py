"""Intervals of one look, against slow references that search for every value that is not rejected."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from reticent_serve.trials import bounds, coins, rare
from reticent_serve.trials.bounds import CALIBRATED, PROVEN, GroupSum
from reticent_serve.trials.coins import Centres, Tossed
from reticent_serve.trials.groups import Places

ERROR = 0.05 / 96
GRID = np.linspace(0, 1, 20_001)


def spread_of(rule, groups, blocks, error, *, places, total, noise):
    """All means that are not rejected, one by one: normal, or Chernoff's bound for each lam."""
    count = blocks * places
    if rule == CALIBRATED:
        z = NormalDist().inv_cdf(1 - error / 2)
        keep = (total / count - GRID) ** 2 <= z**2 * (
            groups.mean(places).main * GRID * (1 - GRID) / blocks + (noise / count) ** 2
        )
    else:
        keep = np.abs(total / count - GRID) <= math.sqrt(
            2 * (groups.mean(places).main / 4 / blocks + (noise / count) ** 2) * math.log(4 / error)
        )
        for k in range(6):
            log = math.log(24 / error)
            lam = math.sqrt(2 * log / (count / 4 ** (k + 1) + noise**2))
            for s in (lam, -lam):
                logmgf = count * np.log(1 - GRID + GRID * np.exp(s)) + s**2 * noise**2 / 2
                keep &= s * total - logmgf <= log
    return GRID[keep].min(), GRID[keep].max()


@pytest.mark.parametrize("rule", [CALIBRATED, PROVEN])
@pytest.mark.parametrize(("rate", "noise"), [(0.5, 10.0), (0.02, 11.0), (0.98, 2.0), (0.0, 0.5)])
def test_means_against_all_values(rule, rate, noise):
    groups, blocks = Places(10), 1000
    group = GroupSum(1, rate * blocks, noise)
    low, high = spread_of(rule, groups, blocks, ERROR, places=1, total=group.total, noise=noise)
    found = bounds.mean(group, groups, blocks, ERROR, rule)
    assert found.low == pytest.approx(low, abs=1e-4) and found.high == pytest.approx(high, abs=1e-4)
    assert found.low <= found.value <= found.high


def test_many_trials_at_once_are_the_same_as_one_by_one():
    groups, totals = Places(20, 2, (1, 1)), np.array([3.0, 400.0, 1_000.0, 1_990.0])
    for rule in (CALIBRATED, PROVEN):
        many = bounds.difference(GroupSum(16, 8 * totals, 60.0), GroupSum(2, totals, 9.0), groups, 1000, ERROR, rule)
        for i, total in enumerate(totals.tolist()):
            one = bounds.difference(GroupSum(16, 8 * total, 60.0), GroupSum(2, total, 9.0), groups, 1000, ERROR, rule)
            assert [float(part) for part in one] == pytest.approx([part[i] for part in many])


def test_rare_rewards_make_intervals_narrower_and_sure_ones_too():
    def half(rule, rate):
        found = bounds.difference(
            GroupSum(9, 9 * rate * 10_000, 60.0), GroupSum(1, rate * 10_000, 10.0), Places(10), 10_000, ERROR, rule
        )
        return (found.high - found.low) / 2

    for rule, most in ((CALIBRATED, 0.45), (PROVEN, 0.5)):
        assert half(rule, 0.02) < most * half(rule, 0.5)
        assert half(rule, 0.98) == pytest.approx(half(rule, 0.02), rel=0.02)
    assert half(CALIBRATED, 0.5) < half(PROVEN, 0.5)
    hoeffding = math.sqrt(2 * (0.25 * (10 / 9) ** 2 / 1e4 + (10**2 + (60 / 9) ** 2) / 1e8) * math.log(2 / ERROR))
    assert hoeffding < half(PROVEN, 0.5) < 1.06 * hoeffding


def test_the_bound_for_rare_rewards_is_that_of_every_mean_it_allows():
    for high in (0.01, 0.4, 1.0):
        means, error = np.linspace(0, high, 4001), 9.0
        lams = rare.grid(500, 8.0, error)
        for sign, found in zip((1, -1), rare.tails(500, 8.0, 0.0, high, error), strict=True):
            logmgf = [np.log(1 - means + means * np.exp(sign * lam)) - sign * lam * means for lam in lams]
            slow = min((500 * worst.max() + lam**2 * 32 + error) / lam for worst, lam in zip(logmgf, lams, strict=True))
            assert found == pytest.approx(slow, rel=1e-5)


def test_variance_is_that_of_the_worst_means_that_sums_allow():
    groups, blocks = Places(10), 2000
    bandit, holdout = GroupSum(9, 9 * 0.03 * blocks, 60.0), GroupSum(1, 0.02 * blocks, 10.0)
    c, b = (bounds.mean(group, groups, blocks, ERROR * 0.05, CALIBRATED) for group in (holdout, bandit))
    y, noise = (9 * c.high + b.high) / 10, math.hypot(60 / 9, 10) / blocks
    half = NormalDist().inv_cdf(1 - 0.9 * ERROR / 2) * math.sqrt((10 / 9) ** 2 * y * (1 - y) / blocks + noise**2)
    found = bounds.difference(bandit, holdout, groups, blocks, ERROR, CALIBRATED)
    assert (found.high - found.low) / 2 == pytest.approx(half) and found.value == pytest.approx(0.01)


@pytest.mark.parametrize("chance", [0.05, 0.1, 0.5])
def test_coins_cumulant_is_no_less_than_that_of_any_outcomes(chance):
    for other, lam in itertools.product((1 - chance, 0.8 * (1 - chance)), (0.001, 0.02, 0.1)):
        worst, weights = 0.0, np.array([chance, other, 1 - chance - other])
        for c, b, s in itertools.product(np.linspace(0, 1, 11), np.linspace(0, 1, 11), (lam, -lam)):
            values = np.array([(c - 0.5) / chance, -(b - 0.5) / other, 0.0])
            worst = max(worst, math.log(weights @ np.exp(s * values)) - s * (weights @ values))
        assert coins.cumulant(lam, chance, other) == pytest.approx(worst, rel=1e-9)


def test_coins_cumulant_of_a_divided_control_is_no_less_than_that_of_any_mix_of_arms():
    for lam in (0.01, 0.2, 1.0):
        worst = 0.0
        for f in np.linspace(0, 1, 201):
            for b, s in itertools.product((-0.5, 0.5), (lam, -lam)):
                mgf = 0.1 * (f * math.exp(s * 5) + (1 - f) * math.exp(-s * 5)) + 0.9 * math.exp(-s * b / 0.9)
                worst = max(worst, math.log(mgf) - s * (f - 0.5 - b))
        found = coins.cumulant(lam, 0.1, 0.9, divided=True)
        assert worst <= found + 1e-12 and found == pytest.approx(worst, rel=1e-3)
        assert found >= coins.cumulant(lam, 0.1, 0.9)


def test_coins_intervals_hold_and_are_near_those_of_blocks():
    rng, people, half = np.random.default_rng(3), 40_000, {}
    sizes = (2_000, 38_000)
    for rate in (0.5, 0.02):
        group, reward = rng.random((people, 60)) < 0.1, rng.random((people, 60)) < rate
        counts = np.stack([part.sum(0) for part in np.split(group, [sizes[0]])])
        total = (reward & group).sum(0), (reward & ~group).sum(0)
        centres = Centres(sizes, (0.5, reward[: sizes[0]].mean(0)))
        holdout = Tossed(0.1, tuple(counts), total[0] + 0.0, 10.0)
        bandit = Tossed(0.9, tuple(np.array(sizes)[:, None] - counts), total[1] + 0.0, 60.0)
        for rule in (CALIBRATED, PROVEN):
            found = coins.difference(bandit, holdout, centres, ERROR, rule)
            assert np.mean((found.low <= 0) & (found.high >= 0)) == 1
            half[rule, rate] = float(np.mean(found.high - found.low)) / 2
            for tossed in (holdout, bandit):
                mean = coins.mean(tossed, centres, ERROR, rule)
                assert np.all((mean.low <= reward.mean(0)) & (mean.high >= reward.mean(0)))
        blocks = bounds.difference(
            GroupSum(9, 36_000 * rate, 60.0), GroupSum(1, 4000 * rate, 10.0), Places(10), 4000, ERROR, CALIBRATED
        )
        assert half[CALIBRATED, rate] < 1.6 * (blocks.high - blocks.low) / 2
    assert half[CALIBRATED, 0.02] < 0.6 * half[CALIBRATED, 0.5]


def test_manski_is_as_wide_as_those_who_did_not_get_the_arm():
    exact = bounds.interval(300.0, 100.0, 0.0, 1000, 0.05)
    assert (exact.low, exact.high) == (0.3, 0.9)
    noisy = bounds.interval(300.0, 100.0, 10.0, 1000, 0.05)
    assert noisy.low == pytest.approx(0.3 - 0.0196, abs=1e-4) and noisy.high == pytest.approx(0.9 + 0.0196, abs=1e-4)
    assert bounds.interval(-50.0, 1200.0, 1.0, 1000, 0.05)[1:] == (0.0, 0.0)


def test_groups_that_are_not_as_planned_are_told():
    chances = 0.9, 0.1
    assert bounds.problem(1000, (900, 100), chances, coins=False, looks=24) is None
    assert "Expected 900 people of 1000" in (bounds.problem(1000, (899, 101), chances, coins=False, looks=24) or "")
    counts = np.random.default_rng(1).binomial(10_000, 0.1, 2000).tolist()
    assert [bounds.problem(10_000, (10_000 - n, n), chances, coins=True, looks=24) for n in counts].count(None) == 2000
    assert bounds.problem(10_000, (8_800, 1_200), chances, coins=True, looks=24) is not None
