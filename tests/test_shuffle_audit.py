"""The attacks on the shuffle model: claims hold at their delta, near it; planted bugs are convicted."""

import math

import numpy as np
import pytest

from tacit.audit.shuffle import attacks

ATTACKS = attacks()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
def test_claims_hold_and_planted_bugs_do_not(attack):
    true = attack.exact(attack.epsilon)
    assert (true <= attack.delta) == attack.claimed
    if attack.claimed and "dropout" not in attack.name:
        assert attack.exact(0.8 * attack.epsilon) > attack.delta  # near it: at least 0.8 epsilon is spent


@pytest.mark.parametrize("name", ["shuffle-analyzer-1", "shuffle-fewer-coins"])
def test_scores_follow_the_law(name):
    """40 000 runs a side: the best threshold's advantage is that of the law at epsilon 0, within 5 standard errors."""
    attack = next(a for a in ATTACKS if a.name == name)
    rng = np.random.default_rng(1)
    zero, one = (np.sort(attack.scores(world, 40_000, rng)) for world in (0, 1))
    grid = np.unique(np.concatenate([zero, one]))
    advantage = (np.searchsorted(zero, grid) - np.searchsorted(one, grid)).max() / 40_000
    assert abs(advantage - attack.exact(0.0)) < 5 * math.sqrt(0.5 / 40_000)
