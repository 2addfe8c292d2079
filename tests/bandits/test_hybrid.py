"""Hybrid arms: rows (s, z, a), what is left out of their contributions, and that without noise nothing else changes."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Budget, JointGLM, JointLinUCB, LinUCB, Spec, simulate
from tacit.algorithms.onepass import hybrid
from tacit.features import Category, Number, Schema, Tags
from tacit.kernels.glm import Tuning
from tacit.model import links
from tacit.model.glm import GLMContribution
from tacit.model.hybrid import Layout
from tacit.model.vectors import pair
from tacit.privacy.noise import Simulated
from tacit_lab import environments
from tests.store.places import Clock, Place, settle

BUDGET, NO_NOISE = Budget(1.0, 1e-6), Budget(math.inf, 0.0)
LAYOUT = Layout(3, 4, 2)
SCHEMA = Schema(
    context={"age": Number(0, 100), "sex": Category("F", "M")},
    action={"tags": Tags("short", "loud")},
    arms="hybrid",
    actions=("walk", "sleep", "read"),
)
OFFERED = {"walk": {"tags": ["short"]}, "sleep": {}, "read": {"tags": ["loud"]}}


def rows(rng, layout, count=5):
    """Rows (s, z, a) of norm 1 at most."""
    x = rng.uniform(-1, 1, (count, layout.shared + layout.own))
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
    return np.column_stack([x, rng.integers(layout.blocks, size=count)])


# what is kept


@given(st.integers(1, 4), st.integers(2, 4), st.integers(1, 3), st.integers(0, 10**6))
@settings(max_examples=100)
def test_what_is_kept_is_all_that_is_not_always_zero(shared, blocks, own, seed):
    layout, rng = Layout(shared, blocks, own), np.random.default_rng(seed)
    assert layout.size == shared * (shared + 3) // 2 + blocks * (shared * own + own * (own + 3) // 2)
    row = rows(rng, layout, 1)[0]
    here, at = hybrid.coordinates(layout)[int(row[-1])], hybrid.places(layout)[int(row[-1])]
    kept = np.zeros(layout.size)
    kept[at] = pair(row[:-1], 0.7, -0.3)
    assert len(set(at.tolist())) == len(at) and at.min() >= 0 and at.max() < layout.size
    whole = layout.whole(row[None])[0]
    assert np.array_equal(whole[here], row[:-1]) and np.count_nonzero(whole) <= len(here)
    every = layout.places(np.arange(layout.dim))
    assert np.array_equal(np.where(every < 0, 0.0, kept[every]), pair(whole, 0.7, -0.3))
    assert sorted(every[every >= 0].tolist()) == list(range(layout.size))  # each number once


@given(
    st.sampled_from(list(links.BUILT_IN.values())),
    st.sampled_from([0.3, 1.0, 1.5, 2.2, 4.0]),
    st.integers(0, 10**6),
)
@settings(max_examples=200)
def test_two_users_are_never_farther_apart_than_the_sensitivity(link, scale, seed):
    """In whatever blocks they are, at any public iterate, for input far outside the bounds; and no distance is another
    than with the zeros."""
    rng, layout = np.random.default_rng(seed), LAYOUT
    options = {"dim": layout.dim, "link": link, "scale": scale, "low": -1.0, "high": 1.0}
    c = GLMContribution(**options, blocks=layout.blocks, shared=layout.shared)
    whole = GLMContribution(**options)
    assert c.sensitivity == whole.sensitivity and c.size == layout.size < whole.size
    theta, root = 10 ** rng.uniform(-2, 2) * rng.standard_normal(layout.dim), rng.standard_normal((layout.dim,) * 2)
    inverse = root @ root.T
    kept, wholes = [], []
    for _ in range(2):
        row = rows(rng, layout, 1)[0] * np.append(np.full(layout.shared + layout.own, 10 ** rng.uniform(-6, 3)), 1.0)
        y = rng.choice([-1.0, 1.0, 1e9, rng.uniform(-1, 1)])
        here, at = hybrid.coordinates(layout)[int(row[-1])], hybrid.places(layout)[int(row[-1])]
        own, out = np.zeros(len(at)), np.zeros(whole.size)
        c.add(row[:-1], y, theta[here], np.ascontiguousarray(inverse[np.ix_(here, here)]), own)
        whole.add(layout.whole(row[None])[0], y, theta, inverse, out)
        kept.append(np.zeros(layout.size))
        kept[-1][at] = own
        wholes.append(out)
    apart = np.linalg.norm(kept[0] - kept[1])
    assert apart <= c.sensitivity * (1 + 1e-9)
    assert math.hypot(*map(np.linalg.norm, kept)) <= c.sensitivity * (1 + 1e-9)
    assert apart == pytest.approx(np.linalg.norm(wholes[0] - wholes[1]), rel=1e-9, abs=1e-12)


# the bandit


@pytest.mark.parametrize("given", [{}, {"prior": True}, {"warm": True}])
def test_without_noise_it_is_the_dense_bandit(given):
    """Choice by choice, draws included, and in all that it says."""
    layout, rng = LAYOUT, np.random.default_rng(1)
    public = rows(rng, layout, 40), (rng.random(40) < 0.5).astype(float)
    prior = (0.2 * np.ones(layout.dim), 0.5 * np.eye(layout.dim) + 0.1)
    common = {"dim": layout.dim, "radius": 3.0, "budget": NO_NOISE, "first": 20, "tuning": Tuning()} | (
        {"prior": prior} if "prior" in given else {}
    )
    whole, parts = (
        JointGLM(
            source=Simulated(0),
            policy=np.random.default_rng(5),
            **common,
            **more,
            **({"warm": (x, public[1])} if "warm" in given else {}),
        )
        for x, more in (
            (layout.whole(public[0]), {}),
            (public[0], {"blocks": layout.blocks, "shared": layout.shared}),
        )
    )
    theta = rng.standard_normal(layout.dim)
    explored = 0
    for t in range(200):
        offered = rows(rng, layout)
        dense = layout.whole(offered)
        one, other = whole.choose(dense), parts.choose(offered)
        assert one.index == other.index
        if t % 10 == 0:
            assert one.propensity == pytest.approx(other.propensity, abs=1e-9)
            explored += one.propensity < 0.99
        reward = float(rng.random() < 1 / (1 + math.exp(-3 * dense[one.index] @ theta)))
        whole.observe(one, reward)
        parts.observe(other, reward)
    assert np.allclose(whole.theta, parts.theta, atol=1e-9) and np.abs(parts.theta).max() > 0.3
    asked = rows(rng, layout, 9)
    assert np.allclose(whole.interval(layout.whole(asked)), parts.interval(asked), atol=1e-9)
    assert np.allclose(
        whole.algorithm.chances(whole._estimate, layout.whole(asked)),
        parts.algorithm.chances(parts._estimate, asked),
        atol=1e-9,
    )
    assert whole._steps == parts._steps > 5 and explored > 2
    assert parts.mechanism.size == layout.size < whole.mechanism.size


def test_the_noise_is_as_large_as_the_dense_bandits_and_in_every_number():
    common = {"dim": LAYOUT.dim, "budget": BUDGET, "first": 5, "source": Simulated(2)}
    whole, parts = JointGLM(**common), JointGLM(**common, blocks=LAYOUT.blocks, shared=LAYOUT.shared)
    assert parts.mechanism.sigma == whole.mechanism.sigma and parts.privacy.epsilon == whole.privacy.epsilon
    rng, before = np.random.default_rng(0), np.zeros(LAYOUT.size)
    for step in range(1, 4):
        while parts._steps < step:
            parts.observe(parts.choose(rows(rng, LAYOUT, 1)[:, :] * [*[1] * 5, 0]), 1.0)  # block 0 alone
        assert (parts._state.prefix.released != before).all()
        before = parts._state.prefix.released.copy()
    many = parts.choose_many(np.stack([rows(rng, LAYOUT) for _ in range(4)]))
    assert not many.refused and set(many.index.tolist()) <= set(range(5))
    for wrong in ([[0.1] * 5 + [4]], [[0.1] * 5 + [0.5]], [[0.9] * 5 + [0]], [[0.1] * 5]):
        with pytest.raises(ValueError, match="Expected"):
            parts.choose(wrong)
    for settings_ in (
        {"blocks": 4, "shared": 2},
        {"shared": 3},
        {"blocks": 1, "shared": 3},
        {"blocks": 3, "shared": 0},
    ):
        with pytest.raises(ValueError, match="Expected"):
            JointGLM(**common, **settings_)


def test_a_schema_of_hybrid_arms_makes_them(tmp_path):
    bandit = JointGLM(features=SCHEMA, radius=2.0, budget=BUDGET, first=5)
    own = (SCHEMA.dim - SCHEMA.shared) // 3
    layout = Layout(SCHEMA.shared, 3, own)
    assert (bandit.blocks, bandit.shared) == (3, SCHEMA.shared) and bandit.mechanism.size == layout.size
    names, placed = SCHEMA.placed({"age": 31, "sex": "F"}, OFFERED)
    assert names == SCHEMA.actions
    assert np.allclose(layout.whole(placed), SCHEMA.rows({"age": 31, "sex": "F"}, OFFERED)[1])
    text = " ".join(str(bandit.privacy).split())
    assert f"{layout.size} numbers (3 blocks beside {SCHEMA.shared} shared features" in text and bandit.privacy.private
    for i in range(12):
        bandit.observe(bandit.choose({"age": 8 * i, "sex": "FM"[i % 2]}, actions=OFFERED), float(i % 2))
    assert 0 < bandit.choose({"age": 3}, actions=OFFERED).propensity <= 1
    bandit.save(tmp_path / "b.json")
    again = JointGLM.load(tmp_path / "b.json")
    assert np.array_equal(again.theta, bandit.theta) and np.abs(again.theta).max() > 0 and again.shared == bandit.shared
    assert JointLinUCB(features=SCHEMA, horizon=100, budget=BUDGET).mechanism.size == SCHEMA.dim * (SCHEMA.dim + 3) // 2
    assert JointGLM(features=SCHEMA, budget=BUDGET).warm_up() > 0


def test_new_and_retired_actions_in_a_database(tmp_path):
    clock = Clock()

    def opened(*names, gone=()):
        schema = Schema(
            context=SCHEMA.context, action=SCHEMA.action, arms="hybrid", actions=names, max_actions=5, retired=gone
        )
        bandit = JointGLM(features=schema, radius=2.0, budget=BUDGET, first=4)
        return Place(str(tmp_path / "b.db"), None).open(bandit, clock=clock)

    def played(stored, names):
        for i in range(9):
            offered = {name: OFFERED[name] for name in names}
            stored.observe(stored.choose({"age": 7 * i, "sex": "M"}, actions=offered), float(i % 2))
            settle(stored)

    with opened("walk", "sleep") as stored:
        played(stored, ["walk", "sleep"])
        own = stored.algorithm.layout.own
        assert not stored.theta[SCHEMA.shared + 2 * own :].any() and stored.theta[: SCHEMA.shared].any()
    with opened("walk", "sleep", "read", gone=("walk",)) as stored:
        played(stored, ["sleep", "read"])
        theta, history = stored.theta, stored.history
        assert theta[SCHEMA.shared + 2 * own : SCHEMA.shared + 3 * own].any()
        assert not theta[SCHEMA.shared + 3 * own :].any()
    with opened("walk", "sleep", "read", gone=("walk",)) as stored:
        assert np.array_equal(stored.theta[: SCHEMA.shared], theta[: SCHEMA.shared])
        for one, other in zip(stored.history, history, strict=True):
            assert np.array_equal(one.estimate, other.estimate)


def test_room_that_nobody_has_changes_no_estimate():
    made = [
        JointGLM(
            features=Schema(
                context=SCHEMA.context, action=SCHEMA.action, arms="hybrid", actions=("walk", "sleep"), max_actions=most
            ),
            radius=2.0,
            budget=NO_NOISE,
            first=5,
            source=Simulated(0),
        )
        for most in (2, 6)
    ]
    rng = np.random.default_rng(4)
    for _ in range(50):
        asked, name = {"age": float(rng.integers(100))}, ["walk", "sleep"][rng.integers(2)]
        reward = float(rng.integers(2))
        for bandit in made:
            bandit.observe(bandit.choose(asked, actions={name: OFFERED[name]}), reward)
    tight, roomy = (bandit.theta for bandit in made)
    assert np.allclose(roomy[: len(tight)], tight, atol=1e-12) and not roomy[len(tight) :].any() and tight.any()


def test_a_curvature_is_drawn_towards_one_that_is_alike_everywhere_as_far_as_noise_goes():
    """Of some hundred numbers, so that what noise adds to a sum of squares is within some per cent of its mean."""
    layout, std = Layout(12, 3, 9), 0.5
    places = [np.arange(12), *np.split(np.arange(12, layout.dim), 3)]
    rng, exact = np.random.default_rng(6), np.diag(np.repeat([40.0, 50.0, 20.0, 30.0], [12, 9, 9, 9]))
    exact[0, 12 + 9 + 3] = exact[12 + 9 + 3, 0] = 30.0  # by far more than noise: of the second block alone
    noise = np.triu(rng.standard_normal(exact.shape)) * std / np.sqrt(2)
    noise += noise.T
    for one, other in itertools.permutations(places[1:], 2):
        noise[np.ix_(one, other)] = 0.0
    drawn = exact + noise
    touched = hybrid.pool(drawn, layout.shared, layout.own, std)
    error = drawn - exact
    assert np.array_equal(drawn, drawn.T)
    for one, other in itertools.product(places, repeat=2):
        part, had = np.ix_(one, other), np.sum(noise[np.ix_(one, other)] ** 2)
        if (one is places[0] and other is places[2]) or (one is places[2] and other is places[0]):
            assert np.sum(error[part] ** 2) > 0.5 * had  # the data say otherwise: most stays as it is
            assert drawn[part].ravel()[np.abs(exact[part]).argmax()] == pytest.approx(30.0, abs=5.0)
        elif had:
            assert np.sum(error[part] ** 2) < 0.3 * had
    share = 2 * 12 * 9 / layout.dim**2  # of numbers that keep their noise
    assert 0.8 * share < touched < 1.3 * share
    still = exact + noise
    before = still.copy()
    assert hybrid.pool(still, layout.shared, layout.own, 0.0) == pytest.approx((12**2 + 6 * 12 * 9 + 3 * 81) / 39**2)
    assert np.allclose(still, before, rtol=0, atol=1e-12)


def test_the_world_is_the_same_with_its_zeros_and_has_what_it_says():
    blocks, layout = [], Layout(3, 4, 2)
    for apart in (False, True):
        world = environments.hybrid(
            dim=11, arms=4, shared=3, common=0.25, radius=2.0, link="logistic", still=True, apart=apart
        )
        block = world.block(400)
        started = world.start(np.random.default_rng(0), 400)
        started.fill(block)
        blocks.append(block)
    dense, theta = layout.whole(blocks[1].arms), started.theta
    assert np.array_equal(dense, blocks[0].arms) and np.array_equal(blocks[0].means, blocks[1].means)
    assert np.allclose(blocks[0].means, 1 / (1 + np.exp(-dense @ theta)))
    assert np.sum(theta[:3] ** 2) == pytest.approx(1.0) and np.sum(theta**2) == pytest.approx(4.0)
    assert (dense[:, :, :3] == dense[0, :, :3]).all()
    assert len(np.unique(dense[:, 0, 3])) == 400
    assert np.linalg.norm(dense, axis=2).max() <= 1
    for spec in (Spec(LinUCB), Spec(JointLinUCB, budget=BUDGET)):  # no blocks; none with anything shared
        with pytest.raises(ValueError, match="takes blocks"):
            simulate([spec], world, horizon=9, runs=1, seed=0)
    for wrong in ({"dim": 36}, {"dim": 5}, {"shared": 0}, {"common": 1.0}, {"arms": 1}):
        with pytest.raises(ValueError, match="Expected"):
            environments.hybrid(**wrong)


@pytest.mark.full
def test_it_has_less_regret_than_with_its_zeros_and_than_with_nothing_shared():
    """All seeds are fixed: nothing here is by chance."""
    budget = Budget(8.0, 1e-6)
    world = environments.hybrid(dim=36, arms=8, shared=4, common=0.2, radius=4.0, link="logistic")
    apart = dataclasses.replace(world, apart=True)

    def regret(played_in, **options):
        spec = Spec(JointGLM, budget=budget, curvature="released", **options)
        return simulate([spec], played_in, horizon=1500, runs=4, seed=3, workers=1).rows[0]["regret_mean"]

    hybrid_ = regret(apart)
    assert hybrid_ < 0.95 * regret(dataclasses.replace(world, apart=False))
    assert hybrid_ < 0.95 * regret(apart, dim=8 * 8, shared=None)
