"""The face: choices, rewards that come late or never, batches, bad input."""

import copy
import math

import numpy as np
import pytest

from tacit import Budget, JointGLM, LinUCB, Simulated
from tacit.bandits.base import Bandit
from tacit.errors import HorizonReached, UnknownChoice
from tacit.mechanisms.opening import opened
from tacit.mechanisms.saving import arrays
from tacit.model.centred import add_centred

ARMS = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.0], [0.3, 0.3, 0.3]])
EVERY_CHOICE = {"first": 1, "growth": 1.001}  # is a step
SAME = {"base_rate": 0.5, "discount": 1.0}  # whatever was released, a round adds the same, and nothing fades


def joint(**options):
    defaults = {"dim": 3, "horizon": 200, "budget": Budget(1.0, 1e-3), "source": Simulated(0), "pending": 50}
    defaults |= {"first": 15, "rewards": (-1.0, 1.0)}
    return JointGLM(**(defaults | options))


def both():
    return [joint(), LinUCB(dim=3, pending=50, rewards=(-1.0, 1.0), horizon=200)]


def fingerprint(bandit):
    return [leaf.copy() for leaf in arrays(bandit._state)] + [t.copy() for t in opened(bandit._tickets)]


def unchanged(bandit, before):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, fingerprint(bandit), strict=True))


@pytest.mark.parametrize("bandit", both(), ids=["joint", "plain"])
@pytest.mark.parametrize(
    ("arms", "message"),
    [
        (np.zeros((2, 4)), r"shape \(K, 3\), got \(2, 4\)"),
        (np.zeros(3), r"shape \(K, 3\), got \(3,\)"),
        (np.zeros((0, 3)), "at least one arm"),
        ({}, "at least one arm"),
        ([[0.0, 0.0, math.nan]], "finite features"),
        ([[0.0, 0.0, math.inf]], "finite features"),
        ([[1e200, 0.0, 0.0]], "norm at most 1"),
        ([[0.8, 0.8, 0.0]], "norm at most 1"),
        ([["a", "b", "c"]], "numbers"),
        ([[1.0], [1.0, 2.0]], "numbers"),
    ],
)
def test_bad_arms(bandit, arms, message):
    before = fingerprint(bandit)
    with pytest.raises(ValueError, match=message):
        bandit.choose(arms)
    assert unchanged(bandit, before)


@pytest.mark.parametrize("mask", [[True], [1, 0, 1], [False, False, False], np.ones((3, 1), bool)])
def test_bad_masks(mask):
    bandit = joint()
    before = fingerprint(bandit)
    with pytest.raises(ValueError, match="Expected"):
        bandit.choose(ARMS, available=mask)
    assert unchanged(bandit, before)


@pytest.mark.parametrize("bandit", both(), ids=["joint", "plain"])
@pytest.mark.parametrize("reward", [1.5, -2, math.nan, math.inf, "1", None])
def test_bad_rewards(bandit, reward):
    choice = bandit.choose(ARMS)
    before = fingerprint(bandit)
    with pytest.raises(ValueError, match="Expected a"):
        bandit.observe(choice, reward)
    assert unchanged(bandit, before)
    bandit.observe(choice, 1.0)  # the ticket is still good


def test_rewards_for_nobody():
    bandit = joint(pending=5)
    choice = bandit.choose(ARMS)
    bandit.observe(choice, 1.0)
    before = fingerprint(bandit)
    with pytest.raises(UnknownChoice, match="second one"):
        bandit.observe(choice, 1.0)
    for unknown in (0, -1, 2, 10**12):
        with pytest.raises(UnknownChoice, match="unknown one"):
            bandit.observe(unknown, 1.0)
    with pytest.raises(ValueError, match="Expected a Choice or its id"):
        bandit.observe("1", 1.0)
    assert unchanged(bandit, before)
    late = bandit.choose(ARMS)
    for _ in range(5):
        bandit.choose(ARMS)
    with pytest.raises(UnknownChoice, match="within 5 later choices"):
        bandit.observe(late, 1.0)


def test_the_horizon_is_a_clear_error():
    bandit = joint(horizon=3)
    for _ in range(3):
        bandit.choose(ARMS)
    before = fingerprint(bandit)
    with pytest.raises(HorizonReached, match="at most 3 choices"):
        bandit.choose(ARMS)
    with pytest.raises(HorizonReached):
        bandit.choose_many(np.zeros((1, 2, 3)))
    assert unchanged(bandit, before)


@pytest.mark.parametrize(
    "wrong",
    [
        {"dim": 0},
        {"horizon": 1.5},
        {"rewards": (1.0, 0.0)},
        {"rewards": (0.0, math.inf)},
        {"radius": -1.0},
        {"growth": 1.0},
        {"pending": 0},
        {"base_rate": 1.0},
    ],
    ids=str,
)
def test_bad_settings(wrong):
    with pytest.raises(ValueError, match="Expected"):
        joint(**wrong)


