"""Findings notice what they should: with a planted change nothing that was seen by playing is seen any more.

The change for most is that every bandit learns to choose the worst arm. All findings but those of arithmetic have to
flip: a finding that does not is about a comparison alone, and would call a bandit that does the opposite of what it
should a reproduction of the paper. Seeds are fixed, so that nothing here is left to chance."""

import contextlib
from unittest.mock import patch

import numpy as np
import pytest

import reticent_papers
from papers_tests.reproductions import expected
from reticent.environments import gap
from reticent.experiments.spec import Spec
from reticent.kernels.block import BERNOULLI
from reticent_lab.experiments import figure
from reticent_papers.regression import ImproperSGD
from reticent_papers.reproductions.optimiser import descent

ARITHMETIC = ("changing the shift changes", "Gaussian noise has no unshifted")
built, fitted, drawn, descended = Spec.build, ImproperSGD.fit, gap.start, descent.descend


def opposite(spec, *given):
    """A bandit that is paid the opposite of what its arm is worth, and so learns to choose the worst one."""
    bandit = built(spec, *given)
    play = bandit.play

    def played(block):
        means = block.means.copy()
        block.means[:] = float(block.kind[0] == BERNOULLI) - means
        play(block)
        block.means[:] = means
        block.regret[:] = means.max(axis=1) - means[np.arange(len(means)), block.index]

    bandit.play = played
    return bandit


def flat(spec, *given):
    """A bandit in a world whose arms have no last feature."""
    bandit = built(spec, *given)
    play = bandit.play

    def played(block):
        block.arms[:, :, -1] = 0.0
        play(block)

    bandit.play = played
    return bandit


def negated(regressor, x, y):
    """A regression on the opposite of the targets."""
    return fitted(regressor, x, -y)


def mistaken(data, descent, rng):
    """A descent on the opposite of the rewards."""
    return descended(data._replace(rewards=data.users - data.rewards), descent, rng)


def shorter(world, rng, horizon):
    """Arms of length .8."""
    place = drawn(world, rng, horizon)

    def fill(block):
        place.fill(block)
        block.arms[:] *= 0.8

    return place._replace(fill=fill)


PLANTED = dict.fromkeys(reticent_papers.REPRODUCTIONS, (Spec, "build", opposite)) | {
    "shariff-figure1": (gap, "start", shorter),  # no bandit plays
    "ldp-table1": (Spec, "build", flat),  # second moments are the same of an arm and its opposite
    "optimiser": (descent, "descend", mistaken),  # no bandit plays
    "reweighted": (ImproperSGD, "fit", negated),  # regressions, not bandits
}
del PLANTED["errata"]  # computations, whose own tests turn them round
SHORT = {"shariff-figure1", "table2", "figure1-logistic", "ldp-figure1", "optimiser"}  # some seconds each


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SHORT else [pytest.mark.full]) for name in PLANTED]
)
def test_a_planted_change_flips_what_was_seen(name, tmp_path):
    before = expected.read(name)["findings"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(*PLANTED[name]))
        stack.enter_context(patch.object(figure, "save", lambda *_: None))  # no picture is looked at
        after = expected.measure(name, tmp_path)["findings"]
    assert [words for words, _ in after] == [words for words, _ in before]
    played = [k for k, (words, seen) in enumerate(before) if not words.startswith(ARITHMETIC)]
    flipped = [k for k in played if before[k][1] != after[k][1]]
    still = [before[k][0] for k in played if before[k][1] and after[k][1]]
    assert flipped, f"{name} finds the same with {PLANTED[name][2].__name__} as without"
    assert not still, f"{name}: seen with {PLANTED[name][2].__name__} as without: {still}"
