"""Disjoint arms, each user in one block: the dense bandit without noise, in fewer numbers, of the same sensitivity."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.optimize import minimize

from core_tests.made import joint
from core_tests.reference import linear as reference
from reticent import Budget, JointGLM, LinUCB, Simulated, Spec, environments, simulate
from reticent.algorithms import irls
from reticent.algorithms.chances import of_each
from reticent.algorithms.prior import nothing
from reticent.features import Category, Number, Schema
from reticent.kernels.blocks import BLOCKS as APART
from reticent.kernels.glm import Posterior, Tuning
from reticent.mechanisms.opening import opened
from reticent.model import arms, links
from reticent.model.glm import GLMContribution, largest_weight

NO_NOISE = Budget(math.inf, 0.0)
BUDGET = Budget(1.0, 1e-6)
PLAIN = Tuning(explore=0.0, caution=0.0)
ACTIONS = ("walk", "sleep", "read")
SCHEMA = Schema(context={"age": Number(0, 100), "sex": Category("F", "M")}, arms="disjoint", actions=ACTIONS)
PEOPLE = Schema(context={"age": Number(0, 1, bins=2)}, arms="disjoint", actions=ACTIONS)
BLOCKS, OWN = 3, PEOPLE.dim // 3


def vector(contribution, x, y, theta, inverse):
    """What a user adds, by the bandit's own place for it."""
    out, a = np.zeros(contribution.size), int(x[-1])
    contribution.add(np.asarray(x[:-1], np.float64), float(y), theta, inverse, out[contribution.part(a)])
    return out


def dense(rows, blocks):
    """Rows (z, a) with their zeros."""
    return arms.whole(rows, blocks * (rows.shape[-1] - 1), blocks)


# sensitivity


