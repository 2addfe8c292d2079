"""JointGLM with positions=: several items for one person, and rewards by item."""

import numpy as np
import pytest
from numpy.random import default_rng

from tacit import Budget, JointGLM, JointLinUCB, Simulated, Spec, environments, simulate
from tacit.algorithms.onepass import lists
from tacit.audit.stage import open_step, users
from tacit.features import Category, Number, Schema
from tacit.kernels.glm import Tuning
from tacit.mechanisms.saving import arrays

BUDGET, WEIGHTS, K = Budget(4.0, 1e-3), (1.0, 0.6, 0.4), 3
SCHEMA = Schema(context={"plan": Category("free", "paid")}, action={"topic": Category("a", "b"), "age": Number(0, 9)})
DISJOINT = Schema(context={"plan": Category("free", "paid")}, arms="disjoint", actions=("a", "b"))


def make(**options):
    common = {"budget": BUDGET, "first": 12, "source": Simulated(1), "policy": default_rng(2), "positions": WEIGHTS}
    return JointGLM(**{"dim": 3} | common | options)


def offers(rng, count=6):
    arms = rng.standard_normal((count, 3))
    return arms / np.maximum(np.linalg.norm(arms, axis=1, keepdims=True), 1.0)


def rounds(bandit, count, seed=0):
    """Lists that were shown, as indices."""
    rng, out = default_rng(seed), []
    for _ in range(count):
        arms = offers(rng)
        choice = bandit.choose(arms)
        chances = 0.2 * np.exp(1.5 * arms[list(choice.indices), 0]) * WEIGHTS
        bandit.observe(choice, (rng.random(K) < chances).astype(float))
        out.append(choice.indices)
    return out


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(arrays(one._state), arrays(other._state), strict=True))


def test_a_list_has_the_best_items_first_and_no_item_twice():
    bandit = make()
    assert all(len(set(found)) == K for found in rounds(bandit, 60))
    arms = offers(default_rng(5))
    bandit.choose(arms)  # what was due has been released
    bandit._state.estimate.spread[:] = 0.0
    best = np.argsort(-(arms @ bandit.theta), kind="stable")
    choice = bandit.choose({f"item {i}": x for i, x in enumerate(arms)})
    assert choice.indices == tuple(best[:K]) and choice.index == best[0] and choice.propensity == 1.0
    assert choice.names == tuple(f"item {i}" for i in best[:K]) and choice.name == choice.names[0]
    few = bandit.choose(arms, available=np.arange(6) == best[3])
    assert few.indices == (best[3],)
    assert bandit.choose(arms, top=2).indices == tuple(best[:2])
    for wrong in (0, K + 1, True, 1.0):
        with pytest.raises(ValueError, match=r"^Expected top, a number of places, of 1 to 3"):
            bandit.choose(arms, top=wrong)
    with pytest.raises(ValueError, match="with positions"):
        make(positions=None).choose(arms, top=1)


def test_random_lists_are_uniform():
    """Each of six items is in each place as often: 3000 lists, 5 standard errors, false alarm below 1e-5."""
    bandit = make(first=10_000)
    shown = np.array([bandit.choose(offers(default_rng(1))).indices for _ in range(3000)])
    counts = np.array([np.bincount(shown[:, j], minlength=6) for j in range(K)])
    assert np.abs(counts / 3000 - 1 / 6).max() < 5 * np.sqrt(1 / 6 * 5 / 6 / 3000)
    assert bandit.choose(offers(default_rng(1))).propensity == pytest.approx(1 / 6)


def test_the_propensity_is_that_of_the_first_place():
    """4000 lists at one estimate: 5 standard errors, false alarm below 1e-5."""
    bandit = make(budget=Budget(0.5, 1e-3))
    rounds(bandit, 40)
    arms, estimate = offers(default_rng(8)), bandit._estimate
    shown = bandit.algorithm.pick(estimate, np.tile(arms, (4000, 1, 1)), default_rng(1))
    often = np.bincount(shown[:, 0], minlength=6) / 4000
    chances = np.array([bandit.algorithm.chance(estimate, arms, i).value for i in range(6)])
    assert np.sort(chances)[-2] > 0.05
    assert (np.abs(often - chances) < 5 * np.sqrt(chances * (1 - chances) / 4000) + 0.005).all()


def test_rewards_by_name_by_place_and_by_id():
    names = ("x", "y", "z", "w")
    arms = dict(zip(names, np.eye(3)[[0, 1, 2, 0]] * 0.9, strict=True))
    found = []
    for way in ("name", "place", "id"):
        bandit = make(hold=None)
        choice = bandit.choose(arms)
        given = {choice.names[1]: 1.0} if way == "name" else [0.0, 1.0]
        assert bandit.observe(choice.id if way == "id" else choice, given)
        found.append(open_step(bandit))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2]) and found[0].any()


def test_what_is_no_reward_of_the_list_changes_nothing():
    bandit = make()
    choice = bandit.choose(dict(zip("xyzw", np.eye(3)[[0, 1, 2, 0]] * 0.9, strict=True)))
    left = next(iter(set("xyzw") - set(choice.names)))
    before = [part.copy() for part in arrays(bandit._state)]
    for wrong in (1.0, {left: 1.0}, [1.0] * 4, [2.0], ["a"], None):
        with pytest.raises(ValueError, match="^Expected") as caught:
            bandit.observe(choice, wrong)
        assert left not in str(caught.value).split()
    with pytest.raises(ValueError, match="of a list"):
        bandit.observe(choice.id, {choice.name: 1.0})
    assert all(np.array_equal(a, b) for a, b in zip(before, arrays(bandit._state), strict=True))
    assert bandit.observe(choice, [0.0, 1.0])


