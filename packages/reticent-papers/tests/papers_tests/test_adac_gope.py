"""AdaCGOPE: the design, plans, the sensitivity of a reward, what is ruled out, a slow reference."""

import math

import numpy as np
import pytest
from scipy import linalg

from lab_tests.raising import raised
from reticent import Budget, Simulated, environments
from reticent.data import Exact
from reticent.mechanisms.opening import opened
from reticent.privacy import gaussian
from reticent_papers import AdaCGOPE
from reticent_papers.designs import g_optimal
from reticent_papers.joint.one_set import add_in_time

ARMS = np.array([[0.9, 0.1, 0.0], [0.0, 0.8, 0.3], [-0.4, 0.2, 0.7], [0.3, 0.3, 0.3], [0.1, -0.9, 0.2]])
PARAMETER = np.array([0.5, -0.3, 0.2])


def build(**options):
    return AdaCGOPE(**{"dim": 3, "horizon": 500, "budget": Budget(1.0, 1e-6), "source": Simulated(1)} | options)


@pytest.mark.parametrize(("d", "count"), [(1, 3), (2, 2), (3, 20), (3, 400), (6, 60)])
def test_the_design_is_optimal_on_few_arms(d, count):
    """Kiefer & Wolfowitz: no design has a largest square below d, and this one has d (1 + 1e-4)."""
    rng = np.random.default_rng(d)
    arms = rng.standard_normal((count, d)) * rng.uniform(0.1, 1.0, (count, 1))
    weights = g_optimal(arms)
    inverse = np.linalg.inv(np.einsum("k,ki,kj->ij", weights, arms, arms))
    assert np.einsum("ki,ij,kj->k", arms, inverse, arms).max() <= d * (1 + 1.1e-4)
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1.0)
    assert np.count_nonzero(weights) <= d * (d + 1) // 2


def test_arms_around_a_circle_need_no_more_than_three():
    angles = np.arange(41) * 2 * np.pi / 41
    assert np.count_nonzero(g_optimal(np.stack([np.cos(angles), np.sin(angles)], axis=1))) <= 3


def printed(phase, d, arms, failure, rho):
    """c as the thesis prints it (5.6)."""
    beta, delta = 2.0**-phase, failure / (arms * phase * (phase + 1))
    f = d + 2 * math.sqrt(d * math.log(2 / delta)) + 2 * math.log(2 / delta)
    return 8 * d / beta**2 * math.log(4 / delta) + 2 * d / beta * math.sqrt(2 / rho * f)


def test_lengths_are_as_printed():
    for rewards in ((-1.0, 1.0), (0.0, 1.0), (-2.0, 3.0)):
        bandit, rho = build(rewards=rewards, failure=0.01), gaussian.mu(Budget(1.0, 1e-6)) ** 2 / 2
        for phase in (1, 2, 5):
            assert bandit._length(phase, 3, 7, bandit._noise) == pytest.approx(printed(phase, 3, 7, 0.01, rho))


def test_a_plan_is_played_and_then_the_phase_ends():
    bandit = build(horizon=5000, failure=0.01)
    bandit.choose(ARMS)
    plan = bandit._state.left.copy()
    expected = np.ceil(bandit._length(1, 3, 5, bandit._noise) * g_optimal(ARMS))
    played, total = [], int(expected.sum())
    assert plan.sum() == total - 1 and np.abs(plan - expected).max() <= 1
    for _ in range(total - 1):
        assert bandit._steps == 0
        played.append(bandit.choose(ARMS).index)
    assert (np.bincount(played, minlength=5) == plan).all()
    bandit.choose(ARMS)
    assert bandit._steps == 1 and not opened(bandit._state.prefix).open.any()


def test_the_number_of_phases_is_never_more_than_planned_for():
    for scale, horizon, arms in ((1e-9, 60, ARMS[:1]), (1e-3, 300, ARMS[:1]), (0.05, 900, ARMS[:2])):
        bandit = build(horizon=horizon, length_scale=scale, budget=Budget(math.inf, 0.1))
        for _ in range(horizon):
            bandit.choose(arms)
        assert 3 <= bandit._steps < bandit.mechanism.leaves


def vectors_of(arms, scale):
    """The public vectors u that rewards have in three phases, whatever the estimates rule out."""
    bandit, out = build(horizon=300, length_scale=scale, budget=Budget(math.inf, 0.1)), []
    while bandit._steps < 3:
        choice = bandit.choose(arms)
        row, _ = bandit.memory.tickets.take(choice.id)
        out.append(opened(row)[:-1].copy())
    return np.array(out)


def test_no_reward_has_a_longer_vector_than_is_claimed():
    """For designs far from optimal too, arms of all lengths, sets that span fewer dimensions; attained."""
    rng, longest = np.random.default_rng(1), []
    for trial in range(40):
        arms = rng.uniform(-0.57, 0.57, (int(rng.integers(1, 9)), 3)) * 10.0 ** rng.uniform(-6, 0)
        arms[:, 2] *= trial % 3 > 0
        longest.append(np.linalg.norm(vectors_of(arms, 10.0 ** rng.uniform(-6, -3)), axis=1).max())
    assert max(longest) <= 1 + 1e-9 and min(longest) > 0.99