def test_names_and_masks():
    bandit = LinUCB(dim=3)
    offers = {"tea": [0, 0.5, 0], "coffee": [0, 1, 0], "milk": [0, 0.2, 0]}
    choice = bandit.choose(offers)
    assert (choice.index, choice.name, choice.propensity, choice.id) == (1, "coffee", 1.0, 1)
    assert bandit.choose(offers, available=[True, False, True]).name == "tea"
    assert bandit.choose(np.array(list(offers.values())), available=[False, False, True]).index == 2


def test_only_choices_advance_the_schedule():
    """A step closes at the next choice, whether rewards came or not, and however many."""
    bandit = joint(**EVERY_CHOICE)
    assert bandit.privacy.spent == 0
    first = bandit.choose(ARMS)
    bandit.observe(first, 1.0)
    assert not bandit._state.prefix.released.any()
    bandit.choose(ARMS)
    assert bandit._state.prefix.released.any()
    spent = bandit.privacy.spent
    assert 0 < spent < 1
    released = bandit._state.prefix.released.copy()
    bandit.observe(2, -1.0)
    assert np.array_equal(released, bandit._state.prefix.released)


def test_late_rewards_join_the_open_step_in_any_order():
    """Without noise, the order of rewards within a step does not matter, and late ones arrive."""
    bandit = joint(budget=Budget(math.inf, 0.1), **EVERY_CHOICE, **SAME)
    choices = [bandit.choose(ARMS) for _ in range(4)]
    for choice in (choices[2], choices[0], choices[3]):
        bandit.observe(choice, 0.5)
    bandit.choose(ARMS)
    expected = np.zeros(bandit.contribution.size)
    for i in (0, 2, 3):
        c = bandit.contribution
        add_centred(ARMS[choices[i].index], 0.5, c.skip, c.longest, c.centre, c.scale, -1.0, 1.0, expected)
    assert np.allclose(bandit._state.prefix.released, expected)


def test_threads_noise_each_leaf_once(monkeypatch):
    """Four threads at once: without turns they noise leaves twice."""
    import threading

    from tacit.mechanisms.grid import Grid

    leaves, ids, plain = [], [], Grid._leaf

    def spy(self, state, noise):
        leaves.append(int(state.noise.step[0]))
        return plain(self, state, noise)

    monkeypatch.setattr(Grid, "_leaf", spy)
    bandit = JointGLM(dim=2, horizon=1000, budget=Budget(1.0, 1e-3), **EVERY_CHOICE, **SAME)

    def work():
        for _ in range(100):
            choice = bandit.choose(np.eye(2))
            ids.append(choice.id)
            bandit.observe(choice, 1.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ids) == list(range(1, 401))
    assert leaves == list(range(399)) and bandit._steps == 399
    prefix, cell = opened(bandit._state.prefix), bandit.mechanism.cell
    total = (prefix.closed.sum(axis=0) + prefix.open) * cell
    assert total[0] == pytest.approx(400 * bandit.contribution.scale / 2, abs=0.01)  # the constant: everybody once


def test_a_choice_is_not_pickled():
    import pickle

    choice = LinUCB(dim=3).choose(ARMS)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="raw data"):
            attempt(choice)


def test_simulated_rounds_stop_at_the_horizon_too():
    from tacit import environments

    world = environments.ball(dim=3, arms=4)
    block = world.block(11)
    world.start(np.random.default_rng(0), 11).fill(block)
    bandit = joint(horizon=10)
    with pytest.raises(HorizonReached):
        bandit.play(block)
    assert bandit.choices == 0
    with pytest.raises(ValueError, match="3 dimensions, got 5"):
        joint().play(environments.ball(dim=5).block(2))


def test_no_pickle_and_numpy_settings():
    import pickle

    with pytest.raises(TypeError, match="save and load"):
        pickle.dumps(joint())
    assert joint(horizon=np.int64(200), dim=np.int64(3)).choose(ARMS).id == 1


def test_repr_shows_settings_and_no_data():
    bandit = joint()
    bandit.observe(bandit.choose([[0.123456, 0.0, 0.0]]), 0.654321)
    assert "0.1234" not in repr(bandit) + str(bandit.privacy)
    assert "0.6543" not in repr(bandit) + str(bandit.privacy)
    assert "dim=3" in repr(bandit)


def test_certificate():
    certificate = joint(budget=Budget(1.0, 0.1)).privacy
    assert (certificate.model, certificate.private, certificate.delta) == ("joint", False, 0.1)
    assert any("simulated" in c for c in certificate.caveats)
    assert any("1/rounds" in c for c in certificate.caveats)
    assert "replace one user" in str(certificate)
    assert joint(budget=Budget(math.inf, 0.1)).privacy.epsilon is None
    assert LinUCB(dim=2).privacy.epsilon is None


def test_a_bandit_that_draws_for_people_says_when():
    """A file could not tell that more has been released since."""

    class Forgetful(JointGLM):
        _due = Bandit._due

    with pytest.raises(TypeError, match="_due and _steps"):
        Forgetful(dim=2, horizon=100, budget=Budget(1.0, 1e-3))
    Forgetful(dim=2, horizon=100, budget=Budget(1.0, 1e-3), source=Simulated(0))
