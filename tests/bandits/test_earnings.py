"""Estimates of what is earned: what one user can change, what the ledger says of it, and whether intervals hold."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from tacit import Budget, JointGLM, JointLinUCB, Simulated
from tacit.algorithms.earnings import Earnings, interval, purse
from tacit.data import Exact
from tacit.features import Number, Schema
from tacit.mechanisms.opening import opened
from tacit.privacy import ledger
from tacit_papers import ShariffLinUCB

BUDGET = Budget(1.0, 1e-4)
LEVEL = 0.9


def made(**options):
    given = {"dim": 2, "budget": BUDGET, "source": Simulated(1), "policy": default_rng(2), "first": 20} | options
    return JointGLM(**given)


def play(bandit, rounds, seed=0, arms=3):
    rng = default_rng(seed)
    for _ in range(rounds):
        x = rng.uniform(-0.7, 0.7, (arms, bandit._width))
        if bandit._blocks > 1:
            x[:, -1] = np.arange(arms)
        bandit.observe(bandit.choose(x), float(rng.integers(2)))
    return bandit


# what one user can change

NUMBERS = st.floats(allow_nan=False)
USERS = st.tuples(st.sampled_from([0, 1, 2, 3, 4]), NUMBERS, NUMBERS) | st.none()


def numbers(of, user):
    out = np.zeros(of.size)
    if user is not None:
        kind, u, reward = user
        of.add(np.array([kind, u]), reward, Exact(out))
    return out


@pytest.mark.parametrize("arms", [0, 3])
@settings(max_examples=300, deadline=None)
@given(one=USERS, other=USERS)
def test_no_two_users_are_further_apart_than_the_sensitivity(arms, one, other):
    """Whatever is in their rows; together, at the same time or at different ones."""
    of = purse(Earnings(0.2, 5.0, arms), rewards=(-2.0, 3.0), blocks=1, actions=(), room=0, sensitivity=1.7)
    kinds = [None if user is None else (min(user[0], 1 + arms), *user[1:]) for user in (one, other)]
    v, w = (numbers(of, user) for user in kinds)
    assert np.linalg.norm(v - w) <= of.sensitivity * (1 + 1e-12)
    assert v @ v + w @ w <= of.sensitivity**2 * (1 + 1e-12)


@pytest.mark.parametrize("arms", [0, 3])
def test_the_sensitivity_is_attained(arms):
    of = purse(Earnings(0.2, 5.0, arms), rewards=(-2.0, 3.0), blocks=1, actions=(), room=0, sensitivity=1.7)
    ends = list(itertools.product(range(1, 2 + arms), (0.0, 1.0), (-2.0, 3.0)))
    apart = max(np.linalg.norm(numbers(of, a) - numbers(of, b)) for a in ends for b in ends)
    assert apart == pytest.approx(of.sensitivity, rel=1e-12)


def test_a_choice_is_kept_with_its_arm_and_no_propensity_is_computed(monkeypatch):
    """Which would take twice as long as all else that a choice needs."""
    bandit = made(earnings=Earnings(0.1, 8.0, 4))
    monkeypatch.setattr(type(bandit.algorithm), "chance", None)
    choice = bandit.choose(np.eye(4, 2))
    assert opened(bandit._tickets).features[choice.id].tolist()[2:] == [2 + choice.index, 1.0]


# the ledger


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_the_ledger_has_the_share_and_the_whole_is_the_budget(share, secure):
    source = {} if secure else {"source": Simulated(0)}
    plain, bandit = (
        JointGLM(dim=3, budget=BUDGET, first=20, earnings=earnings, **source)
        for earnings in (None, Earnings(share, 10.0, 4))
    )
    own, earned = bandit.privacy.releases
    assert "rewards" in earned.statistic and f"{share:g} of mu^2" in earned.statistic
    total = math.hypot(own.mu, earned.mu)
    assert (earned.mu / total) ** 2 == pytest.approx(share, rel=1e-3)
    assert bandit.privacy.epsilon == ledger.epsilon_of((own, earned), BUDGET.delta) <= BUDGET.epsilon * (1 + 1e-9)
    assert bandit.privacy.epsilon == pytest.approx(BUDGET.epsilon, rel=1e-3)
    assert bandit.mechanism.sigma == pytest.approx(plain.mechanism.sigma / math.sqrt(1 - share), rel=1e-3)
    assert own.sigma == earned.sigma == bandit.mechanism.sigma
    assert len(plain.privacy.releases) == 1 and plain.mechanism.size == plain.contribution.size


def test_it_is_spent_with_the_releases_and_with_each_of_a_persons_rounds():
    bandit = made(earnings=Earnings(0.2), max_rounds_per_person=3)
    assert [release.rounds for release in bandit.privacy.releases] == [3, 3]
    assert bandit.privacy.spent == 0 and bandit.earned is None
    for i in range(21):
        bandit.observe(bandit.choose(np.eye(2), person=i), 1.0)
    assert 0 < bandit.privacy.spent < bandit.privacy.epsilon and bandit.earned is not None


# which arms


def declared(bandit):
    """Arms whose sums are released, of those that may be declared."""
    return list(bandit._door.names or bandit._purse.names), bandit._purse.arms


def test_arms_are_blocks_names_or_places():
    blocks = play(made(dim=6, blocks=3, earnings=Earnings()), 60)
    assert declared(blocks) == (["arm 0", "arm 1", "arm 2"], 3)
    schema = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("tea", "walk"))
    fields = made(dim=0, features=schema, earnings=Earnings())
    for age in range(50):
        fields.observe(fields.choose({"age": age}), 1.0)
    fields.observe_many(fields.choose_many([{"age": 30}] * 20), [1.0] * 20)
    assert declared(fields) == (["tea", "walk"], 2)
    named = made(earnings=Earnings(arms=("a", "b")))
    for _ in range(40):
        named.observe(named.choose({"b": [0.5, 0.1], "a": [0.1, 0.5]}), 1.0)
    assert declared(named) == (["a", "b"], 2)
    assert declared(play(made(earnings=Earnings()), 40)) == ([], 0)


@pytest.mark.parametrize("arms", ["disjoint", "hybrid"])
def test_an_action_that_is_added_has_had_its_place_from_the_start(arms):
    own = {"action": {"price": Number(0, 9)}} if arms == "hybrid" else {}
    schema = Schema(context={"age": Number(0, 100)}, arms=arms, actions=("tea", "walk"), max_actions=4, **own)
    bandit = made(dim=0, features=schema, earnings=Earnings())
    fields = {name: {"price": 3} for name in ("tea", "walk", "sleep")} if own else None
    size = bandit.mechanism.size

    def rounds():
        for age in range(50):
            offered = fields and {name: fields[name] for name in bandit.features.actions}
            bandit.observe(bandit.choose({"age": age}, actions=offered), 1.0)
        return declared(bandit)

    assert rounds() == (["tea", "walk"], 4)
    bandit.add_action("sleep")
    assert rounds() == (["tea", "walk", "sleep"], 4) and bandit.mechanism.size == size


def test_arms_that_were_not_declared_are_refused():
    named, placed = made(earnings=Earnings(arms=("a", "b"))), made(earnings=Earnings(arms=3))
    for bandit, arms in ((named, {"c": [0.1, 0.2]}), (named, np.eye(2)), (placed, np.eye(2))):
        with pytest.raises(ValueError, match="earnings declares"):
            bandit.choose(arms)
    assert named.choices == placed.choices == 0
    chosen = placed.choose_many([np.eye(3, 2), np.eye(2), np.eye(3, 2)])
    assert list(chosen.refused) == [1] and placed.choices == 3  # alone, and it counts
    for wrong in (0.1, Earnings(0.0), Earnings(1.0), Earnings(clip=0.5), Earnings(arms=-1), Earnings(arms=("a", "a"))):
        with pytest.raises(ValueError, match="Expected"):
            made(earnings=wrong)
    with pytest.raises(ValueError, match="blocks that declare 3 of their own"):
        made(dim=6, blocks=3, earnings=Earnings(arms=2))


# what is estimated


def test_without_noise_it_is_the_average_and_sums_are_those_of_arms():
    """Every arm has the same chance in the first step; the sums of one step do not fade."""
    bandit = made(budget=Budget(math.inf, 1e-4), first=60, earnings=Earnings(0.1, 10.0, 3), rewards=(-1.0, 3.0))
    rng, got = default_rng(5), []
    for _ in range(60):
        choice, reward = bandit.choose(np.eye(3, 2)), float(rng.uniform(-1, 3))
        bandit.observe(choice, reward)
        got.append((choice.index, reward))
    bandit.choose(np.eye(3, 2))
    rewards = np.array([reward for _, reward in got])
    index = np.array([index for index, _ in got])
    assert bandit.earned.average.value == pytest.approx(rewards.mean())
    sums = np.asarray(bandit._estimate.earnings)[2:].reshape(3, 2)
    assert (1 + 2 * sums[:, 1] / sums[:, 0]) == pytest.approx([rewards[index == arm].mean() for arm in range(3)])


def test_of_single_arms_nothing_is_shown():
    """Two kinds of people, each of whom likes one of two arms, and a bandit that has learnt it: its sums of an arm are
    of those who got it, who like it, where of all people half do."""
    bandit = made(dim=4, budget=Budget(math.inf, 1e-4), earnings=Earnings(0.1, 10.0, 2), radius=9.0)
    rng = default_rng(7)
    for kind in rng.integers(2, size=600):
        choice = bandit.choose(np.eye(4)[[kind, 2 + kind]])
        bandit.observe(choice, float(choice.index == kind))
    weight, total = np.asarray(bandit._estimate.earnings)[2:4]
    assert (1 + total / weight) / 2 > 0.8
    assert bandit.earned._fields == ("average",) and bandit.earned.average._fields == ("value", "low", "high")
    assert bandit.earned.average.low > 0.5


def test_rows_of_a_log_are_learnt_from_and_counted_in_no_estimate():
    bandit = made(budget=Budget(math.inf, 1e-4), earnings=Earnings())
    bandit.learn_log({"x0": [0.5] * 10, "x1": [0.1] * 10, "reward": [0.0] * 10})
    for _ in range(11):
        bandit.observe(bandit.choose(np.eye(2)), 1.0)
    assert bandit.earned.average.value == 1.0


def test_it_goes_on_after_loading(tmp_path):
    bandit = play(made(dim=6, blocks=3, earnings=Earnings(0.2, 5.0)), 70)
    bandit.save(tmp_path / "bandit.json")
    again = JointGLM.load(tmp_path / "bandit.json")
    assert again.earnings == Earnings(0.2, 5.0) and again.earned == bandit.earned
    assert play(again, 70, seed=1).earned == play(bandit, 70, seed=1).earned


def test_a_bandit_that_draws_nothing_has_the_average_of_whom_it_chose():
    bandit = JointLinUCB(
        dim=2, horizon=400, budget=Budget(math.inf, 1e-4), source=Simulated(0), earnings=Earnings(0.2, 5.0, 2)
    )
    own = JointLinUCB(dim=2, horizon=400, budget=Budget(math.inf, 1e-4), source=Simulated(0))
    for _ in range(200):
        for one in (bandit, own):
            choice = one.choose(0.7 * np.eye(2))
            one.observe(choice, (0.5, -0.5)[choice.index])
    assert -0.5 <= bandit.earned.average.value <= 0.5
    assert np.array_equal(bandit.statistics.gram, own.statistics.gram)  # it learns as without
    with pytest.raises(TypeError, match="earnings"):
        ShariffLinUCB(dim=2, horizon=9, budget=BUDGET, source=Simulated(0), noise="wishart", earnings=Earnings())


# whether intervals hold


def test_intervals_of_sums_hold_at_their_level():
    """10 000 made-up sums for each setting. Binary rewards of people with one chance: the bound on their variance is
    exact, and so is the level: within .015, five standard deviations. Where it is a bound: at least the level. Made
    for half the noise they do not hold."""
    rng, runs = default_rng(0), 10_000

    def coverage(rounds, chance, u, theta, noise, stated=None):
        weights = rng.binomial(rounds, chance, runs)
        won = rng.binomial(weights, (1 + theta) / 2)
        w = u * weights + noise * rng.standard_normal(runs)
        s = u * (2 * won - weights) + noise * rng.standard_normal(runs)
        std = noise if stated is None else stated
        found = np.array([interval(a, b, std, LEVEL) for a, b in zip(w, s, strict=True)])
        assert ((found[:, 1] <= found[:, 0]) & (found[:, 0] <= found[:, 2])).all()
        return np.mean((found[:, 1] <= theta) & (theta <= found[:, 2]))

    for theta, noise in itertools.product((-0.8, 0.0, 0.5), (0.0, 30.0, 200.0)):
        assert abs(coverage(2000, 1.0, 1.0, theta, noise) - LEVEL) < 0.015
        assert coverage(2000, 0.3, 0.3, theta, noise) > LEVEL - 0.015
    assert coverage(2000, 0.5, 1.0, 0.2, 1500.0) > LEVEL - 0.015  # nothing but noise
    assert coverage(2000, 1.0, 1.0, 0.5, 200.0, stated=100.0) < 0.7


def run(bandit, theta, rounds, rng):
    """Plays, and returns what the estimate of the average is for: sums that fade as the bandit's do."""
    target, opened, steps = np.zeros(2), np.zeros(2), 0
    for _ in range(rounds):
        x = rng.uniform(-0.6, 0.6, (3, 2))
        means = 1 / (1 + np.exp(-(x @ theta)))
        choice = bandit.choose(x)
        if bandit._steps > steps:
            target, opened, steps = bandit.mechanism.fading * target + opened, np.zeros(2), bandit._steps
        opened += 1.0, means[choice.index]
        bandit.observe(choice, float(rng.random() < means[choice.index]))
    return target[1] / target[0]


