"""The real bandit on a database, from requests to released sums: what happened, with the noise that is said."""

import numpy as np
import pytest
from scipy import stats

from reticent import Holdout
from serve_tests.store.places import Clock, Place, glm

HOLDOUTS = {
    "arms": Holdout(action=0, actions=(1,), share=0.2, min_share=0.1),
    "divided": Holdout(policy="uniform", share=0.2, actions=(0, 1, 2)),
    "pairs": Holdout(action=0, actions=(1, 2), budget=0.1),
    "coins": Holdout(action=0, share=0.2, assign="coins"),
}


def errors(folder, seed, holdout, rounds):
    """Of the last look: how far each sum is from what happened, in standard deviations of its noise."""
    rng, clock, rewards, arms = np.random.default_rng(seed), Clock(), np.zeros(rounds + 1), np.zeros(rounds + 1, int)
    place = Place(str(folder / f"{seed}.db"), folder / f"{seed}.keys")
    with place.open(glm(holdout=holdout, window="3 seconds", default=0.0), clock=clock) as stored:
        while (done := stored.choices) < rounds:
            choices = stored.choose_group([stored.prepare(np.eye(3)) for _ in range(min(40, rounds - done))])
            answers = [float(rng.random() < (0.3, 0.5, 0.7)[choice.index]) for choice in choices]
            stored.write_group([stored.report(*one) for one in zip(choices, answers, strict=True)])
            new = slice(done + 1, done + 1 + len(answers))
            rewards[new], arms[new] = answers, [choice.index for choice in choices]
            clock.now += 4.0
            stored.tend()
        found, groups = stored.trial_sums, stored._shared.assignment.groups(range(1, rounds + 1))
    look = found.looks[-1]
    at, r, played = groups[: look.people], rewards[1 : look.people + 1], arms[1 : look.people + 1]
    assert look.counts == tuple(np.bincount(at, minlength=len(found.groups))) and look.people > rounds / 2
    exact = [np.sum(r[at == group] - 0.5) for group in range(len(found.groups))]
    out = [*((np.array(look.totals) - exact) / look.taus)]
    for pair, arm in zip(look.pairs, found.pair_arms, strict=True):
        own = r[(at == 0) & (played == arm)]
        out += [*((np.array(pair) - [own.sum(), (1 - own).sum()]) / look.pair_tau)]
    return out


@pytest.mark.parametrize("name", HOLDOUTS)
def test_a_run(folder, name):
    """Of 100 billion runs one has an error of 7 standard deviations."""
    assert np.abs(errors(folder, 1, HOLDOUTS[name], 160)).max() < 7


@pytest.mark.full
@pytest.mark.parametrize(("name", "runs"), [("arms", 200), ("divided", 40), ("pairs", 40), ("coins", 40)])
def test_errors_are_standard_normal(folder, name, runs):
    """By a Kolmogorov-Smirnov test at 1e-4, which also rejects noise of two thirds and of three halves."""
    found = np.concatenate([errors(folder, seed, HOLDOUTS[name], 400) for seed in range(runs)])
    assert stats.kstest(found, "norm").pvalue > 1e-4
    if runs >= 200:
        assert stats.kstest(found / 1.5, "norm").pvalue < 1e-4 > stats.kstest(found * 1.5, "norm").pvalue
