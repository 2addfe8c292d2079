"""The face: names, steps, threads, the certificate, and batches. Bad input: test_misuse.py."""

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from core_tests.made import joint
from reticent import Budget, LinUCB, Secure, Simulated, environments
from reticent.errors import HorizonReached
from reticent.kernels.glm import Tuning
from reticent.mechanisms.grid import Grid
from reticent.mechanisms.opening import opened

ARMS = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.0], [0.3, 0.3, 0.3]])
EVERY_CHOICE = {"first": 1, "growth": 1.001}  # is a step
KNOWN = {"prior": ((0.3, 0.2, 0.1), 9.0), "tuning": Tuning(explore=0.0)}  # choices follow from it alone
SAME = {"base_rate": 0.5, "discount": 1.0}  # whatever was released, a round adds the same, and nothing fades


def build(**options):
    defaults = {"features": 3, "horizon": 200, "budget": Budget(1.0, 1e-3), "source": Simulated(0), "pending": 50}
    defaults |= {"first": 15, "range": (-1.0, 1.0)}
    return joint(**(defaults | options))


def test_names_and_masks():
    bandit = LinUCB(dim=3)
    offers = {"tea": [0, 0.5, 0], "coffee": [0, 1, 0], "milk": [0, 0.2, 0]}
    choice = bandit.choose(offers)
    assert (choice.index, choice.name, choice.propensity, choice.id) == (1, "coffee", 1.0, 1)
    assert bandit.choose(offers, available=[True, False, True]).name == "tea"
    assert bandit.choose(np.array(list(offers.values())), available=[False, False, True]).index == 2


def test_only_choices_advance_the_schedule():
    """A step closes at the next choice, whether rewards came or not, and however many."""
    bandit = build(**EVERY_CHOICE)
    assert bandit.privacy.spent == 0
    bandit.observe(bandit.choose(ARMS), 1.0)
    assert not bandit.sums.state.prefix.released.any()
    bandit.choose(ARMS)
    assert bandit.sums.state.prefix.released.any() and 0 < bandit.privacy.spent < 1
    released = bandit.sums.state.prefix.released.copy()
    bandit.observe(2, -1.0)
    assert np.array_equal(released, bandit.sums.state.prefix.released)


def test_threads_noise_each_leaf_once(monkeypatch):
    """Four threads at once: without turns they noise leaves twice."""
    leaves, ids, plain = [], [], Grid._leaf

    def spy(self, state, noise):
        leaves.append(int(state.noise.step[0]))
        return plain(self, state, noise)

    monkeypatch.setattr(Grid, "_leaf", spy)
    bandit = joint(features=2, horizon=1000, budget=Budget(1.0, 1e-3), **EVERY_CHOICE, **SAME)

    def work(_):
        for _ in range(100):
            choice = bandit.choose(np.eye(2))
            ids.append(choice.id)
            bandit.observe(choice, 1.0)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert sorted(ids) == list(range(1, 401)) and leaves == list(range(399)) and bandit.sums.steps == 399
    prefix, cell = opened(bandit.sums.state.prefix), bandit.plan.mechanism.cell
    total = (prefix.closed.sum(axis=0) + prefix.open) * cell
    scale = bandit.one_pass.learnt.contribution.scale
    assert total[0] == pytest.approx(400 * scale / 2, abs=0.01)  # the constant: everybody once


def test_neither_choices_nor_bandits_are_pickled():
    choice = LinUCB(dim=3).choose(ARMS)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="raw data"):
            attempt(choice)
    with pytest.raises(TypeError, match="save and load"):
        pickle.dumps(build())


def test_numpy_settings():
    assert build(horizon=np.int64(200), features=np.int64(3)).choose(ARMS).id == 1


def test_simulated_rounds_stop_at_the_horizon_too():
    world = environments.ball(dim=3, arms=4)
    block = world.block(11)
    world.start(np.random.default_rng(0), 11).fill(block)
    bandit = build(horizon=10)
    with pytest.raises(HorizonReached):
        bandit.play(block)
    assert bandit.choices == 0
    with pytest.raises(ValueError, match="3 dimensions, got 5"):
        build().play(environments.ball(dim=5).block(2))


def test_certificate():
    certificate = build(budget=Budget(1.0, 0.1)).privacy
    assert (certificate.model, certificate.private, certificate.delta) == ("joint", False, 0.1)
    assert any("simulated" in c for c in certificate.caveats) and any("1/rounds" in c for c in certificate.caveats)
    assert "replace one user" in str(certificate) and build(budget=Budget(math.inf, 0.1)).privacy.epsilon is None
    assert LinUCB(dim=2).privacy.epsilon is None