def test_a_replaced_reward_moves_one_sum_by_no_more_than_is_claimed():
    """Searched, and attained: another reward, one that comes too late, or never."""
    rng, worst = np.random.default_rng(2), 0.0
    for low, high in ((0.0, 1.0), (-2.0, 3.0)):
        for _ in range(2000):
            x, sums = rng.standard_normal(3) * rng.uniform(0, 2), np.zeros((2, 3))
            for out in sums:
                kept = np.append(x, rng.choice([3.0, 4.0], p=[0.9, 0.1]))
                add_in_time(kept, rng.choice([low, high, 5.0, -9.0, 0.3]), low, high, 3, Exact(out))
            worst = max(worst, float(np.linalg.norm(sums[0] - sums[1])) / (high - low))
    assert 0.999 < worst <= 1 + 1e-12


def test_the_estimate_has_the_noise_of_the_thesis():
    """theta = V^-1/2 N, N of covariance (2 / rho) g^2, g^2 <= d / c: 2000 estimates, whitened by that, have a std
    within 7 % of 1 in every direction, false alarm below 1e-4; with 2/3 or 3/2 of the noise they have not."""
    bandit, thetas = build(horizon=60, length_scale=1e-3, rewards=(-1.0, 1.0)), []
    for _ in range(2000):
        bandit._state = bandit.init()
        while not bandit._steps:
            bandit.choose(ARMS)
        thetas.append(bandit._state.thetas[0].copy())
    bandit._state = bandit.init()
    bandit._pick(ARMS[None])
    gram = np.einsum("k,ki,kj->ij", bandit._state.left, ARMS, ARMS)
    g = math.sqrt(np.einsum("ki,ij,kj->k", ARMS, np.linalg.inv(gram), ARMS).max())
    rho = gaussian.mu(Budget(1.0, 1e-6)) ** 2 / 2
    ratio = (np.array(thetas) @ linalg.sqrtm(gram).real / (g * math.sqrt(2 / rho))).std(axis=0)
    assert ((ratio > 0.93) & (ratio < 1.07)).all() and not ((ratio > 0.93 * 1.5) | (ratio < 1.07 / 1.5)).any()
    weights = g_optimal(ARMS)
    exact = np.einsum("ki,ij,kj->k", ARMS, np.linalg.inv(np.einsum("k,ki,kj->ij", weights, ARMS, ARMS)), ARMS).max()
    assert g**2 <= exact / bandit._length(1, 3, 5, bandit._noise) * (1 + 1e-9)


def reference(rounds, *, failure):
    """Slow and plain: the arms that a run without noise plays, given what reward each round has on each arm; and what
    is left in the end. Arms of a phase take turns, the one with the most plays to come first."""
    alive, played, phase, t = list(range(len(ARMS))), [], 1, 0
    while True:
        arms, beta = ARMS[alive], 2.0**-phase
        axes = linalg.orth(arms.T)
        d = axes.shape[1]
        plays = np.ceil(printed(phase, d, 5, failure, math.inf) * g_optimal(arms @ axes))
        plan = dict(zip(alive, plays, strict=True))
        gram, moment = np.zeros((3, 3)), np.zeros(3)
        while any(plan.values()):
            if t == len(rounds):
                return played, alive
            arm = max(plan, key=lambda a: (plan[a], -a))
            plan[arm] -= 1
            played.append(arm)
            gram += np.outer(ARMS[arm], ARMS[arm])
            moment += rounds[t][arm] * ARMS[arm]
            t += 1
        theta = np.linalg.pinv(gram, rcond=1e-9) @ moment
        best = max(ARMS[arm] @ theta for arm in alive)
        alive = [arm for arm in alive if best - ARMS[arm] @ theta <= 2 * beta]
        phase += 1


def test_it_is_the_slow_reference_without_noise():
    """At the lengths of the thesis, for as long as it takes to leave two arms of five: fewer than dimensions."""
    rng, horizon = np.random.default_rng(4), 60_000
    rewards = np.where(rng.random((horizon, 5)) < (1 + ARMS @ PARAMETER) / 2, 1.0, -1.0)
    options = {"rewards": (-1.0, 1.0), "horizon": horizon, "failure": 0.1, "pending": 10}
    bandit, played = build(budget=Budget(math.inf, 0.1), **options), []
    for given in rewards:
        choice = bandit.choose(ARMS)
        played.append(choice.index)
        bandit.observe(choice, given[choice.index])
    expected, alive = reference(rewards, failure=0.1)
    assert played == expected
    assert 0 in alive and len(alive) <= 2 and np.flatnonzero(bandit._state.alive[bandit._steps]).tolist() == alive


