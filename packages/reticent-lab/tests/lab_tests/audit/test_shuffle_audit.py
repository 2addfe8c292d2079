"""The attacks on the shuffle model: claims hold at their delta, near it; planted bugs are convicted."""

import math

import numpy as np
import pytest

from reticent_lab.audit.attacks import shuffle
from reticent_lab.audit.bound import general_bound
from reticent_papers.attacks import rounds

ALL = [*shuffle.attacks(), *rounds.attacks()]
ATTACKS = [attack for attack in ALL if attack.exact]
SAMPLED = [attack for attack in ALL if not attack.exact]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
def test_claims_hold_and_planted_bugs_do_not(attack):
    true = attack.exact(attack.epsilon)
    assert (true <= attack.delta) == attack.claimed
    if attack.claimed and "dropout" not in attack.name:
        assert attack.exact(0.8 * attack.epsilon) > attack.delta  # near it: at least 0.8 epsilon is spent


@pytest.mark.parametrize("attack", SAMPLED, ids=lambda a: a.name)
def test_what_ships_holds_and_devices_without_coins_do_not(attack):
    """400 runs of each world at confidence .999; the score moves by .58 standard deviations of the noise,
    measured; that it seems to move by less than .25 has probability 1e-5."""
    zero, one = (attack.scores(world, 400, np.random.default_rng(world)) for world in (0, 1))
    found = general_bound(zero, one, attack.delta)
    assert (found <= attack.epsilon) == attack.claimed
    apart = (one.mean() - zero.mean()) / max(zero.std(), 1e-9)
    assert apart > 0.25, "the canary is seen"


@pytest.mark.parametrize("name", ["shuffle-analyzer-1", "shuffle-fewer-coins", "shuffle-rounds"])
def test_scores_follow_the_law(name):
    """40 000 runs a side: the best threshold's advantage is that of the law at epsilon 0, within 5 standard errors."""
    attack, rng = next(a for a in ATTACKS if a.name == name), np.random.default_rng(1)
    zero, one = (np.sort(attack.scores(world, 40_000, rng)) for world in (0, 1))
    grid = np.unique(np.concatenate([zero, one]))
    advantage = (np.searchsorted(zero, grid) - np.searchsorted(one, grid)).max() / 40_000
    assert abs(advantage - attack.exact(0.0)) < 5 * math.sqrt(0.5 / 40_000)
