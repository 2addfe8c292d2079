"""Batches: a bad row is refused alone, and nothing in a row moves the schedule or another row."""

import math

import numpy as np
import pytest

from tacit import Budget, JointGLM, LinUCB, Simulated
from tacit.kernels.glm import Tuning
from tacit.mechanisms.opening import opened

ARMS = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.0], [0.3, 0.3, 0.3]])
KNOWN = {"prior": ((0.3, 0.2, 0.1), 9.0), "tuning": Tuning(explore=0.0)}  # choices follow from it alone
EVERY_CHOICE = {"first": 1, "growth": 1.001}  # is a step


def joint(**options):
    defaults = {"dim": 3, "horizon": 200, "budget": Budget(1.0, 1e-3), "source": Simulated(0), "pending": 50}
    defaults |= {"first": 15, "rewards": (-1.0, 1.0)}
    return JointGLM(**(defaults | options))


def test_batches_refuse_bad_rows_alone():
    bandit = joint(**EVERY_CHOICE)
    arms = np.stack([ARMS, ARMS, ARMS, ARMS])
    arms[1, 0, 0] = np.nan
    arms[3] *= 2
    choices = bandit.choose_many(arms)
    assert set(choices.refused) == {1, 3}
    assert list(choices.index[[1, 3]]) == [-1, -1]
    assert list(choices.id) == [1, 0, 3, 0]
    assert bandit.choices == 4  # the schedule does not depend on what is in a row
    refused = bandit.observe_many(choices, [1.0, 1.0, 7.0, 0.0])
    assert set(refused) == {1, 2, 3}
    assert not bandit.observe_many([3], [0.5])
    assert "refused row" in bandit.observe_many([2], [0.5])[0]
    with pytest.raises(ValueError, match="as many rewards as choices"):
        bandit.observe_many([1, 2], [0.5])
    with pytest.raises(ValueError, match=r"shape \(n, K, 3\)"):
        bandit.choose_many(ARMS)
    assert len(bandit.choose_many(np.full((2, 1, 3), np.nan)).refused) == 2
    assert bandit.choices == 6


def test_what_is_in_a_row_does_not_move_the_schedule():
    """Two batches of 15 that differ in one user's row: the same releases happen at the same choices."""
    one, two = joint(), joint()
    arms = np.stack([ARMS] * 15)
    other = arms.copy()
    other[3] = np.nan
    one.choose_many(arms)
    two.choose_many(other)
    for bandit in (one, two):
        assert bandit.choose(ARMS).id == 16
        assert opened(bandit._state.prefix).noise.step[0] == 1


def test_rows_that_are_no_numbers_and_monstrous_ones_are_refused_alone():
    bandit = joint()
    good = ARMS.tolist()
    choices = bandit.choose_many([good, [["secret", 0, 0]] * 3, good, [[0.1, 0.2]], [[0.0, 0.0, 0.0]], good])
    assert set(choices.refused) == {1, 3}  # the fifth has one arm: its own affair
    assert choices.index[4] == 0
    assert "secret" not in str(choices.refused)
    refused = bandit.observe_many(
        [choices.id[0], choices.id[2], choices.id[5], 3.7, True], [1.0, 10**400, 1.0, 1.0, 1.0]
    )
    assert set(refused) == {1, 3, 4}
    with pytest.raises(ValueError, match="Expected arms to be numbers") as caught:
        bandit.choose({"tea": ["secret", 0, 0]})
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="Expected arms to be numbers"):
        bandit.choose([[10**400, 0, 0]])


TWO, THREE = [[0.5, 0.1, 0.0], [0.1, 0.5, 0.0]], [[0.5, 0.1, 0.0], [0.1, 0.5, 0.0], [0.3, 0.3, 0.3]]


@pytest.mark.parametrize("bandit", [joint(horizon=600, first=500, **KNOWN), LinUCB(dim=3)], ids=["joint", "plain"])
def test_nobody_decides_about_another_row(bandit):
    """One user's row, whatever it is: the others' answers and reasons, and how many choices count, stay the same."""
    others = [TWO] * 4 + [THREE] * 4 + ["bad", [[2.0, 0.0, 0.0]], [], None, [[0.1]]]
    seen = []
    for canary in (TWO, THREE, "x", None, [], [[math.nan, 0, 0]], [[0.1]], {"tea": 1}, 7, object(), [[10**400, 0, 0]]):
        before = bandit.choices
        choices = bandit.choose_many([canary, *others])
        assert bandit.choices - before == 14
        assert (choices.id[1:9] > 0).all()
        seen.append((choices.index[1:].tolist(), {i: r for i, r in choices.refused.items() if i}))
    assert all(one == seen[0] for one in seen)
    assert set(seen[0][1]) == {9, 10, 11, 12, 13}
    before = bandit.choices
    assert set(bandit.choose_many(["bad"] * 16).refused) == set(range(16))
    assert bandit.choices - before == 16
    mixed = np.array([[[0.1, 0.2, 0.0]], [[None, 0.2, 0.0]]], dtype=object)
    assert set(bandit.choose_many(mixed).refused) == {1}
    assert set(bandit.choose_many(np.zeros((2, 0, 3))).refused) == {0, 1}
    for wrong in ("arms", 3.0, None, np.array(3.0), np.array("x"), np.zeros((2, 3)), np.zeros((2, 2, 2)), {"tea": TWO}):
        with pytest.raises(ValueError, match=r"shape \(n, K, 3\)"):
            bandit.choose_many(wrong)
    assert bandit.choices - before == 20


def test_rows_of_different_sizes_are_chosen_as_if_alone():
    bandit = joint(**KNOWN)
    rng = np.random.default_rng(0)
    rows = [rng.uniform(-0.5, 0.5, (k, 3)).tolist() for k in (2, 2, 5, 1, 5, 2)]
    together = bandit.choose_many(rows)
    assert [bandit.choose_many([row]).index[0] for row in rows] == together.index.tolist()
    bandit.observe_many(together, [1.0] * 6)


def test_a_batch_is_one_step_and_equals_single_choices_at_one_state():
    one, many = joint(**EVERY_CHOICE), joint(**EVERY_CHOICE)
    arms = np.random.default_rng(0).uniform(-0.5, 0.5, (6, 4, 3))
    choices = many.choose_many(arms)
    for i in range(6):
        one._state = one.init()
        assert one.choose(arms[i]).index == choices.index[i]
    many.choose(ARMS)
    assert opened(many._state.prefix).noise.step[0] == 1  # one step closed, six users in it
