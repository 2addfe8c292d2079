"""Saved bandits go on bit by bit, with the noise they had."""

import numpy as np
import pytest

import core_tests.bandits.test_storage as core
from reticent import Budget, Secure, Simulated
from reticent.mechanisms.opening import opened
from reticent.mechanisms.saving import arrays
from reticent_papers import JointGLMRare, ShariffLinUCB
from reticent_papers.joint.shariff import RELEASES


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
    bandit = kind(dim=2, horizon=400, budget=Budget(1.0, 1e-3), pending=20, **options)
    core.answered(bandit, 40)
    bandit.save(tmp_path / "b.json")
    again = kind.load(tmp_path / "b.json")
    assert isinstance(again.source, Secure)
    assert all(map(np.array_equal, arrays(bandit._state), arrays(again._state)))
    assert again.privacy == bandit.privacy
    until = int(bandit._state.counts[1]) - bandit.choices  # up to the next release nothing new is drawn
    picks = [[b.choose(core.ARMS).index for _ in range(until)] for b in (bandit, again)]
    assert picks[0] == picks[1]
    decoder, steps = opened(again._state.prefix).noise, again._steps
    table = decoder.table[:steps].copy()
    core.answered(again, 30)
    assert again._steps > steps
    assert np.array_equal(table, decoder.table[:steps])  # what was released keeps its noise for ever
