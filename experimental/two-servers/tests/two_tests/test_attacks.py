"""One aggregator and all other people against one person: the other's releases tell no more than is claimed."""

import numpy as np
import pytest

from reticent_lab.audit.bound import gaussian_bound
from reticent_two.attacks import attacks

SURE = 1 - 1e-6  # secure noise has no seed to fix
CLAIMS = [attack for attack in attacks() if attack.claimed]


@pytest.mark.parametrize("attack", CLAIMS, ids=lambda attack: attack.name)
def test_a_step_of_one_and_a_flood_tell_what_is_claimed(attack):
    """3e4 runs of each world: above the claim with a chance of 1e-6; at 99.9 % the bound is .91 of it, std .02."""
    zero, one = (attack.scores(world, 30_000, np.random.default_rng(world)) for world in (0, 1))
    assert gaussian_bound(zero, one, attack.delta, confidence=SURE) <= attack.epsilon
    assert gaussian_bound(zero, one, attack.delta) >= 0.8 * attack.epsilon


def test_an_aggregator_that_leaves_out_its_noise_breaks_the_claim_against_the_other_one():
    """And no claim against itself: in the attacks above the attacker's own noise is known to it, which is as none."""
    (planted,) = (attack for attack in attacks() if not attack.claimed)
    zero, one = (planted.scores(world, 200, np.random.default_rng(world)) for world in (0, 1))
    assert gaussian_bound(zero, one, planted.delta, confidence=SURE) > 3 * planted.epsilon
    assert np.ptp(zero) < 1e-9 < (one - zero).min()