@given(
    st.sampled_from(list(links.BUILT_IN.values())),
    st.sampled_from([0.3, 1.0, 1.5, 2.2, 4.0]),
    st.integers(1, 4),
    st.integers(2, 4),
    st.integers(0, 10**6),
)
@settings(max_examples=300)
def test_two_users_are_never_farther_apart_than_the_sensitivity(link, scale, own, blocks, seed):
    """At any public iterate, for input far outside the bounds; the dense contribution has only zeros besides."""
    rng = np.random.default_rng(seed)
    c = GLMContribution(dim=own * blocks, link=link, scale=scale, low=-1.0, high=1.0, blocks=blocks)
    whole = GLMContribution(dim=own * blocks, link=link, scale=scale, low=-1.0, high=1.0)
    assert c.sensitivity == whole.sensitivity and c.size == blocks * own * (own + 3) // 2
    theta, root = 10 ** rng.uniform(-2, 2) * rng.standard_normal((blocks, own)), rng.standard_normal((blocks, own, own))
    inverse = root @ root.transpose(0, 2, 1)
    inflated = block_diag(*inverse)
    pairs, wholes = [], []
    for _ in range(2):
        x = np.append(rng.standard_normal(own) * 10 ** rng.uniform(-6, 3), rng.integers(blocks))
        y, a = rng.choice([-1.0, 1.0, 1e9, rng.uniform(-1, 1)]), int(x[-1])
        pairs.append(vector(c, x, y, theta[a], inverse[a]))
        out = np.zeros(whole.size)
        whole.add(dense(x[None], blocks)[0], y, theta.ravel(), inflated, out)
        wholes.append(out)
    apart = np.linalg.norm(pairs[0] - pairs[1])
    assert apart <= c.sensitivity * (1 + 1e-9) and math.hypot(*map(np.linalg.norm, pairs)) <= c.sensitivity * (1 + 1e-9)
    assert apart == pytest.approx(np.linalg.norm(wholes[0] - wholes[1]), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("scale", [0.5, 1.5, 4.0])
def test_a_search_over_blocks_finds_the_sensitivity_and_no_more(scale):
    """The farthest pair of one block attains D; that of two blocks sqrt(2 (1 + q)), which is less."""
    c = GLMContribution(dim=4, link=links.probit, scale=scale, low=0.0, high=1.0, blocks=2)
    at = irls.prior(2, 1e-6)  # theta = 0 and no spread: the steepest point of the link
    rng, found = np.random.default_rng(0), []
    for other in (0, 1):

        def distance(p, other=other):
            one = vector(c, [p[0], 0.0, 0], p[3], at.theta, at.inverse)
            two = vector(c, [p[1] * math.cos(p[2]), p[1] * math.sin(p[2]), other], p[4], at.theta, at.inverse)
            return -np.linalg.norm(one - two)

        ends = [(1e-6, 1), (1e-6, 1), (0, math.pi), (0, 1), (0, 1)]
        starts = [[rng.uniform(*e) for e in ends] for _ in range(20)]
        found.append(max(-minimize(distance, s, bounds=ends, method="Nelder-Mead").fun for s in starts))
    q = (scale * largest_weight(links.probit)) ** 2
    assert 0.995 * c.sensitivity <= found[0] <= c.sensitivity * (1 + 1e-9)
    assert found[1] == pytest.approx(math.sqrt(2 * (1 + q)), rel=0.005) and found[1] <= c.sensitivity


# the estimate


def exact(**options):
    """Without noise, and with the same draws each time."""
    common = {"radius": 3.0, "budget": NO_NOISE, "first": 20, "model": "curvature"} | options
    return joint(source=Simulated(0), policy=np.random.default_rng(5), **common)


def pair_of_bandits(**options):
    """The dense bandit and the one with blocks."""
    return exact(**options, features=PEOPLE.dim), exact(**options, features=PEOPLE)


def person(rng):
    return {"age": rng.random() if rng.random() < 0.8 else None}


def alike(whole, parts, rng, rounds, reward):
    """Plays both with the same people: choice by choice, the same estimates and intervals."""
    for _ in range(rounds):
        asking, actions = person(rng), list(rng.permutation(ACTIONS))
        rows = PEOPLE.placed(asking, actions)[1]
        choices = whole.choose(dense(rows, BLOCKS)), parts.choose(asking, actions=actions)
        assert choices[0].index == choices[1].index and choices[0].propensity == choices[1].propensity
        given = reward(rows[choices[0].index])
        whole.observe(choices[0], given)
        parts.observe(choices[1], given)
        assert np.abs(whole.theta - parts.theta).max() < 1e-9
    assert np.allclose(whole.interval(dense(rows, BLOCKS)), parts.interval(asking, actions=actions), atol=1e-9)
    return choices[0].propensity


@pytest.mark.parametrize("link", ["logistic", "identity"])
def test_without_noise_it_is_the_dense_bandit(link):
    """Choice by choice where nothing is drawn but the first arms, and nothing is judged by how much it was sampled."""
    whole, parts = pair_of_bandits(link=link, tuning=PLAIN, range=(-1.0, 1.0))
    theta = np.random.default_rng(2).standard_normal((BLOCKS, OWN))
    alike(whole, parts, np.random.default_rng(1), 300, lambda row: float(np.tanh(row[:-1] @ theta[int(row[-1])])))
    assert whole.sums.steps > 5 and np.abs(whole.theta).max() > 0.1


@pytest.mark.parametrize("given", ["prior", "rows", "both"])
def test_without_noise_it_is_the_dense_bandit_with_what_is_known(given):
    """Same start, choices and estimate: with a prior that joins no two blocks, and with public rows."""
    rng = np.random.default_rng(6)
    rows = dense(np.column_stack([rng.uniform(-0.5, 0.5, (40, OWN)), rng.integers(BLOCKS, size=40)]), BLOCKS)
    root = rng.standard_normal((BLOCKS, OWN, OWN))
    precision, y = block_diag(*(root @ root.transpose(0, 2, 1))), (rows.sum(axis=1) > 0).astype(float)
    prior = None if given == "rows" else (0.3 * np.ones(BLOCKS * OWN), precision)
    whole, parts = pair_of_bandits(radius=2.0, tuning=PLAIN, prior=prior, rows=None if given == "prior" else (rows, y))
    assert np.abs(parts.theta).max() > 0.05
    assert alike(whole, parts, rng, 60, lambda row: float(rng.integers(2))) == 1.0 and whole.sums.steps > 1
    caveats = exact(rows=(rows, y), features=PEOPLE, budget=BUDGET).privacy.caveats
    assert "not protected" in " ".join(caveats)
    assert (exact(radius=2.0, tuning=Tuning(), rows=(rows, y), features=PEOPLE).sums.state.estimate.spread > 0).all()


def test_what_is_known_must_not_join_two_blocks():
    joined = np.eye(BLOCKS * OWN) + 0.1
    for wrong in ({"prior": (np.zeros(BLOCKS * OWN), joined)}, {"rows": (np.full((1, BLOCKS * OWN), 0.1), [1.0])}):
        with pytest.raises(ValueError, match="join no two actions"):
            joint(features=PEOPLE, budget=BUDGET, **wrong)


def test_what_is_drawn_has_the_law_that_its_spread_says():
    """The same chances as a dense posterior with these axes in its blocks; and they are those of the draws."""
    parts, rng = pair_of_bandits()[1], np.random.default_rng(3)
    for action in rng.choice(ACTIONS, size=400, p=[0.6, 0.3, 0.1]):
        parts.observe(parts.choose(person(rng), actions=[action]), float(rng.integers(2)))
    posterior = parts.sums.state.estimate
    posterior.theta[:] *= 0.05  # so that draws decide
    flat = Posterior(*(part.ravel() for part in posterior))._replace(axes=block_diag(*posterior.axes))
    assert posterior.spread[2].min() > 0.05 and posterior.spread[0].min() == 0.0  # 10 and 60 % of the users
    offered = np.column_stack([np.full((BLOCKS, OWN), 0.3), np.arange(BLOCKS)])
    chances = parts.one_pass.chances(parts.sums.estimator.estimate, offered)
    assert np.allclose(chances, of_each(irls.values(dense(offered, BLOCKS), flat)), atol=0.05)  # 6 standard errors
    drawn = irls.choose_many(np.random.default_rng(0), np.repeat(offered[None], 4096, 0), posterior)
    assert np.allclose(np.bincount(drawn, minlength=BLOCKS) / 4096, chances, atol=0.05) and chances.max() < 0.95


def test_blocks_are_drawn_towards_their_common_shape_as_far_as_noise_goes():
    """By the formula, in numpy."""
    rng = np.random.default_rng(4)
    scale, std, radius, numbers = 1.3, 2.0, 3.0, OWN * (OWN + 1) / 2 - 1
    roots = rng.standard_normal((BLOCKS, OWN, OWN)) * np.array([3.0, 2.0, 1.0, 0.3])[:, None]
    curvature = 5 * roots @ roots.transpose(0, 2, 1) * np.array([4.0, 1.0, 0.005])[:, None, None]
    moments = 10 * rng.standard_normal((BLOCKS, OWN))
    released = np.concatenate(
        [np.append(scale * reference.svec(c), b) for c, b in zip(curvature, moments, strict=True)]
    )
    posterior = irls.prior_of_blocks(OWN, radius, BLOCKS, np.arange(BLOCKS))
    tuning = Tuning(variance=1.5, ridge=0.7, explore=0.5, share=0.8, caution=0.4, scaling=0.6)
    options = {"scale": scale, "unit": 1.0, "std": std, "radius": radius, "tuning": tuning}
    irls.update(released, **options, known=nothing(), posterior=posterior)
    shape = curvature.mean(axis=0)
    even = np.trace(shape) / OWN * np.eye(OWN)
    share = 1 - numbers * (std / scale) ** 2 / BLOCKS / np.sum((shape - even) ** 2)
    shape = even + share * (shape - even)
    seen, lacks, plays = [], [], []
    for a in range(BLOCKS):
        target = np.trace(curvature[a]) * shape / np.trace(shape)
        keep = max(0.0, 1 - numbers * (std / scale) ** 2 / np.sum((curvature[a] - target) ** 2))
        seen.append(keep)
        values, axes = np.linalg.eigh(target + keep * (curvature[a] - target))
        values, b = np.maximum(values, 0.0), axes.T @ moments[a]
        noise = std**2 * (1 + 0.3 * keep**2 * radius**2 / scale**2 / BLOCKS)
        usual = np.diag(axes.T @ shape @ axes)
        assert (usual > 0).all()
        prior = radius / math.sqrt(BLOCKS * OWN) * np.clip((usual.mean() / usual) ** 0.3, 1 / 3, 3)
        precision = values**2 / (1.5 * values + noise) + 1 / prior**2
        lacking = np.maximum(0, 1 - values / (0.8 * usual))
        lacks.append(lacking)
        centre = values / (1.5 * values + noise) * b / precision
        direct = b / (values + 0.7 * (1.5 / prior**2 + math.sqrt(noise) / prior))
        plays.append(axes @ (direct + 0.4 * lacking**2 * (centre - direct)))
        assert np.allclose(posterior.inverse[a], (axes / precision) @ axes.T)
        assert np.allclose(posterior.centre[a], axes @ centre)
        assert np.allclose(posterior.spread[a], 0.5 * lacking / np.sqrt(precision))
    assert np.allclose(posterior.theta, np.array(plays) * min(1, radius / np.linalg.norm(plays)))
    assert 0 < share < 1 and min(seen) == 0.0 < 0.9 < max(seen) < 1.0 and 0 == np.min(lacks) < np.max(lacks)


def test_features_that_vary_little_are_not_explored_for_ever():
    """People vary a tenth as much along the last coordinate, in all blocks: where all were sampled alike, nothing lacks
    samples; in a block that nobody was offered, everything does."""
    curvature = np.diag([100.0, 100.0, 100.0, 1.0])
    posterior = irls.prior_of_blocks(OWN, 3.0, BLOCKS, np.arange(BLOCKS))
    for factors, explored in (((1.0, 1.0, 1.0), []), ((1.0, 1.0, 0.0), [2])):
        pairs = [np.append(reference.svec(factor * curvature), np.zeros(OWN)) for factor in factors]
        irls.update(np.concatenate(pairs), scale=1.0, unit=1.0, std=0.0, radius=3.0, tuning=APART, posterior=posterior)
        assert [a for a in range(BLOCKS) if posterior.spread[a].max() > 1e-9] == explored
        assert all(posterior.spread[a].min() > 0.1 for a in explored)


# as it is used


def test_a_schema_of_disjoint_arms_makes_blocks():
    bandit = joint(features=SCHEMA, radius=3.0, budget=BUDGET, model="curvature")
    own = SCHEMA.dim // 3
    size = own * (own + 3) // 2
    assert bandit.plan.blocks == 3 and bandit.plan.mechanism.size == 3 * size < SCHEMA.dim * (SCHEMA.dim + 3) // 2
    choice = bandit.choose({"age": 31, "sex": "F"}, actions=["sleep", "read"])
    assert choice.name in ("sleep", "read") and choice.propensity == 0.5
    bandit.observe(choice, 1.0)
    part = bandit.one_pass.learnt.contribution.part(ACTIONS.index(choice.name))
    moved = np.flatnonzero(opened(bandit.sums.state.prefix).open)
    assert len(moved) and part.start <= moved.min() <= moved.max() < part.stop
    text = " ".join(str(bandit.privacy).split())
    assert f"(3 blocks of {size}, each user in one of them)" in text and bandit.privacy.private
    assert bandit.theta.shape == (SCHEMA.dim,) == (len(SCHEMA.labels),)
    for wrong in (["run"], [], "walk"):
        with pytest.raises(ValueError, match="Expected"):
            bandit.choose({"age": 31}, actions=wrong)
    assert joint(features=SCHEMA, budget=BUDGET).warm_up() > 0


@pytest.mark.parametrize("secure", [True, False])
def test_every_block_has_noise_at_every_release_offered_or_not(secure):
    """Of the same size: the standard deviation over the blocks that nobody was offered is sigma's (5 standard errors of
    it, false alarm 1e-6), and not two thirds or three halves of it."""
    source = {} if secure else {"source": Simulated(7)}
    many = dataclasses.replace(PEOPLE, actions=tuple(map(str, range(50))))
    bandit = joint(features=many, model="curvature", budget=BUDGET, first=5, **source)
    size, before = bandit.plan.mechanism.size // 50, np.zeros(bandit.plan.mechanism.size)
    for _ in range(4):
        for _ in range(5 if bandit.choices else 6):
            bandit.observe(bandit.choose({"age": 0.5}, actions=["0"]), 1.0)
        released = bandit.sums.state.prefix.released.copy()
        assert (released != before).all()
        before = released
    own, others = released[:size], released[size:]
    std = bandit.plan.mechanism.sigma * bandit.one_pass.gains[bandit.sums.steps]
    assert bandit.sums.steps == 4 and np.abs(own).max() > 0
    assert abs(others.std() / std - 1) < 5 / math.sqrt(2 * len(others)) < 1 / 4


def test_rows_without_zeros_are_the_vectors():
    names, rows = SCHEMA.placed({"age": 5, "sex": "M"})
    assert names == ACTIONS and np.array_equal(dense(rows, 3), SCHEMA.rows({"age": 5, "sex": "M"})[1])
    names, rows = SCHEMA.placed({"age": 5}, ["read"])
    assert names == ("read",) and rows[0, -1] == 2
    shared = Schema(action={"price": Number(0, 1)})
    with pytest.raises(ValueError, match="disjoint"):
        shared.placed({}, {"x": {}})


def test_worlds_are_the_same_apart():
    worlds = [environments.disjoint(dim=15, arms=3, link="logistic", disjoint=disjoint) for disjoint in (False, True)]
    filled = [world.block(50) for world in worlds]
    for world, block in zip(worlds, filled, strict=True):
        world.start(np.random.default_rng(0), 50).fill(block)
    assert np.array_equal(dense(filled[1].arms, worlds[1].arms), filled[0].arms)
    assert np.array_equal(filled[0].means, filled[1].means) and np.array_equal(filled[0].noise, filled[1].noise)
    weight, numbers = filled[1].arms[0, 0, 0], filled[1].arms[0, 0, 1::2]
    asking = {f"number {i + 1}": float(number / weight) for i, number in enumerate(numbers[:2])}
    assert np.allclose(worlds[1].features.placed(asking)[1], filled[1].arms[0], atol=1e-12)
    with pytest.raises(ValueError, match="takes blocks"):
        simulate([Spec(LinUCB)], worlds[1], horizon=10, runs=1, seed=0)
    with pytest.raises(ValueError, match="multiple of arms"):
        environments.disjoint(dim=12, arms=3)


def test_blocks_have_less_regret_than_their_zeros():
    """All seeds are fixed: nothing here is by chance."""
    spec, regret = Spec(JointGLM, budget=Budget(1.0, 1e-6), model="curvature"), []
    for disjoint in (False, True):
        world = environments.disjoint(dim=40, arms=8, radius=3.0, link="logistic", disjoint=disjoint)
        regret.append(simulate([spec], world, horizon=4000, runs=4, seed=3, workers=1).rows[0]["regret_mean"])
    assert regret[1] < 0.9 * regret[0]


@pytest.mark.full
def test_intervals_of_blocks_cover():
    """90 % intervals hold the means of the arms of the last round, best and others, in at least 90 % of runs each,
    within three standard errors; and they say something: on average they are shorter than two thirds of all."""
    world = environments.disjoint(dim=54, arms=6, radius=3.0, link="logistic", disjoint=True)
    runs, rounds, held, wide = 60, 5000, [], []
    for seed in range(runs):
        spec = Spec(JointGLM, budget=BUDGET, model="curvature")
        bandit = spec.build(world, rounds, np.random.SeedSequence([seed, 1]))
        started, block = world.start(np.random.default_rng([seed, 2]), rounds), world.block(500)
        for _ in range(rounds // 500):
            started.fill(block)
            bandit.play(block)
        asking = {f"number {i + 1}": float(block.arms[-1, 0, 1 + 2 * i] / block.arms[-1, 0, 0]) for i in range(4)}
        low, high = np.array(bandit.interval(asking)).T
        order = block.means[-1].argsort()
        held.append(((low <= block.means[-1]) & (block.means[-1] <= high))[order])
        wide.append((high - low).mean())
    assert np.mean(held, axis=0).min() >= 0.9 - 3 * math.sqrt(0.09 / runs) and np.mean(wide) < 2 / 3
