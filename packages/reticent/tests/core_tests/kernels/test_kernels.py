"""Every kernel against a slow reference. Run a second time with array bounds checked."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from core_tests.made import joint
from core_tests.reference import linear as reference
from reticent import Budget, LinUCB, Simulated, environments
from reticent.environments import worlds_kernel as worlds
from reticent.kernels import continual, formulas, linalg, linear, noise, rounds
from reticent.kernels.block import BERNOULLI, GAUSSIAN_REWARD, LOGGED, SIGN, Block, reward
from reticent.kernels.compile import kernel
from reticent.kernels.glm import Posterior, update_inverse
from reticent.model import glm, links, vectors
from reticent.models import glm as glm_model


def spd(rng, d):
    a = rng.standard_normal((d, d))
    return a @ a.T + 0.1 * np.eye(d)


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_packing_keeps_the_frobenius_norm_and_comes_back(d):
    m = spd(np.random.default_rng(d), d)
    packed, back = np.empty(d * (d + 1) // 2), np.empty((d, d))
    linalg.svec(m, packed)
    linalg.smat(packed, back)
    assert np.allclose(packed, reference.svec(m)) and np.allclose(back, m)
    assert np.linalg.norm(packed) == pytest.approx(np.linalg.norm(m))


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_inverse_and_log_determinant(d):
    m, out = spd(np.random.default_rng(d), d), np.empty((d, d))
    assert linalg.invert(m, out) == pytest.approx(np.linalg.slogdet(m)[1]) and np.allclose(out, np.linalg.inv(m))
    assert np.isnan(linalg.invert(m - 2 * np.linalg.eigvalsh(m).max() * np.eye(d), out))


def test_links():
    z = np.array([-800.0, -3.0, 0.0, 0.5, 30.0])
    for code, mean, slope in (
        (links.IDENTITY, lambda v: v, lambda v: np.ones_like(v)),
        (links.LOGISTIC, expit, lambda v: expit(v) * expit(-v)),
        (links.PROBIT, stats.norm.cdf, stats.norm.pdf),
    ):
        assert np.allclose([formulas.link_mean(code, v) for v in z], mean(z), rtol=1e-12)
        assert np.allclose([links.mean(code, v) for v in z], mean(z), rtol=1e-12)
        assert np.allclose([links.slope(code, v) for v in z], slope(z), rtol=1e-9)


@pytest.mark.parametrize("link", [links.identity, links.logistic, links.probit])
def test_what_devices_compute_is_what_kernels_compute(link):
    """One formula, interpreted and compiled: they may differ in the last bits of exp and erfc, no more."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        d = int(rng.integers(1, 7))
        x, theta, inverse = rng.standard_normal(d), 3 * rng.standard_normal(d), spd(rng, d)
        given = x, rng.uniform(-2, 2), theta, inverse, link.code, rng.choice([0.0, 0.4, 1.0]), 0.7, -1.0, 1.0
        plain, compiled = np.zeros((2, d * (d + 3) // 2))
        glm.add_glm(*given, plain)
        formulas.add_glm(*given, compiled)
        assert np.allclose(plain, compiled, rtol=1e-13, atol=1e-15)


def test_ridge_and_its_rescue_from_an_indefinite_matrix():
    rng, d = np.random.default_rng(3), 4
    gram, moment = spd(rng, d), rng.standard_normal(d)
    released = np.concatenate([reference.svec(gram), 0.5 * moment])
    estimate = linear.RidgeEstimate(np.zeros(d), np.eye(d), np.zeros(1))
    linear.ridge(released, 0.5, 2.0, estimate)
    V = gram + 2 * np.eye(d)
    assert np.allclose(estimate.theta, np.linalg.solve(V, moment))
    assert estimate.logdet[0] == pytest.approx(np.linalg.slogdet(V)[1])
    linear.ridge(-10 * released, 0.5, 2.0, estimate)
    assert np.isfinite(estimate.theta).all() and np.linalg.eigvalsh(estimate.inverse).min() > 0


def test_rank_one_updates_equal_a_fresh_inverse():
    rng, d = np.random.default_rng(4), 5
    estimate = linear.RidgeEstimate(np.zeros(d), np.eye(d), np.zeros(1))
    moment, V = np.zeros(d), np.eye(d)
    for _ in range(500):
        x, y = rng.standard_normal(d) / 3, rng.standard_normal()
        linear.rank_one(x, y, moment, estimate)
        V += np.outer(x, x)
    assert np.allclose(estimate.inverse, np.linalg.inv(V))
    assert estimate.logdet[0] == pytest.approx(np.linalg.slogdet(V)[1])
    assert np.allclose(estimate.theta, np.linalg.solve(V, moment))


@pytest.mark.parametrize(("count", "d"), [(1, 1), (25, 5), (300, 12)])
def test_optimistic_choice(count, d):
    rng = np.random.default_rng(5)
    V, theta = spd(rng, d), rng.standard_normal(d)
    estimate = linear.RidgeEstimate(theta, np.ascontiguousarray(np.linalg.inv(V)), np.zeros(1))
    arms, out = rng.standard_normal((10, count, d)), np.empty(10, np.int64)
    linear.optimistic_rows(arms, estimate, 0.7, 0.3, out)
    for row, chosen in zip(arms, out, strict=True):
        assert chosen == np.argmax(reference.ucb_values(row, theta, V, 0.7, 0.3))


def test_radius():
    assert linear.radius(linear.Width(2.0, 3.0, 1.0, 0.5), 2.0) == pytest.approx(2 * np.sqrt(4) + 0.5)
    assert linear.radius(linear.Width(2.0, 4.0, 9.0, 0.5), 2.0) == pytest.approx(2 * np.sqrt(4) + 0.5)


def noise_state(kind, leaves, size, **parts):
    levels, empty = parts.pop("levels", leaves.bit_length()), np.zeros((0, size))
    return continual.ContinualState(
        np.array([kind]),
        np.zeros(1, np.int64),
        parts.get("pads", np.zeros((levels, size))).copy(),
        parts.get("pads", empty),
        parts.get("weights", np.zeros(levels)),
        parts.get("decay", np.zeros(levels)),
        parts.get("table", empty),
    )


def test_tree_noise_is_that_of_the_covering_nodes():
    rng = np.random.default_rng(6)
    for kind in (continual.TREE, continual.PADDED):
        pads = rng.standard_normal((5, 3))
        state = noise_state(kind, 31, 3, **({"pads": pads} if kind == continual.PADDED else {}))
        noises, out = {}, np.empty(3)
        for t in range(1, 32):
            assert continual.draws_needed(state) == 1
            z, top = rng.standard_normal((1, 3)), (t & -t).bit_length() - 1
            noises[top, (t >> top) - 1] = z[0]
            continual.noise_step(state, z, out)
            expected = reference.tree_prefix_noise(noises, t)
            if kind == continual.PADDED:
                expected = expected + sum(pads[h] for h in range(5) if not (t >> h) & 1)
            assert np.allclose(out, expected)


def test_consistent_tree_is_the_best_linear_estimate():
    rng, variance = np.random.default_rng(7), [1.0]
    while len(variance) < 5:
        variance.append(1 / (1 + 1 / (2 * variance[-1])))
    state = noise_state(continual.CONSISTENT, 31, 1, weights=np.array(variance))
    noises, out = {}, np.empty(1)
    for t in range(1, 32):
        top = (t & -t).bit_length() - 1
        assert continual.draws_needed(state) == top + 1
        z = rng.standard_normal((top + 1, 1))
        for height in range(top + 1):
            noises[height, (t >> height) - 1] = z[height, 0]
        continual.noise_step(state, z, out)
        assert out[0] == pytest.approx(reference.best_linear_estimate(noises, t), abs=1e-9)


def test_buffered_and_table_noise():
    rng = np.random.default_rng(8)
    weights, decay = np.array([0.5, 0.25]), np.array([0.9, 0.3])
    z = rng.standard_normal((12, 2))
    state = noise_state(continual.BUFFERED, 12, 2, levels=2, weights=weights, decay=decay)
    table, out = noise_state(continual.TABLE, 12, 2, levels=0, table=z), np.empty(2)
    for t in range(12):
        continual.noise_step(state, z[t : t + 1], out)
        expected = sum((weights @ decay ** (t - s)) * z[s] for s in range(t + 1))
        assert np.allclose(out, expected) and continual.draws_needed(table) == 0
        continual.noise_step(table, np.empty((0, 2)), out)
        assert np.array_equal(out, z[t])


def test_prefix_step_without_noise_is_a_running_sum():
    rng, zeros = np.random.default_rng(9), np.zeros(3)
    state = continual.PrefixState(
        zeros.copy(), zeros.copy(), np.ones(1), noise_state(continual.TREE, 40, 3), zeros.copy()
    )
    x, law = rng.standard_normal((40, 3)), noise.gaussian_law(0.0)
    for t in range(40):
        state.open[:] = x[t]
        continual.simulate_step(rng, state, law)
        assert np.allclose(state.released, x[: t + 1].sum(axis=0)) and not state.open.any()


def test_next_boundary():
    assert [rounds.next_boundary(c, 1.0, 1.0) for c in (0, 1, 7)] == [1, 2, 8]
    assert [rounds.next_boundary(c, 15.0, 1.1) for c in (0, 3, 15, 100, 1000)] == [15, 18, 30, 115, 1100]


def test_rewards():
    assert reward(BERNOULLI, 1.0, 0.3, 0.29) == 1 and reward(BERNOULLI, 1.0, 0.3, 0.31) == 0
    assert reward(SIGN, 2.0, 1.0, 0.74) == 2 and reward(SIGN, 2.0, 1.0, 0.76) == -2
    assert reward(GAUSSIAN_REWARD, 2.0, 1.0, 0.5) == 2 and reward(LOGGED, 1.0, 0.25, 0.5) == 0.25


@pytest.mark.parametrize("blocks", [1, 3])
def test_sums_of_rows_are_the_contributions_of_each(blocks):
    """In whole cells, by plain numpy; a row without a reward, and one that is no user's, add nothing."""
    rng, p, cell, longest = np.random.default_rng(0), 2, 2.0**-9, 3.0
    rows, rewards = rng.uniform(-0.6, 0.6, (40, p)), rng.random(40)
    rewards[7] = np.nan
    place = rng.integers(blocks, size=40)
    given = np.column_stack([rows, place]) if blocks > 1 else rows
    theta, inverse = rng.normal(size=(blocks, p)), np.stack([np.eye(p)] * blocks)
    expected = np.zeros((blocks, 5), np.int64)
    for x, y, a in zip(rows, rewards, place, strict=True):
        v = np.zeros(5)
        glm.add_glm(x, y, theta[a], inverse[a], links.LOGISTIC, 0.3, 0.7, 0.0, 1.0, v)
        if np.linalg.norm(v) <= longest:  # not for NaN
            expected[a] += np.rint(v / cell).astype(np.int64)
    found = np.zeros_like(expected)
    at, places = glm_model.Linearised(theta, inverse, links.LOGISTIC, 0.3, 0.7, 0.0, 1.0), np.arange(5 * blocks)
    even, places = np.ones(len(rewards)), places.reshape(blocks, 5)
    glm_model.sum_glm(given, rewards, even, at, places, cell, longest, found.reshape(-1))
    assert np.array_equal(found, expected) and expected.any(axis=1).all()
    glm_model.sum_glm(given, rewards, even, at, places, cell, 1e-9, found.reshape(-1))
    assert np.array_equal(found, expected)


def test_worlds_fill_every_round_of_a_block():
    rng = np.random.default_rng(11)
    d, K, size = 4, 6, 9
    theta = np.array([0.5, 0.0, -0.5, 0.1])

    def block(d=d, kind=BERNOULLI):
        arrays = np.full((size, K, d), np.nan), np.full((size, K), np.nan), np.full(size, np.nan)
        outs = np.zeros(size, np.int64), np.zeros(size), np.zeros(size)
        return Block(*arrays, np.full(size, -1), np.array([kind]), np.array([1.0]), *outs)

    basis = np.ascontiguousarray(np.linalg.qr(rng.standard_normal((d, d)))[0])
    unit = theta / np.linalg.norm(theta)
    fills = [
        lambda b: worlds.fill_ball(rng, b, theta, 1),
        lambda b: worlds.fill_sphere(rng, b, theta, 2),
        lambda b: worlds.fill_fixed(rng, b, np.eye(K, d), theta, 1),
        lambda b: worlds.fill_shift(
            rng, b, basis.reshape(d, 2, 2).transpose(1, 0, 2).copy(), np.zeros(1, int), 4, theta, 1
        ),
        lambda b: worlds.fill_gap(rng, b, unit, 0.75, 0.1, theta, 1),
        lambda b: worlds.fill_rare(rng, b, basis[:, 1:].copy(), basis[:, 0].copy(), 0.5, theta, 1),
        lambda b: worlds.fill_skewed(rng, b, np.array([0.6, 0.4, 0.2]), 0.5, theta, 1),
        lambda b: worlds.fill_tail(rng, b, theta, 1),
    ]
    for fill in fills:
        b = block()
        fill(b)
        assert np.linalg.norm(b.arms, axis=2).max() <= 1 + 1e-12 and ((b.means > 0) & (b.means < 1)).all()
        assert ((b.noise >= 0) & (b.noise < 1)).all()
    for apart, width in ((False, 3 * K), (True, 4)):
        rows = block(d=width)
        worlds.fill_disjoint(rng, rows, np.full((K, 3), 0.5), apart, 1)
        assert np.isfinite(rows.arms).all() and (rows.arms[:, :, -1] == np.arange(K)).all() == apart


def test_fused_rounds_run_under_bounds_checks():
    world = environments.ball(dim=3, arms=4)
    fill, block = world.start(np.random.default_rng(12), 100).fill, world.block(50)
    settings = {"features": 3, "horizon": 100, "budget": Budget(1, 0.1), "source": Simulated(0)}
    for bandit in [LinUCB(dim=3), joint(**settings), joint(**settings, model="scores")]:
        for _ in range(2):
            fill(block)
            bandit.play(block)
        assert bandit.choices == 100 and (block.index >= 0).all()


@pytest.mark.parametrize("dim", [3, 63, 64, 67])
def test_many_dimensions_in_a_faster_order_of_sums(dim):
    rng = np.random.default_rng(dim)
    x, matrix = rng.standard_normal(dim), rng.standard_normal((dim, dim))
    for quadratic in (vectors.quadratic, kernel(vectors.quadratic)):
        assert quadratic(x, matrix) == pytest.approx(x @ matrix @ x, rel=1e-12, abs=1e-10)
    axes, precision = np.linalg.qr(matrix)[0], rng.uniform(1, 2, dim)
    found = Posterior(x, x, np.ascontiguousarray(axes), precision, x, np.empty((dim, dim)))
    update_inverse(found)
    assert np.allclose(found.inverse, np.linalg.inv(axes @ np.diag(precision) @ axes.T), atol=1e-12)