def test_silence_is_no_click_where_choices_are_held():
    quiet, said = (make(hold=3, missing_as=0.0) for _ in range(2))
    for t in range(40):
        for bandit, tells in ((quiet, False), (said, True)):
            choice = bandit.choose(offers(default_rng(t)))
            if t % 3 == 0:
                bandit.observe(choice, [0.0, 1.0])
            elif tells:
                bandit.observe(choice, [])
    assert same(quiet, said)


@pytest.mark.parametrize("hold", [None, 5])
def test_the_loop_and_single_calls_give_the_same_bits(hold):
    """Also where fewer items are offered than there are places."""
    options = {"hold": hold, "pending": 7} if hold else {}
    rng = default_rng(3)
    for count in (6, 2):
        members = [(offers(rng, count), (rng.random(count) < 0.3).astype(float)) for _ in range(80)]
        block = users([(_User(arms, 0.0)) for arms, _ in members])
        block.means[:] = [clicks for _, clicks in members]
        played, asked = make(**options), make(**options)
        played.play(block)
        for t, (arms, clicks) in enumerate(members):
            choice = asked.choose(arms)
            assert choice.index == block.index[t] and clicks[list(choice.indices)].sum() == block.reward[t]
            asked.observe(choice, clicks[list(choice.indices)])
        if hold is None:
            assert same(played, asked)
        else:
            assert np.array_equal(played._state.prefix.released, asked._state.prefix.released)


class _User:
    def __init__(self, arms, reward):
        self.arms, self.reward = arms, reward


def test_it_is_saved_and_taken_up(tmp_path):
    one, whole = make(), make()
    rounds(one, 40)
    one.save(tmp_path / "lists.json")
    other = JointGLM.load(tmp_path / "lists.json")
    assert other.positions == WEIGHTS
    rounds(other, 30, seed=9), rounds(whole, 40), rounds(whole, 30, seed=9)
    assert same(other, whole)


def test_it_learns_from_features_of_items_and_person():
    bandit = make(dim=0, features=SCHEMA, source=Simulated(5), budget=Budget(20.0, 1e-3))
    assert bandit._form is lists and bandit.contribution.skip == 1
    rng = default_rng(0)
    for t in range(1500):
        items = {f"{t}-{i}": {"topic": "ab"[i % 2], "age": i % 10} for i in range(8)}
        choice = bandit.choose({"plan": "free"}, actions=items)
        likes = np.array([items[name]["topic"] == "b" for name in choice.names])
        bandit.observe(choice, dict(zip(choice.names, rng.random(K) < 0.15 * likes * WEIGHTS, strict=True)))
    shown = [items[name]["topic"] for name in bandit.choose({"plan": "free"}, actions=items).names]
    assert shown == ["b"] * K
    low, high = bandit.interval({"plan": "free"}, actions={"one": {"topic": "b", "age": 5}})[0]
    assert low < 0.15 < high < 0.3


def test_the_certificate_says_that_weights_were_given_and_d_is_that_of_the_list():
    told = make().privacy
    assert "over the places of a list" in told.releases[0].statistic
    assert any("(positions=)" in caveat for caveat in told.caveats)
    assert told.releases[0].sensitivity == pytest.approx(np.sqrt(2) * make().contribution.bound)


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"dim": 6, "blocks": 2}, "blocks"),
        ({"dim": 0, "features": DISJOINT}, "blocks"),
        ({"base_rate": 0.1}, "base_rate"),
        ({"contexts": "public"}, "contexts"),
        ({"curvature": "released"}, "curvature"),
        ({"prior": ([0.1] * 3, 1.0)}, "prior"),
        ({"covariance": np.eye(3)}, "covariance"),
        ({"tuning": Tuning(ridge=9.0)}, "tuning"),
        ({"rewards": (0.0, 2.0)}, "rewards"),
        ({"hold": 3, "missing_as": 0.5}, "missing_as"),
        ({"positions": (0.5, 0.2)}, "positions"),
    ],
)
def test_what_does_not_go_with_lists_is_refused_by_name(options, got):
    with pytest.raises(ValueError, match=f"^Expected .*{got}.*") as caught:
        make(**options)
    assert "positions" in str(caught.value)


def test_what_is_for_single_arms_says_so():
    bandit = make()
    with pytest.raises(ValueError, match="choose_many"):
        bandit.choose_many(np.zeros((2, 4, 3)))
    with pytest.raises(ValueError, match="learn_log"):
        bandit.learn_log({"reward": [1.0], "x0": [0.1], "x1": [0.0], "x2": [0.0]})
    late = users([_User(offers(default_rng(0)), 0.0)])._replace(delay=np.array([3]))
    with pytest.raises(ValueError, match="hold"):
        bandit.play(late)
    assert bandit.choices == 0
    with pytest.raises(TypeError, match="positions"):
        JointLinUCB(dim=3, budget=BUDGET, positions=WEIGHTS)


def test_a_front_page():
    """Regret is beside the best lists, and that of uniform play is of random lists."""
    world = environments.front_page(arms=60, hour=300)
    run = simulate([Spec(JointGLM, budget=Budget(float("inf"), 1e-6))], world, horizon=1200, runs=1, seed=1).runs[0]
    best = 1200 * run.uniform_reward + run.uniform_regret
    assert 0.15 < 1 - run.uniform_regret / best < 0.45  # a random list has about .3 of the best one's clicks
    assert run.regret < 0.5 * run.uniform_regret and run.single_regret is None
    assert (
        abs(1200 * run.reward_mean - (best - run.regret)) < 5 * best**0.5
    )  # clicks, with about a Poisson number's noise
