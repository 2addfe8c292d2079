"""A trial as a whole, from sums as bandits release them: looks, since when, arms, the end, and what is said."""

import math

import numpy as np
import pytest

from core_tests.made import joint
from reticent import Budget, Holdout, JointGLM, Simulated, Spec, environments, simulate
from reticent.algorithms.trial_sums import TrialLook, TrialSums
from reticent_serve.trials import bounds, waits
from reticent_serve.trials.bounds import GroupSum
from reticent_serve.trials.groups import Places
from reticent_serve.trials.trial import course, trial

YES = (0.0, 1.0)


def sums(holdout, people, means, tau=8.0, *, ended=None, rewards=YES, pairs=(), rounding=0.0, counts=None):
    """As released, without noise: means of each group in [0, 1]."""
    looks = []
    for n in people:
        own = counts(n) if counts else tuple(round(n * group.chance) for group in holdout.groups)
        totals = tuple(count * (mean - 0.5) for count, mean in zip(own, means, strict=True))
        looks.append(TrialLook(n, own, totals, (tau,) * len(own), tuple((n * a, n * b) for a, b in pairs), tau))
    block = 1 if holdout.assign == "coins" else holdout.block
    groups, lost = holdout.groups, (rounding,) * len(holdout.groups)
    return TrialSums(holdout, groups, block, holdout.pairs, rewards, tuple(looks), ended, np.ones(1), (1.0,), lost)


HELLO = Holdout(share=0.1, action="hello")
PEOPLE = [500, 560, 1000, 2000, 4000, 8000, 16_000]


def test_looks_intervals_and_since_when_it_is_clear():
    found = course(sums(HELLO, PEOPLE, (0.7, 0.5)))
    assert [one.people for one in found] == [500, 1000, 2000, 4000, 8000, 16_000]
    clear = [one.people for one in found if one.clear]
    assert [one.since for one in found if one.clear] == [clear[0]] * len(clear) and 1 < len(clear) < 6
    last = found[-1]
    assert last == trial(sums(HELLO, PEOPLE, (0.7, 0.5)))
    assert last.holdout == 1600 and last.value == pytest.approx(0.2) and last.cost == pytest.approx(320)
    pair = GroupSum(9, 0.7 * 14_400, 8.0), GroupSum(1, 0.5 * 1600, 8.0)
    slow = bounds.difference(*pair, Places(10), 1600, 0.05 / 96, "calibrated")
    assert (last.low, last.high) == pytest.approx(slow[1:])
    assert last.earned.value == pytest.approx(0.68) and last.bandit.low < 0.7 < last.bandit.high
    half = bounds.quantile(0.05 / 96) * math.hypot(8, 8) / 16_000
    assert last.earned.high - last.earned.value == pytest.approx(half)
    assert trial(sums(HELLO, [100, 490], (0.7, 0.5))) is None
    assert last.problem is None and trial(sums(HELLO, [1000], (0.7, 0.5), counts=lambda n: (n - 90, 90))).problem


def test_since_begins_anew_where_the_sign_changes_or_zero_comes_back():
    better, worse = sums(HELLO, [16_000], (0.7, 0.5)), sums(HELLO, [64_000], (0.4, 0.5))
    found = course(better._replace(looks=better.looks + worse.looks))
    assert [one.since for one in found] == [16_000, 64_000] and found[1].high < 0


def test_ranges_of_rewards_rounding_and_proven_bounds():
    unit, wide = (trial(sums(HELLO, PEOPLE, (0.7, 0.5), rewards=ends)) for ends in (YES, (-1.0, 3.0)))
    assert wide.value == pytest.approx(4 * unit.value) and wide.low == pytest.approx(4 * unit.low)
    assert wide.holdout_value.value == pytest.approx(-1 + 4 * 0.5)
    lost = trial(sums(HELLO, PEOPLE, (0.7, 0.5), rounding=0.01))
    assert lost.low == pytest.approx(unit.low - 0.02) and lost.bandit.high == pytest.approx(unit.bandit.high + 0.01)
    proven = trial(sums(Holdout(share=0.1, action="hello", bound="proven"), PEOPLE, (0.7, 0.5)))
    assert proven.low < unit.low and proven.bound == "proven"
    sure = trial(sums(Holdout(share=0.1, action="hello", level=0.99), PEOPLE, (0.7, 0.5)))
    assert sure.low < unit.low and sure.level == 0.99


