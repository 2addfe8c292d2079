"""Bandits learn in the lab's worlds."""

import math

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from reticent import Budget, JointGLM, Spec, simulate
from reticent_devices import LocalIRLS, ShuffleNewton
from reticent_lab.environments import breast_cancer, clicks


def test_it_learns_where_features_vary_unevenly():
    """Real data, disjoint arms, 4 runs of a seed that nothing was tuned on: 492 with scores, 1086 with curvature."""
    world = breast_cancer()
    with_scores, without = (Spec(LocalIRLS, budget=Budget(2.0, 0.0), curvature=kind) for kind in ("none", "released"))
    rows = simulate([with_scores, without], world, horizon=4000, runs=4, seed=3).rows
    assert rows[0]["regret_mean"] < 0.8 * rows[1]["regret_mean"]


@pytest.mark.full
def test_the_sum_learns_what_single_batches_do_not():
    """Breast cancer at epsilon 1, scores alone, 12 runs of a seed that nothing was chosen on: 495 +- 9 of 40 runs,
    where each batch by itself has 621 +- 7. Five standard errors of 12 runs are 80."""
    world, spec = breast_cancer(), Spec(ShuffleNewton, budget=Budget(1.0, 1e-6), curvature="none")
    row = simulate([spec], world, horizon=5000, runs=12, seed=9401).rows[0]
    assert row["regret_mean"] < 575


def test_with_rare_rewards_it_learns_where_the_link_does_not():
    """Two clicks in a hundred, 20 000 people: most can be gained with a rate right or wrong by 3; else much less."""
    world, budget = clicks(base_rate=0.02, dim=4, constant=0.0), Budget(2.0, 1e-6)

    def lost(**options):
        spec = Spec(JointGLM, budget=budget, **options)
        runs = simulate([spec], world, horizon=20_000, runs=2, seed=3).runs
        return np.mean([run.curve[-1] / run.uniform_regret for run in runs])

    declared = max(lost(base_rate=rate) for rate in (0.02, 0.006, 0.06))
    assert declared < 0.3 and lost() > 2 * declared


@pytest.mark.full
@pytest.mark.parametrize(
    ("rate", "epsilon", "people"), [(0.01, 1.0, 5000), (0.01, 1.0, 50_000), (0.03, 8.0, 20_000), (0.1, 1.0, 20_000)]
)
def test_intervals_cover(rate, epsilon, people):
    """90 % intervals hold the means of the arms of the last 100 people, and of the chosen ones, in at least 90 % of
    cases on average, within three standard errors over runs."""
    world, held, chosen = clicks(constant=0.0, dim=4, base_rate=rate), [], []
    for seed in range(16):
        spec = Spec(JointGLM, budget=Budget(epsilon, 1e-6), base_rate=rate)
        bandit = spec.build(world, people, SeedSequence([seed, 21]))
        started, block = world.start(default_rng([seed, 22]), people), world.block(500)
        for _ in range(people // 500):
            started.fill(block)
            bandit.play(block)
        inside = []
        for arms, means in zip(block.arms[400:], block.means[400:], strict=True):
            low, high = np.array(bandit.interval(arms)).T
            inside.append((low <= means) & (means <= high))
        held.append(np.mean(inside))
        chosen.append(np.mean([row[i] for row, i in zip(inside, block.index[400:], strict=True)]))
    for found in (held, chosen):
        assert np.mean(found) >= 0.9 - 3 * np.std(found) / math.sqrt(16)
