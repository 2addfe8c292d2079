"""How far the draw of groups moves a difference: every draw of small blocks, against the bounds."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent_serve.trials import bounds, looks
from reticent_serve.trials.groups import Places

SMALL = [Places(4), Places(5, 2), Places(5, 1, (1,)), Places(6, 2, (1, 1)), Places(6, 3)]


def differences(groups, holdout, bandit):
    """Bandit minus holdout for each draw of groups."""
    out = []
    for own in itertools.combinations(range(groups.block), groups.holdout):
        others = [i for i in range(groups.block) if i not in own]
        for left in itertools.combinations(others, sum(groups.arms)):
            out.append(np.mean(bandit[[i for i in others if i not in left]]) - np.mean(holdout[list(own)]))
    return np.array(out)


def outcomes(groups):
    numbers = st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=groups.block, max_size=groups.block)
    return st.tuples(numbers, numbers).map(lambda pair: tuple(map(np.array, pair)))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SMALL).flatmap(lambda groups: st.tuples(st.just(groups), outcomes(groups))), st.floats(-8, 8))
def test_no_block_moves_further_than_its_spread(found, lam):
    groups, (holdout, bandit) = found
    away = differences(groups, holdout, bandit)
    assert np.mean(away) == pytest.approx(np.mean(bandit) - np.mean(holdout))
    away = away - np.mean(away)
    assert np.log(np.mean(np.exp(lam * away))) <= lam**2 * groups.difference.whole / 8 + 1e-9
    assert np.var(away) <= bounds.coin(groups, np.mean(holdout), np.mean(bandit)) + 1e-12


@settings(max_examples=40, deadline=None)
@given(st.data(), st.floats(-8, 8))
def test_nor_does_one_of_a_control_that_is_divided_among_arms(data, lam):
    groups = Places(5, 2, divided=True)
    first, second, bandit = (
        np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=5, max_size=5))) for _ in range(3)
    )
    away = []
    for i, j in itertools.permutations(range(5), 2):
        away.append(np.mean(bandit[[k for k in range(5) if k not in (i, j)]]) - (first[i] + second[j]) / 2)
    centred = np.array(away) - (np.mean(bandit) - np.mean([first, second]))
    assert abs(centred.mean()) < 1e-12
    assert np.log(np.mean(np.exp(lam * centred))) <= lam**2 * groups.difference.whole / 8 + 1e-9
    y = groups.mixed(np.mean([first, second]), np.mean(bandit))
    assert np.var(centred) <= groups.difference.whole * y * (1 - y) + 1e-12


def test_two_opposite_arms_vary_more_than_one():
    """Whoever says yes to one of them says no to the other: a bound without `uneven` would be too small."""
    ones, zeros = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0])
    means = [(ones[i] + zeros[j]) / 2 for i, j in itertools.permutations(range(4), 2)]
    alone, divided = (Places(4, 2, divided=is_so).mean(2).main / 4 for is_so in (False, True))
    assert alone < np.var(means) <= divided


def test_the_spread_is_attained_and_is_smaller_than_that_of_the_range():
    ones = np.array([1.0, 1.0, 0.0, 0.0])
    assert np.var(differences(Places(4), ones, ones)) == pytest.approx(Places(4).difference.whole / 4)
    with_arms = Places(10, 1, (1, 1))
    assert 1.5 < (10 / 7) ** 2 / with_arms.difference.whole < 1.7
    half, arms = np.array([1.0] * 3 + [0.0] * 3), Places(6, 1, (1,))
    assert 0.9 < np.var(differences(arms, half, half)) / (arms.difference.whole / 4) <= 1


def test_a_groups_own_mean_is_within_its_spread():
    for groups in SMALL:
        half = np.array([1.0] * (groups.block // 2) + [0.0] * (groups.block - groups.block // 2))
        for places in (groups.holdout, groups.bandit):
            means = [np.mean(half[list(own)]) for own in itertools.combinations(range(groups.block), places)]
            assert np.var(means) <= groups.mean(places).main * np.mean(half) * (1 - np.mean(half)) + 1e-12


def test_a_block_needs_places_of_the_bandit():
    for wrong in [(2, 2), (3, 1, (1, 1)), (0, 1), (5, 0)]:
        with pytest.raises(ValueError, match="Expected"):
            Places(*wrong)


def test_looks_are_a_growing_subset_of_releases_and_no_more_than_planned():
    controls = [n // 10 for n in range(100, 200_000, 37)]
    at = looks.picked(controls)
    counts = [controls[i] for i in at]
    assert counts[0] >= looks.FIRST and all(b >= 1.25 * a for a, b in itertools.pairwise(counts))
    assert len(at) <= looks.most(0.1, 200_000) and looks.picked([10, 20, 49]) == [] and looks.most(0.1, 400) == 1
    assert [looks.most(share) for share in (0.5, 0.1, 0.01)] == [104, 96, 86]
    assert looks.most(0.1, 10**5) == 24 and looks.most(0.1, 10**5, coins=True) == 25
    worst = [50]
    while worst[-1] < 10**11:
        worst.append(math.ceil(1.25 * worst[-1]))
    assert len(looks.picked([n for n in worst if n <= 10**11])) <= looks.most(0.1)