@pytest.mark.full
def test_estimates_are_within_beta_with_noise():
    """With failure .05 at most 6 runs of 30 are off by more, false alarm below 1e-3; by a tenth of it, most are."""
    wrong = {1.0: 0, 0.1: 0}
    for run in range(30):
        rng = np.random.default_rng(run)
        options = {"rewards": (-1.0, 1.0), "failure": 0.05, "budget": Budget(4.0, 1e-3), "source": Simulated(run)}
        bandit = build(horizon=3000, **options)
        for mean in rng.random(3000):
            choice = bandit.choose(ARMS)
            bandit.observe(choice, 1.0 if mean < (1 + ARMS[choice.index] @ PARAMETER) / 2 else -1.0)
        assert bandit._steps >= 1
        thetas = bandit._state.thetas[: bandit._steps]
        off = np.abs((thetas - PARAMETER) @ ARMS.T).max(axis=1) * 2.0 ** np.arange(1, bandit._steps + 1)
        for scale in wrong:
            wrong[scale] += off.max() > scale
    assert wrong[1.0] <= 6 and wrong[0.1] > 20


def test_late_and_missing_rewards_count_as_the_middle():
    bandit = build(budget=Budget(math.inf, 0.1), length_scale=1e-3, rewards=(1.0, 3.0))
    first = [bandit.choose(ARMS[:1]) for _ in range(2)]
    assert bandit._steps == 1 and bandit.theta.tolist() == [0.0, 0.0, 0.0]
    bandit.observe(first[0], 3.0)
    while bandit._steps < 2:
        last = bandit.choose(ARMS[:1])
    assert bandit.theta.tolist() == [0.0, 0.0, 0.0] and bandit.observe(last, 3.0)


def test_people_of_a_batch_who_exceed_the_plan_teach_nothing():
    bandit = build(budget=Budget(math.inf, 0.1), length_scale=1e-3, rewards=(-1.0, 1.0))
    choices, planned = bandit.choose_many([ARMS[:1]] * 50), math.ceil(bandit._length(1, 1, 1, 0.0))
    assert planned < 50 and not bandit.observe_many(choices, [1.0] * 50)
    bandit.choose(ARMS[:1])
    assert bandit.theta @ ARMS[0] == pytest.approx(1.0)


def test_a_refused_request_settles_nothing():
    """Nor does a mask, which offers other arms."""
    bandit = build(max_rounds_per_person=1)
    for wrong in ({}, {"available": [True] * 4 + [False], "person": "a"}):
        raised(ValueError, bandit.choose, ARMS, **wrong).match("Expected")
    raised(ValueError, bandit.choose, ARMS * 1e-300, person="a").match("Expected arms that are all 0")
    assert list(bandit.choose_many([ARMS[:2], ARMS], persons=["a", "b"]).refused) == [1]  # the first good row counts
    assert bandit.choose(ARMS[:2], person="c").index in (0, 1)


def test_other_arms_are_refused_alone():
    bandit = build(length_scale=1e-3)
    bandit.choose(ARMS)
    before = bandit.choices
    for other in (ARMS[:4], ARMS[::-1], ARMS * 0.5):
        raised(ValueError, bandit.choose, other).match("Expected the same arms in every round")
    raised(ValueError, bandit.choose, ARMS, available=[True] * 4 + [False]).match("Expected the same arms")
    assert bandit.choices == before and bandit.choose(ARMS, available=[True] * 5).index >= 0
    batch = bandit.choose_many([ARMS, ARMS[:2], ARMS])
    assert list(batch.refused) == [1] and batch.index[[0, 2]].min() >= 0
    world = environments.ball(dim=3, arms=4)
    block = world.block(10)
    world.start(np.random.default_rng(2), 10).fill(block)
    raised(ValueError, build().play, block).match("Expected the same arms")


@pytest.mark.parametrize("after", [0, 1, 40])
def test_a_saved_bandit_goes_on_as_it_would_have(after, tmp_path):
    bandit, rng = build(length_scale=1e-3), np.random.default_rng(5)
    for _ in range(after):
        bandit.observe(bandit.choose(ARMS), float(rng.integers(2)))
    bandit.save(tmp_path / "bandit.json")
    again, rewards = AdaCGOPE.load(tmp_path / "bandit.json"), rng.integers(2, size=60)
    if after:
        raised(ValueError, again.choose, ARMS[:2]).match("Expected the same arms")
    played = []
    for one in (bandit, again):
        choices = []
        for reward in rewards:
            choices.append(one.choose(ARMS))
            one.observe(choices[-1], float(reward))
        played.append([choice.index for choice in choices])
    assert played[0] == played[1] and np.array_equal(bandit.theta, again.theta) and bandit._steps >= 3


def test_arms_that_are_all_zero_and_arms_that_are_tiny_are_played():
    for arms in (np.zeros((2, 3)), 1e-120 * ARMS, np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])):
        bandit = build(length_scale=1e-3)
        for _ in range(100):
            bandit.observe(bandit.choose(arms), 1.0)
        assert bandit._steps >= 2 and np.isfinite(bandit.theta).all()


def test_settings_are_checked():
    raised(ValueError, build, length_scale=0.0).match("Expected length_scale")
    raised(ValueError, build, failure=1.5).match("Expected failure")
