"""Who plays a number is a function of the number and of a secret key: exact counts in blocks, uniform places, coins."""

import weakref
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from reticent import Holdout
from reticent.core.assignment import Assignment
from reticent.core.validation import ActionSet

KEY = bytes(range(32))


def assignment(key=KEY, *, ended=None, **options):
    return Assignment(Holdout(**({"action": "b"} | options)), key, ended=ended)


def offer(names=("a", "b", "c"), available=None):
    mask = None if available is None else np.array(available)
    return ActionSet(np.eye(len(names)), names, mask)


GIVEN = {"policy": "given", "action": None}
MANY = {"actions": ("a", "c"), "share": 0.2, "min_share": 0.1}


def test_every_block_has_its_places_and_another_order():
    made, orders = assignment(**MANY), []
    for block in range(200):
        groups = made.groups(range(10 * block + 1, 10 * block + 11)).tolist()
        assert Counter(groups) == {0: 6, 1: 2, 2: 1, 3: 1}
        orders.append(tuple(groups))
        assert made.counts(10 * (block + 1)) == (6 * (block + 1), 2 * (block + 1), block + 1, block + 1)
    assert len(set(orders)) > 150


def test_places_are_uniform_and_another_keys_are_others():
    """A chi-square test of the holdout's place over 3000 blocks, at a false alarm of 1e-4; both keys are fixed."""
    made, other = assignment(), assignment(key=bytes(32))
    places = [
        [one.groups(range(10 * b + 1, 10 * b + 11)).tolist().index(1) for b in range(3000)] for one in (made, other)
    ]
    for found in places:
        assert stats.chisquare(np.bincount(found, minlength=10)).pvalue > 1e-4
    assert stats.chisquare(np.bincount([min(p, 8) for p in places[0]], minlength=9)).pvalue < 1e-4
    assert np.mean(np.array(places[0]) == places[1]) == pytest.approx(0.1, abs=0.03)


def test_coins_are_independent_and_counts_are_those_that_fell():
    """Of 20 000 coins a share is off by 4 standard deviations in one of 15 000 keys; this one is fixed."""
    made = assignment(**MANY, assign="coins")
    groups = made.groups(range(1, 20_001))
    assert np.bincount(groups) / 20_000 == pytest.approx([0.6, 0.2, 0.1, 0.1], abs=4 * np.sqrt(0.24 / 20_000))
    assert made.counts(777) == tuple(np.bincount(groups[:777], minlength=4))
    assert np.corrcoef(groups[1:] == 1, groups[:-1] == 1)[0, 1] == pytest.approx(0.0, abs=0.03)


@pytest.mark.parametrize("assign", ["blocks", "coins"])
def test_after_its_end_all_numbers_are_the_bandits(assign):
    made = assignment(assign=assign)
    before = made.groups(range(1, 41)).tolist()
    made.ended = made.end_after(34)
    last = 40 if assign == "blocks" else 34
    assert made.ended == last and made.groups(range(1, 101)).tolist() == before[:last] + [0] * (100 - last)
    held_out = before[:last].count(1)
    assert made.counts(100) == (100 - held_out, held_out) and made.mixture(last + 1, offer(), None)[0] == 1.0
    assert made.mixture(last, offer(), None)[0] == pytest.approx(0.9)


def test_what_is_played_and_with_which_probability():
    """The mixture over all groups is the frequency over all numbers, for whoever asks."""
    cases = [
        (assignment(**MANY), offer(), None),
        (assignment(**MANY), offer(available=[1, 2]), None),  # "a" is not on offer: the bandit's choice is played
        (assignment(policy="uniform", action=None), offer(), None),
        (assignment(policy="uniform", action=None, actions=("a", "b")), offer(("a", "c")), None),
        (assignment(policy="given", action=None, share=0.25), offer(), 2),
    ]
    for made, asked, own in cases:
        picked, numbers = len(asked.arms) - 1, range(1, 400 * made.holdout.block + 1)
        got = np.bincount([made.played(n, asked, own, picked) for n in numbers], minlength=len(asked.arms))
        bandits, fixed = made.mixture(1, asked, own)
        expected = fixed + bandits * (np.arange(len(asked.arms)) == picked)
        assert expected.sum() == pytest.approx(1.0) and got / len(numbers) == pytest.approx(expected, abs=0.012)


def test_arms_by_place():
    rows, placed = np.array([[0.5, 2.0], [0.5, 0.0]]), assignment(action=1)
    holdout = next(n for n in range(1, 11) if placed.group(n))
    assert placed.played(holdout, ActionSet(rows, None, np.array([1])), None, 0) == 0


@pytest.mark.parametrize(
    ("options", "asked", "own", "sentence"),
    [
        ({}, offer(("a", "c")), None, "Expected the holdout's arm among those on offer"),
        ({}, offer(available=[0, 2]), None, "Expected the holdout's arm among those on offer"),
        ({}, offer(), "b", "Expected own= with holdout policy"),
        (GIVEN, offer(), None, "Expected own= in every request"),
        (GIVEN, offer(), "z", "Expected own= to be an arm on offer"),
        (GIVEN, offer(available=[0, 1]), "c", "Expected own= to be an arm on offer"),
        (GIVEN, offer(), ["b"], "Expected own= to be an arm on offer"),
        (GIVEN, ActionSet(np.eye(3), None, None), True, "Expected own= to be an arm on offer"),
        (GIVEN, offer(), 3, "Expected own= to be an arm on offer"),
    ],
)
def test_requests_that_the_holdout_could_not_be_played_in(options, asked, own, sentence):
    with pytest.raises(ValueError, match=sentence):
        assignment(**options).own(asked, own)


def test_the_key_goes_with_the_bandit():
    made = assignment()
    assert made.groups(range(1, 2001)).tolist() == made.groups(range(1, 2001)).tolist()
    gone = weakref.ref(made)
    del made
    assert gone() is None


def test_the_key_is_not_shown():
    assert KEY.hex() not in repr(assignment()) and str(KEY) not in repr(vars(assignment()).keys())
