"""The truth is inside at every look, in worlds made to push it out; intervals that are too narrow are found out."""

import pytest

from reticent_serve.trials.bounds import CALIBRATED, PROVEN
from reticent_serve.trials.groups import Places
from tools.trials import tossing, worlds
from tools.trials.__main__ import covered, reloaded
from tools.trials.noise import Noise

ARMS = Places(50, 5, (1, 1))


def test_the_worst_blocks_and_an_ordinary_interval():
    """Of 1000 runs at most 3.2 % may be wrong where the truth is 1 %, as it was in 10 000 other runs (a false alarm in
    10^8), and an ordinary interval of 95 % that is looked at after each release is wrong in most."""
    found = covered(worlds.worst, Places(10), Noise(1.0, 10, 20_000), runs=1000, seed=1)
    assert found["wrong"][CALIBRATED] < 0.032 and found["wrong"][PROVEN] < 0.005
    assert found["wrong"]["ordinary"] > 0.6 and found["wrong"]["at looks"] > 0.25 and found["wrong"]["noiseless"] > 0.25


def test_noise_is_as_large_as_claimed_and_not_a_tenth_less():
    """Errors beyond 1.96 standard deviations at the first five looks, where noise is most of them: 5 %, of 6000 runs
    (0.5 %: 4 standard deviations, as if looks were one)."""
    found = covered(worlds.worst, Places(10), Noise(1.0, 10, 1_500), runs=6000, seed=2)["single"]
    assert abs(found["noise"] - 0.05) < 0.011 < found["less noise"] - 0.05


def test_arms_of_their_own():
    found = covered(worlds.alike(0.02), ARMS, Noise(1.0, 50, 20_000), runs=500, seed=3)["wrong"]
    assert found["arm"] < 0.04 and found[CALIBRATED] < 0.04


def test_groups_by_coins():
    """As above: of 500 runs at most 4 %. Noise that is twice as large as claimed is found out."""
    noise = Noise(1.0, 10, 20_000)
    for name in ("p = .02", "learning"):
        assert max(tossing.covered(tossing.WORLDS[name], noise, runs=500, seed=6).values()) < 0.04
    noise.matrix = 2 * noise.matrix
    assert tossing.covered(tossing.WORLDS["p = .02"], noise, runs=500, seed=6)[CALIBRATED] > 0.3


@pytest.mark.full
def test_every_world():
    for groups in (Places(10), ARMS):
        noise = Noise(1.0, groups.block, 100_000)
        for world in worlds.BLOCKS.values():
            found = covered(world, groups, noise, runs=4000, seed=4)["wrong"]
            assert max(found[CALIBRATED], found[PROVEN], found["arm"]) < 0.03


@pytest.mark.full
def test_reloads_break_blocks_and_not_coins():
    noise = Noise(1.0, 10, 100_000)
    assert reloaded(noise, 10, runs=60, seed=5, by_coins=False)[CALIBRATED] > 0.5
    assert reloaded(noise, 10, runs=60, seed=5, by_coins=True)[CALIBRATED] < 0.1