def test_arms_with_people_of_their_own_without_any_and_as_a_divided_control():
    own = Holdout(share=0.1, action="hello", actions=("a", "b"), min_share=0.02)
    found = trial(sums(own, [50_000], (0.7, 0.5, 0.3, 0.9)))
    assert found.holdout == 5000 and list(found.arms) == ["a", "b"]
    assert found.arms["a"].low < 0.3 < found.arms["a"].high < 0.5 < found.arms["b"].low
    bare = trial(
        sums(Holdout(share=0.1, action="hello", actions=("a", "b")), [50_000], (0.7, 0.5), pairs=((0.3, 0.1), (0, 0)))
    )
    assert (bare.arms["a"].low, bare.arms["a"].high) == pytest.approx((0.3, 0.9), abs=1e-3)
    assert bare.arms["b"][1:] == (0.0, 1.0)
    divided = trial(sums(Holdout(share=0.1, policy="uniform", actions=("a", "b")), [50_000], (0.7, 0.3, 0.5)))
    assert divided.holdout == 5000 and divided.value == pytest.approx(0.3)
    assert divided.holdout_value.value == pytest.approx(0.4) and divided.arms["b"].value == pytest.approx(0.5)


def test_coins_count_people_as_they_came():
    coins = Holdout(share=0.1, action="hello", assign="coins")
    found = trial(sums(coins, PEOPLE, (0.7, 0.5), counts=lambda n: (n - n // 10 - 7, n // 10 + 7)))
    assert found.holdout == 1607 and found.low < 0.2 < found.high and found.problem is None
    assert found.holdout_value.low < 0.5 < found.holdout_value.high
    assert trial(sums(coins, [16_000], (0.7, 0.5), counts=lambda n: (n - n // 5, n // 5))).problem


def test_what_comes_after_the_end_changes_nothing():
    before, after = sums(HELLO, PEOPLE[:-1], (0.7, 0.5)), sums(HELLO, PEOPLE, (0.7, 0.5), ended=9000)
    assert trial(after) == trial(before)._replace(ended=True)


def test_waiting_is_until_the_interval_is_as_narrow():
    of = waits.Outlook(Places(10), 0.5, 0.5, lambda people: (10.0, 60.0))
    need = waits.until(of, 0.05)
    assert waits.half(of, need) <= 0.05 < waits.half(of, need - 10)
    assert waits.until(of, 0.05, waits.POWER) > need and waits.until(of, 1e-9) is None and waits.until(of, 1.0) == 500


def test_a_bandit_has_its_trial():
    bandit = joint(
        features=2, budget=Budget(50.0, 1e-4), first=60, holdout=Holdout(share=0.5, action=0), window=1, default=0.0,
        source=Simulated(0), policy=np.random.default_rng(0),
    )  # fmt: skip
    assert trial(bandit.trial_sums) is None
    for _ in range(400):
        choice = bandit.choose(np.array([[0.0, 1.0], [1.0, 0.0]]))
        bandit.observe(choice, float(choice.index))
    found = trial(bandit.trial_sums)
    assert found.people >= 240 and found.holdout == found.people / 2 and found.low > 0.2
    assert found.holdout_value.value < 0.1
    assert trial(joint(features=2, budget=Budget(1.0, 1e-4), source=Simulated(0)).trial_sums) is None


def test_a_simulation_has_it_among_its_options():
    holdout = Holdout(share=0.5, policy="uniform")
    spec = Spec(JointGLM, budget=Budget(1.0, 1e-4), holdout=holdout, window=1, default=0.0)
    (row,) = simulate([spec], environments.ball(dim=2, arms=3), horizon=60, runs=1, seed=0).rows
    assert row["options"]["holdout"]["policy"] == "uniform"
