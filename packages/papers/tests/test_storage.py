"""Saved bandits go on bit by bit, with the noise they had."""

import pytest

import tests.bandits.test_storage as core
from tacit import Budget, Simulated
from tacit_papers import JointGLMRare, ShariffLinUCB
from tacit_papers.joint.shariff import RELEASES


@pytest.mark.parametrize("options", [*({"release": release} for release in RELEASES), {"noise": "wishart"}], ids=str)
def test_a_loaded_bandit_goes_on_bit_by_bit(options, tmp_path):
    settings = {"dim": 3, "horizon": 200, "budget": Budget(1, 0.1), "pending": 9}
    core.test_a_loaded_bandit_goes_on_bit_by_bit(ShariffLinUCB(**settings, source=Simulated(7), **options), tmp_path)


@pytest.mark.parametrize("timing", ["strict", "published"])
def test_rare_goes_on_bit_by_bit(timing, tmp_path):
    options = {"link": "probit", "radius": 2.0, "rewards": (-1.0, 1.0), "pending": 9, "source": Simulated(0)}
    made = JointGLMRare(dim=3, horizon=300, budget=Budget(2.0, 0.02), timing=timing, **options)
    core.test_a_loaded_bandit_goes_on_bit_by_bit(made, tmp_path)


KINDS = [(ShariffLinUCB, {"release": release}) for release in RELEASES if release != "toeplitz"] + [(JointGLMRare, {})]


@pytest.mark.parametrize(("kind", "options"), KINDS, ids=str)
def test_a_loaded_bandit_has_the_same_noise_and_the_same_answers(kind, options, tmp_path):
    core.test_a_loaded_bandit_has_the_same_noise_and_the_same_answers(kind, options, tmp_path)
