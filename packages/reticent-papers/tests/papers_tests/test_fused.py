"""What we measure is what we serve, here too: fused loops and calls step by step give identical results."""

import pytest

from core_tests.bandits.test_fused import BUDGET, WORLDS, compare
from reticent import Budget, Spec, environments
from reticent_papers import GLMUCB, GLOC, MLEUCB, BGLinCB, ECOLog, LogisticTS, RSGLinUCB, ShariffLinUCB
from reticent_papers.joint.shariff import RELEASES

SPECS = [
    *(Spec(ShariffLinUCB, budget=BUDGET, release=r) for r in RELEASES),
    Spec(ShariffLinUCB, budget=BUDGET, noise="wishart"),
    Spec(ShariffLinUCB, budget=BUDGET, calibration="paper"),
    Spec(ShariffLinUCB, budget=Budget(float("inf"), 0.1), release="batched"), Spec(MLEUCB),
    Spec(GLMUCB, width_scale=0.01), Spec(GLOC, width_scale=0.1), Spec(GLOC, index="code", width_scale=0.01),
    Spec(RSGLinUCB), Spec(RSGLinUCB, average=True), Spec(LogisticTS), Spec(BGLinCB, width_scale=0.03),
]  # fmt: skip


@pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name)
@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.label)
def test_identical_arms_rewards_regret_and_state(spec, world):
    compare(spec, world)


@pytest.mark.parametrize("world", [environments.skewed(), environments.ball(link="logistic", radius=5.0)])
def test_identical_for_logistic_rewards_only(world):
    compare(Spec(ECOLog, width_scale=0.1), world)
