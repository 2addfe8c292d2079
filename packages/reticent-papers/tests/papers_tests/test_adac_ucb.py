"""AdaCUCB: episodes, a slow reference with and without noise. What all such bandits have in common: test_adac.py."""

import dataclasses
import math

import numpy as np
import pytest

from lab_tests.raising import raised
from reticent import Budget, Simulated, environments
from reticent.privacy import gaussian
from reticent_lab.arena.audit import audited
from reticent_lab.arena.entries import entries
from reticent_lab.audit.bound import gaussian_bound
from reticent_papers import AdaCGOPE, AdaCUCB

ARMS, MEANS = np.eye(3), np.array([0.75, 0.5, 0.3])


def build(**options):
    return AdaCUCB(**{"dim": 3, "horizon": 500, "budget": Budget(1.0, 1e-6), "source": Simulated(1)} | options)


def played(bandit, table):
    """Which arms, where each round has a reward for each arm."""
    out = []
    for rewards in table:
        choice = bandit.choose(ARMS)
        assert choice.propensity == 1.0
        bandit.observe(choice, float(rewards[choice.index]))
        out.append(choice.index)
    return out


def reference(table, *, noise, rho, beta):
    """Algorithm 7 with the index (5.4), slow and plain, for rewards in [0, 1]. noise: added to the sums of episodes."""
    arms, noise, t = range(table.shape[1]), iter(noise), 0
    out, means, lengths, counts = [], {}, {}, dict.fromkeys(arms, 0)
    while t < len(table):
        if t < len(arms):
            arm, length = t, 1
        else:
            index = {
                a: means[a] + math.sqrt((1 / (2 * lengths[a]) + 1 / (rho * lengths[a] ** 2)) * beta * math.log(t + 1))
                for a in arms
            }
            arm = max(arms, key=lambda a: index[a])
            length = counts[arm]
        seen = table[t : t + length, arm]
        means[arm], lengths[arm] = (seen.sum() + next(noise, 0.0)) / length, length
        counts[arm] += length
        out += [arm] * len(seen)
        t += length
    return out


@pytest.mark.parametrize("beta", [1.0, 3.1])
@pytest.mark.parametrize("epsilon", [math.inf, 1.0, 8.0])
def test_it_is_the_slow_reference(beta, epsilon):
    table = (np.random.default_rng(4).random((4000, 3)) < MEANS).astype(float)
    bandit = build(budget=Budget(epsilon, 1e-6), horizon=4000, optimism=beta)
    arms, state = played(bandit, table), bandit._state
    ends = np.cumsum(state.episodes[: bandit._steps, 1])
    exact = [table[np.arange(end - n, end), a].sum() for end, (a, n) in zip(ends, state.episodes, strict=False)]
    middle = 0.5 * state.episodes[: bandit._steps, 1]
    noise = np.diff(state.sums[: bandit._steps + 1, 0]) + middle - exact
    rho = gaussian.mu(Budget(epsilon, 1e-6)) ** 2 / 2
    assert arms == reference(table, noise=noise, rho=rho, beta=beta)
    assert bandit._steps > 12 and (epsilon < math.inf or np.abs(noise).max() < 1e-9)
    if epsilon == 1.0:
        assert arms != reference(table, noise=0 * noise, rho=rho, beta=beta)


def test_other_ranges_of_rewards_are_the_same_but_for_scale():
    table = (np.random.default_rng(4).random((1500, 3)) < MEANS).astype(float)
    first = played(build(horizon=1500), table)
    assert first == played(build(horizon=1500, rewards=(-2.0, 3.0)), 5 * table - 2)


def test_an_episode_doubles_the_plays_of_its_arm():
    bandit = build(horizon=3000)
    arms = played(bandit, (np.random.default_rng(1).random((3000, 3)) < MEANS).astype(float))
    counts, start = np.zeros(3, int), 0
    for number, (arm, plays) in enumerate(bandit._state.episodes[: bandit._steps]):
        assert set(arms[start : start + plays]) == {arm} and plays == (counts[arm] or 1)
        assert number >= 3 or arm == number
        counts[arm] += plays
        start += plays
    assert bandit._steps > 10


def test_the_number_of_episodes_is_never_more_than_planned_for():
    """Arms that are all as good are played as often, which makes the most."""
    for horizon in (2, 3, 7, 48, 1000):
        bandit = build(horizon=horizon, optimism=1e6, budget=Budget(math.inf, 0.1))
        played(bandit, np.full((horizon, 3), 0.5))
        assert bandit._steps < bandit.mechanism.leaves
    assert bandit._steps >= bandit.mechanism.leaves - 4


def test_the_audit_of_the_arena_does_not_convict_it():
    player = next(entry for entry in entries() if entry.name == "adac-ucb" and entry.epsilon == 1)
    assert 0 <= audited(player, runs=100).at_least <= 1.0  # None, if it were not convicted without noise


@pytest.mark.full
@pytest.mark.parametrize("kind", [AdaCGOPE, AdaCUCB])
def test_what_is_released_of_a_phase_comes_near_the_claim_and_less_noise_is_convicted(kind):
    """One user's best and worst reward: the bound is .8 to 1 (false alarm .001); with 0.8 sigma above 1."""
    scale = {"length_scale": 1e-9} if kind is AdaCGOPE else {}
    bandit = kind(dim=1, horizon=8, budget=Budget(1.0, 0.02), source=Simulated(7), **scale)
    for share, low, high in ((1.0, 0.8, 1.0), (0.8, 1.0, 2.0)):
        bandit.mechanism = dataclasses.replace(bandit.mechanism, sigma=share * bandit.mechanism.sigma)
        seen = np.zeros((2, 30_000))
        for world, scores in enumerate(seen):
            for run in range(len(scores)):
                bandit._state = bandit.init()
                bandit.observe(bandit.choose([[1.0]]), float(world))
                bandit.choose([[1.0]])
                scores[run] = bandit._state.sums[1, 0]
        assert low <= gaussian_bound(*seen, 0.02, confidence=0.999) <= high


def test_late_and_missing_rewards_count_as_the_middle_and_batches_are_one_arm():
    bandit = build(budget=Budget(math.inf, 0.1), rewards=(1.0, 3.0))
    first = bandit.choose_many([ARMS] * 4)
    assert set(first.index) == {0} and not bandit.observe_many(first.id[:3], [3.0] * 3)
    second = bandit.choose(ARMS)
    assert second.index == 1 and bandit.theta.tolist() == [0.75, 0.0, 0.0]
    bandit.observe(int(first.id[3]), 3.0)
    third = bandit.choose(ARMS)
    bandit.observe(second, 3.0)
    assert third.index == 2 and bandit.theta.tolist() == [0.75, 0.0, 0.0]


def test_arms_that_are_not_the_unit_vectors_are_refused_alone():
    bandit = build()
    for other in (ARMS[:2], ARMS[::-1], ARMS * 0.5):
        raised(ValueError, bandit.choose, other).match("Expected the unit vectors as arms")
    assert bandit.choices == 0
    batch = bandit.choose_many([ARMS, ARMS[:2], ARMS])
    assert list(batch.refused) == [1] and batch.index.tolist() == [0, -1, 0]
    world = environments.fixed(dim=3, arms=4)
    block = world.block(10)
    world.start(np.random.default_rng(2), 10).fill(block)
    raised(ValueError, bandit.play, block).match("Expected the unit vectors")


def test_settings_are_checked():
    raised(ValueError, build, optimism=-1.0).match("Expected optimism")
