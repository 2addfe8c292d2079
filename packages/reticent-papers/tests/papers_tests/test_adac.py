"""AdaCUCB, AdaCGOPE and AdaCOFUL: what is the same of all three."""

import math

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from reticent import Budget, Secure, Simulated, Spec, environments
from reticent.errors import NoHorizon
from reticent.privacy import gaussian, relations
from reticent_papers import AdaCGOPE, AdaCOFUL, AdaCUCB

BUDGET, FREE = Budget(1.0, 1e-6), Budget(math.inf, 0.1)
OPTIONS = {AdaCUCB: {}, AdaCGOPE: {"length_scale": 1e-3}, AdaCOFUL: {}}
every = pytest.mark.parametrize("kind", OPTIONS)


def build(kind, **options):
    plain = {"dim": 3, "horizon": 500, "budget": BUDGET, "source": Simulated(1)}
    return kind(**plain | OPTIONS[kind] | options)


def sums_of(bandit, arms, rounds):
    """What the steps of a run release, without noise: `rounds` are pairs (reward or None, answered how much later)."""
    late = {}
    for t, (reward, delay) in enumerate(rounds):
        late.setdefault(t + delay, []).append((bandit.choose(arms), reward))
        for choice, came in late.pop(t, []):
            if came is not None:
                bandit.observe(choice, came)
    return np.diff(bandit._state.sums[: bandit._steps + 1], axis=0)


@pytest.mark.parametrize(
    ("kind", "arms", "places", "delays"), [(AdaCUCB, [[1.0]], 16, 5), (AdaCGOPE, [[0.9, 0.1, 0.0]] * 2, 10, 8)]
)
def test_a_replaced_reward_moves_the_sums_of_a_run_by_no_more_than_is_claimed(kind, arms, places, delays):
    """Searched, and attained: another reward, at another time, or never. One arm, so that plays are the same."""
    rng, low, high, worst = default_rng(1), -2.0, 3.0, 0.0
    for _ in range(200):
        rounds = [(float(rng.uniform(low, high)), 0) for _ in range(30)]
        place, sums = int(rng.integers(places)), []
        for _ in range(2):
            rounds[place] = (rng.choice([low, high, 0.0, None], p=[0.4, 0.4, 0.1, 0.1]), int(rng.integers(delays)))
            bandit = build(kind, dim=len(arms[0]), budget=FREE, rewards=(low, high))
            sums.append(sums_of(bandit, arms, rounds))
        moved = np.linalg.norm(sums[0] - sums[1], axis=1)
        assert len(moved) >= 3 and np.count_nonzero(moved > 1e-12) <= 1
        worst = max(worst, float(moved.max()) / (high - low))
    assert 0.99 < worst <= 1 + 1e-12


@every
def test_the_ledger_has_one_release_for_any_number_of_steps(kind):
    bandit = build(kind)
    certificate = bandit.privacy
    assert certificate.epsilon == pytest.approx(1.0, rel=1e-6)
    assert certificate.neighbours == relations.REPLACE + " rewards"
    assert bandit.mechanism.sigma == pytest.approx(1 / gaussian.mu(BUDGET)) and bandit.mechanism.column_norm == 1.0
    assert build(kind, max_rounds_per_person=2).mechanism.sigma == pytest.approx(2 * bandit.mechanism.sigma)
    wide = build(kind, rewards=(-2.0, 3.0)).mechanism.sigma
    assert wide == pytest.approx(5 * bandit.mechanism.sigma)


@every
def test_with_secure_noise_it_is_private_and_can_be_saved(kind, tmp_path):
    bandit = build(kind, source=Secure())
    for _ in range(40):
        bandit.observe(bandit.choose(np.eye(3)), 1.0)
    assert bandit.privacy.private and bandit._steps >= 2
    bandit.save(tmp_path / "bandit.json")
    assert np.array_equal(kind.load(tmp_path / "bandit.json").theta, bandit.theta)


@pytest.mark.parametrize(("kind", "options", "share"), [(AdaCUCB, {}, 0.2), (AdaCGOPE, {"length_scale": 0.1}, 0.5)])
def test_it_learns_in_worlds_with_one_arm_set_and_more_noise_costs(kind, options, share):
    world = environments.basis(dim=5, arms=5, radius=3.0, link="probit")
    regret, block = {}, world.block(4000)
    for epsilon in (0.1, 8.0):
        bandit = Spec(kind, budget=Budget(epsilon, 1e-4), **options).build(world, 4000, SeedSequence(1))
        world.start(default_rng(2), 4000).fill(block)
        bandit.play(block)
        regret[epsilon] = float(block.regret.sum())
    uniform = float((block.means.max(axis=1) - block.means.mean(axis=1)).sum())
    assert regret[8.0] < share * uniform and regret[8.0] < 0.7 * regret[0.1]


@every
def test_a_horizon_is_needed(kind):
    with pytest.raises(NoHorizon):
        build(kind, horizon=None)