@pytest.mark.parametrize("runs", [pytest.param(15), pytest.param(400, marks=pytest.mark.full)])
def test_a_bandits_intervals_hold(runs):
    """Of the average: at least LEVEL, up to six standard deviations of a frequency in so many runs (false alarm 1e-9,
    and the seeds are fixed). Made for a third of the noise, they do not hold (noise is nearly all of their error)."""
    clip, rounds, theta = 3.0, 250, np.array([2.5, -1.0])
    held, narrow, widths = [], [], []
    for seed in range(runs):
        bandit = made(
            budget=Budget(1.0, 1e-3), source=Simulated(seed), policy=default_rng(1000 + seed), radius=3.0,
            earnings=Earnings(0.05, clip, 3),
        )  # fmt: skip
        target = run(bandit, theta, rounds, default_rng(2000 + seed))
        found = bandit.earned
        held.append(found.average.low <= target <= found.average.high)
        widths.append(found.average.high - found.average.low)
        closer = bandit._purse.earned(bandit._estimate.earnings, bandit.algorithm.std(bandit._steps) / 3, LEVEL).average
        narrow.append(closer.low <= target <= closer.high)
    margin = 6 * math.sqrt(LEVEL * (1 - LEVEL) / runs)
    assert np.mean(held) > LEVEL - margin
    assert np.mean(narrow) < 0.75 and np.mean(widths) < 0.8
