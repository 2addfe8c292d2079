"""Hybrid arms: rows (s, z, a), what is left out of their contributions, and that without noise nothing else changes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Budget, JointGLM, JointLinUCB, Stored
from tacit.bandits.joint import hybrid
from tacit.features import Category, Number, Schema, Tags
from tacit.model import links
from tacit.model.glm import GLMContribution
from tacit.model.hybrid import Layout
from tacit.model.vectors import pair
from tacit.privacy.noise import Simulated

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
    here, at = hybrid.places(layout, int(row[-1]))
    kept = np.zeros(layout.size)
    kept[at] = pair(row[:-1], 0.7, -0.3)
    assert len(set(at.tolist())) == len(at) and at.min() >= 0 and at.max() < layout.size
    whole = layout.whole(row[None])[0]
    assert np.array_equal(whole[here], row[:-1]) and np.count_nonzero(whole) <= len(here)
    every = layout.places(np.arange(layout.dim))
    assert np.array_equal(np.where(every < 0, 0.0, kept[every]), pair(whole, 0.7, -0.3))
    assert sorted(every[every >= 0].tolist()) == list(range(layout.size))  # each number once


@given(
    st.sampled_from([links.identity, links.logistic, links.probit]),
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
        here, at = hybrid.places(layout, int(row[-1]))
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
    common = {"dim": layout.dim, "radius": 3.0, "budget": NO_NOISE, "first": 20} | (
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
    assert np.allclose(whole._offers(layout.whole(asked))(), parts._offers(asked)(), atol=1e-9)
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
    def opened(*names, gone=()):
        schema = Schema(
            context=SCHEMA.context, action=SCHEMA.action, arms="hybrid", actions=names, max_actions=5, retired=gone
        )
        bandit = JointGLM(features=schema, radius=2.0, budget=BUDGET, first=4)
        return Stored(bandit, tmp_path / "b.db", background=False, delay=0.0)

    def played(stored, names):
        for i in range(9):
            offered = {name: OFFERED[name] for name in names}
            stored.observe(stored.choose({"age": 7 * i, "sex": "M"}, actions=offered), float(i % 2))
            stored.tend()

    with opened("walk", "sleep") as stored:
        played(stored, ["walk", "sleep"])
        own = stored._bandit._own_dim
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


def test_blocks_are_drawn_towards_what_they_have_in_common_as_far_as_noise_goes():
    layout, rng = Layout(2, 5, 3), np.random.default_rng(6)
    size, live = layout.shared * layout.own + 6, np.array([0, 1, 3, 4])
    released = rng.standard_normal(layout.size) * 0.1
    parts = released[5:].reshape(5, layout.each)
    shape = np.append(rng.standard_normal(6), [1, 0, 0, 1, 0, 1]) / 3  # s z', and z z' of trace 1
    parts[:, :size] = np.array([50.0, 20.0, 30.0, 5.0, 40.0])[:, None] * shape
    parts[4, 0] += 30.0  # by far more than noise
    before, noisy = released.copy(), rng.standard_normal(parts.shape)
    parts += noisy * 0.5
    given = released.copy()
    keep = hybrid.pool(released, layout, live, 0.5)
    mine = given[5:].reshape(5, -1)[live, :size]
    traces = mine[:, [6, 9, 11]].sum(axis=1)
    target = traces[:, None] / traces.sum() * mine.sum(axis=0)
    square = np.sum((mine - target) ** 2, axis=1)
    assert np.allclose(keep, np.maximum(0.0, 1 - (size - 1) * 0.25 / square)) and keep[3] > 0.9 > 0.5 > keep[:3].min()
    after = released[5:].reshape(5, -1)
    assert np.allclose(after[live, :size], target + keep[:, None] * (mine - target))
    others = np.ones(layout.size, bool)
    others[5:].reshape(5, -1)[live, :size] = False
    assert np.array_equal(released[others], given[others])  # moments, the shared part, and what is not in use
    exact = before[5:].reshape(5, -1)
    alike = live[:3]
    assert np.sum((after - exact)[alike, :size] ** 2) < np.sum((given[5:].reshape(5, -1) - exact)[alike, :size] ** 2)
    still = given.copy()
    hybrid.pool(still, layout, live, 0.0)
    assert np.allclose(still, given, atol=1e-12)


def test_it_has_less_regret_than_with_its_zeros():
    """All seeds are fixed: nothing here is by chance."""
    layout = Layout(4, 8, 4)
    regret = {"dense": 0.0, "hybrid": 0.0}
    for seed, kind in itertools.product(range(3), regret):
        rng = np.random.default_rng(seed)
        theta = rng.standard_normal(layout.dim)
        theta *= 3 / np.linalg.norm(theta)
        parts = {"blocks": layout.blocks, "shared": layout.shared} if kind == "hybrid" else {}
        draws = {"source": Simulated(seed), "policy": np.random.default_rng(seed + 9)}
        bandit = JointGLM(dim=layout.dim, radius=3.0, budget=Budget(8.0, 1e-6), pending=1, **draws, **parts)
        for _ in range(1500):
            person, own = rng.uniform(-0.5, 0.5, 4), rng.uniform(-0.35, 0.35, (8, 4))
            offered = np.column_stack([own, np.tile(person, (8, 1)) * 0.7, np.arange(8)])
            dense = layout.whole(offered)
            means = 1 / (1 + np.exp(-dense @ theta))
            choice = bandit.choose(offered if parts else dense)
            regret[kind] += means.max() - means[choice.index]
            bandit.observe(choice, float(rng.random() < means[choice.index]))
    assert regret["hybrid"] < 0.98 * regret["dense"]
