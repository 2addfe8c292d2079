"""Environments are what they say."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from reticent import LinUCB, environments, registry

OTHERS = {"disjoint", "drift", "messages"}
SYNTHETIC = sorted(registry.ENVIRONMENTS.keys() - OTHERS)  # arms are vectors, and theta* stays: a new one, too


def rounds(world, count=2000, seed=0):
    started, block = world.start(np.random.default_rng(seed), count), world.block(count)
    started.fill(block)
    return block, started.theta


def filled(world, count, seed=0, size=None, horizon=None):
    """Arms, means and noise of the first rounds, in blocks of that size."""
    fill, blocks = world.start(np.random.default_rng(seed), horizon or count).fill, []
    for _ in range(0, count, size or count):
        blocks.append(world.block(size or count))
        fill(blocks[-1])
    return [np.concatenate(parts) for parts in list(zip(*blocks, strict=True))[:3]]


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("link", ["identity", "logistic", "probit"])
def test_arms_in_the_ball_means_by_the_link_and_rewards_in_range(name, link):
    world = registry.load(*registry.ENVIRONMENTS[name])(dim=5, arms=5, radius=2.0, link=link)
    block, theta = rounds(world)
    assert np.linalg.norm(theta) == pytest.approx(2.0) and np.linalg.norm(block.arms, axis=2).max() <= 1 + 1e-12
    mean = {"identity": lambda z: z, "logistic": expit, "probit": stats.norm.cdf}[link]
    assert np.allclose(block.means, mean(block.arms @ theta))
    LinUCB(dim=5).play(block)
    low, high = world.rewards
    assert set(np.unique(block.reward)) <= {low, high}
    chosen = block.means[np.arange(2000), block.index]
    # mean of reward - its expectation: 5 standard errors, false alarm < 1e-6 a case
    assert abs((block.reward - chosen).mean()) < 5 * (high - low) / 2 / np.sqrt(2000)
    assert np.allclose(block.regret, block.means.max(axis=1) - chosen)


def test_ball_is_uniform():
    """|x|^d is uniform (Kolmogorov-Smirnov, false alarm 1e-6), and rejects the sphere and a wrong exponent."""
    block, _ = rounds(environments.ball(dim=4, arms=5))
    length = np.linalg.norm(block.arms.reshape(-1, 4), axis=1)
    assert stats.kstest(length**4, "uniform").pvalue > 1e-6 and stats.kstest(length**3, "uniform").pvalue < 1e-6
    sphere, _ = rounds(environments.sphere(dim=4, arms=5))
    assert np.allclose(np.linalg.norm(sphere.arms, axis=2), 1)


def test_fixed_and_basis_never_change():
    for world in (environments.fixed(dim=3, arms=4), environments.basis(dim=4, arms=4)):
        block, _ = rounds(world, 50)
        assert (block.arms == block.arms[0]).all()
    with pytest.raises(ValueError, match="as many arms as dimensions"):
        environments.basis(dim=4, arms=5)


def test_shift_changes_subspace_half_way():
    block, _ = rounds(environments.shift(dim=5, arms=4), 400)
    before, after = block.arms[:200].reshape(-1, 5), block.arms[200:].reshape(-1, 5)
    assert np.linalg.matrix_rank(before, tol=1e-9) == np.linalg.matrix_rank(after, tol=1e-9) == 2
    assert np.abs(before @ after.T).max() < 1e-12


def parameters(change, count=600, size=None, **options):
    """theta* of each round of drift, by least squares from the round's means, with blocks of `size` rounds."""
    world = environments.drift(dim=3, arms=8, radius=2.0, change=change, **options)
    started, out = world.start(np.random.default_rng(4), count), []
    for _ in range(0, count, size or count):
        block = world.block(size or count)
        started.fill(block)
        out += [np.linalg.lstsq(x, y)[0] for x, y in zip(block.arms, block.means, strict=True)]
    assert started.theta is None and np.allclose(np.linalg.norm(out, axis=1), 2.0)
    return np.array(out)


@pytest.mark.parametrize("change", ["flip", "redraw", "turn"])
def test_drift_changes_as_it_says_however_rounds_are_cut_into_blocks(change):
    theta = parameters(change, every=150)
    assert np.allclose(theta, parameters(change, every=150, size=50), atol=1e-9)
    moved = np.linalg.norm(np.diff(theta, axis=0), axis=1) > 1e-6
    if change == "flip":
        assert np.flatnonzero(moved).tolist() == [149, 299, 449] and np.allclose(theta[150], -theta[0])
        assert np.allclose(parameters("flip")[[299, 300]], [theta[0], -theta[0]])  # half-way by default
    elif change == "turn":
        cosines = theta @ theta[0] / 4
        assert moved.all() and np.allclose(cosines, np.cos(np.arange(600) * np.pi / 300))
    else:
        assert 1 <= moved.sum() <= 12  # 4 are expected; a Poisson number is beyond 12 once in 4000 seeds


@pytest.mark.parametrize("wrong", [{"change": "jump"}, {"every": 0}, {"dim": 1}])
def test_drift_is_one_of_three(wrong):
    with pytest.raises(ValueError, match="Expected"):
        environments.drift(**wrong)


@pytest.mark.parametrize("gap", [0.0, 0.1, 0.5])
def test_gap(gap):
    block, theta = rounds(environments.gap(dim=4, arms=6, gap=gap))
    values = np.sort(block.arms @ theta, axis=1)
    assert np.allclose(values[:, -1], 0.75) and values[:, -2].max() <= 0.75 - gap + 1e-12
    assert values[:, 0].min() >= -0.75 - 1e-12
    assert len(np.unique(block.means.argmax(axis=1))) == 6  # the best arm's place tells nothing


def test_rare_offers_the_good_direction_in_one_round_of_twenty():
    signs = set()
    for seed in range(12):
        block, theta = rounds(environments.rare(dim=5, arms=4, radius=3.0), seed=seed)
        along = np.abs(block.arms @ theta) > 0.79 * 3
        assert abs(along.any(axis=1).mean() - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 2000)
        signs.add(np.sign((block.arms @ theta)[along].mean()))
    assert signs == {-1.0, 1.0}


def test_tail_has_a_constant_entry():
    block, theta = rounds(environments.tail(dim=5, arms=3))
    assert np.allclose(block.arms[:, :, 4], np.sqrt(0.5)) and theta[4] == pytest.approx(np.sqrt(0.5))
    assert block.means.min() >= 0 and block.means.max() <= 1


def test_skewed_saturates_the_link_in_half_of_the_rounds():
    block, _ = rounds(environments.skewed())
    high = block.arms[:, 0, 0] > 0
    assert abs(high.mean() - 0.5) < 0.06
    spread = block.means.max(axis=1) - block.means.min(axis=1)
    assert spread[high].mean() < 0.8 * spread[~high].mean()


def test_gaussian_rewards_are_for_identity_links():
    block, _ = rounds(environments.ball(dim=2, noise="gaussian"))
    assert stats.kstest(block.noise, "norm").pvalue > 1e-6
    with pytest.raises(ValueError, match="link='identity'"):
        environments.ball(link="logistic", noise="gaussian")


@pytest.mark.parametrize(
    "wrong", [{"dim": 0}, {"arms": 0}, {"radius": -1.0}, {"link": "cauchit"}, {"noise": "cauchy"}, {"dim": 2.5}]
)
def test_bad_settings(wrong):
    with pytest.raises(ValueError, match="Expected"):
        environments.ball(**wrong)
