"""The audit through HTTP: the service's claims stand and are nearly used, and planted bugs of the store are found.

Noise is secure, so nothing is repeated by a seed. Bounds are at 99.9 %: a sound claim is convicted by accident in at
most one row in a thousand, and by far fewer here, since what one release of two tells is .8 to .9 of the claim's mu."""

import dataclasses

import numpy as np
import pytest

from reticent_lab.audit import carry_out
from reticent_lab.audit.attacks import served
from reticent_lab.audit.attacks.served import AGAIN, FEWEST, SHARE

ATTACKS = {attack.name: attack for attack in served.attacks()}
CLAIMS = [name for name, attack in ATTACKS.items() if attack.claimed]
SLOW = "served-redrawn-on-restart"  # 17 services a run
QUICK = [name for name, attack in ATTACKS.items() if not attack.claimed and name != SLOW]


def bound(attack, runs):
    return carry_out(attack, runs=round(runs / attack.share)).epsilon_lower


@pytest.mark.full
def test_the_claim_stands_and_a_good_part_of_it_is_used():
    """200 runs a side: .5 of the claim on average. Of 10 000 simulated ones none was below .11 of it or above it."""
    attack = ATTACKS["joint-glm-served"]
    assert attack.epsilon / 12 < bound(attack, 200) <= attack.epsilon


@pytest.mark.full
@pytest.mark.parametrize("name", CLAIMS)
def test_more_than_half_of_the_claim_is_used(name):
    """2000 runs a side: .62 to .74 of the claim on average. With a normal law it is below half of the claim once in
    5000 for the actions, in none of 3000 for the others, and never above it."""
    attack = ATTACKS[name]
    assert attack.epsilon / 2 < bound(attack, 2000) <= attack.epsilon


@pytest.mark.parametrize("name", QUICK)
def test_planted_bugs_are_found(name):
    """Missed only where the two worlds, at least 7 standard deviations apart, are confused twice in 64 runs."""
    assert carry_out(ATTACKS[name], runs=1).convicted


@pytest.mark.full
def test_noise_that_is_drawn_again_is_found():
    """17 looks: 7.9 standard deviations apart, missed with probability below 10^-5."""
    assert carry_out(ATTACKS[SLOW], runs=1).convicted


@pytest.mark.full
@pytest.mark.parametrize(
    "sound",
    [served.glm("sound-retries", times=AGAIN), served.glm("sound-restarts", restarts=2), served.glm("sound")],
    ids=lambda attack: attack.name,
)
def test_the_same_attacks_acquit_the_sound_service(sound):
    """False alarm below .001 each."""
    assert not carry_out(dataclasses.replace(sound, share=1.0), runs=10 * FEWEST).convicted


def test_the_sound_schedule_is_the_same_whoever_answers():
    attack = served.timing("sound-timing")
    seen = [attack.scores(world, 10, np.random.default_rng(0)) for world in (0, 1)]
    assert len(np.unique(seen)) == 1


def test_the_default_audit_takes_600_runs_a_side():
    assert {ATTACKS[name].runs(30_000) for name in CLAIMS} == {round(30_000 * SHARE)}
    assert {ATTACKS[name].runs(30_000) for name in (*QUICK, SLOW)} == {FEWEST}