def test_a_bandit_that_draws_for_people_says_when():
    """A file could not tell that more has been released since."""

    class Forgetful(LinUCB):
        source = Secure()

    with pytest.raises(TypeError, match="_due and _steps"):
        Forgetful(dim=2)
    Forgetful.source = Simulated(0)
    Forgetful(dim=2)


# batches


def test_batches_refuse_bad_rows_alone():
    bandit, arms = build(**EVERY_CHOICE), np.stack([ARMS, ARMS, ARMS, ARMS])
    arms[1, 0, 0] = np.nan
    arms[3] *= 2
    choices = bandit.choose_many(arms)
    assert set(choices.refused) == {1, 3} and list(choices.index[[1, 3]]) == [-1, -1]
    assert list(choices.id) == [1, 0, 3, 0]
    assert bandit.choices == 4  # the schedule does not depend on what is in a row
    assert set(bandit.observe_many(choices, [1.0, 1.0, 7.0, 0.0])) == {1, 2, 3} and not bandit.observe_many([3], [0.5])
    assert "refused row" in bandit.observe_many([2], [0.5])[0]
    with pytest.raises(ValueError, match="as many rewards as choices"):
        bandit.observe_many([1, 2], [0.5])
    with pytest.raises(ValueError, match=r"shape \(n, K, 3\)"):
        bandit.choose_many(ARMS)
    assert len(bandit.choose_many(np.full((2, 1, 3), np.nan)).refused) == 2 and bandit.choices == 6


def test_rows_that_are_no_numbers_and_monstrous_ones_are_refused_alone():
    bandit, good = build(), ARMS.tolist()
    choices = bandit.choose_many([good, [["secret", 0, 0]] * 3, good, [[0.1, 0.2]], [[0.0, 0.0, 0.0]], good])
    assert set(choices.refused) == {1, 3}  # the fifth has one arm: its own affair
    assert choices.index[4] == 0 and "secret" not in str(choices.refused)
    refused = bandit.observe_many(
        [choices.id[0], choices.id[2], choices.id[5], 3.7, True], [1.0, 10**400, 1.0, 1.0, 1.0]
    )
    assert set(refused) == {1, 3, 4}


TWO, THREE = [[0.5, 0.1, 0.0], [0.1, 0.5, 0.0]], [[0.5, 0.1, 0.0], [0.1, 0.5, 0.0], [0.3, 0.3, 0.3]]


@pytest.mark.parametrize("bandit", [build(horizon=600, first=500, **KNOWN), LinUCB(dim=3)], ids=["joint", "plain"])
def test_nobody_decides_about_another_row(bandit):
    """One user's row, whatever it is: the others' answers and reasons, and how many choices count, stay the same."""
    others = [TWO] * 4 + [THREE] * 4 + ["bad", [[2.0, 0.0, 0.0]], [], None, [[0.1]]]
    seen = []
    for canary in (TWO, THREE, "x", None, [], [[math.nan, 0, 0]], [[0.1]], {"tea": 1}, 7, object(), [[10**400, 0, 0]]):
        before, choices = bandit.choices, bandit.choose_many([canary, *others])
        assert bandit.choices - before == 14 and (choices.id[1:9] > 0).all()
        seen.append((choices.index[1:].tolist(), {i: r for i, r in choices.refused.items() if i}))
    assert all(one == seen[0] for one in seen) and set(seen[0][1]) == {9, 10, 11, 12, 13}
    before = bandit.choices
    assert set(bandit.choose_many(["bad"] * 16).refused) == set(range(16)) and bandit.choices - before == 16
    assert set(bandit.choose_many(np.array([[[0.1, 0.2, 0.0]], [[None, 0.2, 0.0]]], dtype=object)).refused) == {1}
    assert set(bandit.choose_many(np.zeros((2, 0, 3))).refused) == {0, 1}
    for wrong in ("arms", 3.0, None, np.array(3.0), np.array("x"), np.zeros((2, 3)), np.zeros((2, 2, 2)), {"tea": TWO}):
        with pytest.raises(ValueError, match=r"shape \(n, K, 3\)"):
            bandit.choose_many(wrong)
    assert bandit.choices - before == 20


def test_rows_of_different_sizes_are_chosen_as_if_alone():
    bandit, rng = build(**KNOWN), np.random.default_rng(0)
    rows = [rng.uniform(-0.5, 0.5, (k, 3)).tolist() for k in (2, 2, 5, 1, 5, 2)]
    together = bandit.choose_many(rows)
    assert [bandit.choose_many([row]).index[0] for row in rows] == together.index.tolist()
    bandit.observe_many(together, [1.0] * 6)
