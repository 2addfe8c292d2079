"""The audit of the local randomisers: near the claim and not above it; planted bugs are convicted."""

import numpy as np
import pytest

from reticent_devices.mechanisms import local as plan
from reticent_lab.audit.attacks import local as attacks
from reticent_lab.audit.bound import exact_bound, gaussian_bound, general_bound

LISTED = attacks.attacks()


def lower(attack, runs, rng):
    if attack.exact is not None:
        return exact_bound(attack.exact, attack.delta)
    zero, one = (attack.scores(world, runs, rng) for world in (0, 1))
    bound = gaussian_bound if attack.family == "gaussian" else general_bound
    return bound(zero, one, attack.delta)


@pytest.mark.parametrize("attack", LISTED, ids=lambda a: a.name)
def test_sound_randomisers_are_near_their_claim_and_bugs_far_above(attack):
    """Confidence .999 for each row. Gaussian reports: .91 +- .04 of epsilon at 30 000 runs, so that .7 is 5 standard
    deviations away; .86 +- .06 at 12 000, so that .5 is."""
    tiny, gaussian = attack.name == "local-tiny-features", attack.name == "local-gaussian"
    found = lower(attack, 1000 if tiny else 30_000 if gaussian else 12_000, np.random.default_rng(0))
    if not attack.claimed:
        assert found > 1.1 * attack.epsilon
    else:
        assert found <= attack.epsilon
    if attack.name == "local-square-cb-report":
        assert found >= 0.5 * attack.epsilon
    elif attack.claimed and not tiny:  # tiny features contribute nothing, and so show nothing
        assert found >= (0.7 if gaussian or attack.name.endswith("-report") else 0.95) * attack.epsilon


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_the_cap_along_an_axis_is_the_normal_one_nearly(epsilon):
    made = plan.cap(epsilon, 1.0, 20)
    assert attacks.axis_probability(made) == pytest.approx(made.nominal, rel=2e-3)
    assert attacks.axis_probability(made) >= plan.cap_probability(made.threshold, 21)
