"""Environments are what they say."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, logit

from tacit import LinUCB, Spec, environments, registry, simulate

OTHERS = {
    "breast-cancer",
    "clicks",
    "digits",
    "disjoint",
    "drift",
    "front-page",
    "hybrid",
    "messages",
    "random",
    "replay",
    *registry.FETCHED,
}
SYNTHETIC = sorted(registry.ENVIRONMENTS.keys() - OTHERS)  # arms are vectors, and theta* stays: a new one, too


def rounds(world, count=2000, seed=0):
    started = world.start(np.random.default_rng(seed), count)
    block = world.block(count)
    started.fill(block)
    return block, started.theta


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("link", ["identity", "logistic", "probit"])
def test_arms_in_the_ball_means_by_the_link_and_rewards_in_range(name, link):
    kind = registry.load(*registry.ENVIRONMENTS[name])
    size = {"dim": 5, "arms": 5}
    world = kind(**size, radius=2.0, link=link)
    block, theta = rounds(world)
    assert np.linalg.norm(theta) == pytest.approx(2.0)
    assert np.linalg.norm(block.arms, axis=2).max() <= 1 + 1e-12
    mean = {"identity": lambda z: z, "logistic": expit, "probit": stats.norm.cdf}[link]
    assert np.allclose(block.means, mean(block.arms @ theta))
    bandit = LinUCB(dim=5)
    bandit.play(block)
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
    assert stats.kstest(length**4, "uniform").pvalue > 1e-6
    assert stats.kstest(length**3, "uniform").pvalue < 1e-6
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
    assert np.allclose(values[:, -1], 0.75)
    assert values[:, -2].max() <= 0.75 - gap + 1e-12
    assert values[:, 0].min() >= -0.75 - 1e-12
    assert len(np.unique(block.means.argmax(axis=1))) == 6  # the best arm's place tells nothing


def test_rare_offers_the_good_direction_in_one_round_of_twenty():
    signs = set()
    for seed in range(12):
        block, theta = rounds(environments.rare(dim=5, arms=4, radius=3.0), seed=seed)
        along = np.abs(block.arms @ theta) > 0.79 * 3
        share = along.any(axis=1).mean()
        assert abs(share - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 2000)
        signs.add(np.sign((block.arms @ theta)[along].mean()))
    assert signs == {-1.0, 1.0}


def test_tail_has_a_constant_entry():
    block, theta = rounds(environments.tail(dim=5, arms=3))
    assert np.allclose(block.arms[:, :, 4], np.sqrt(0.5))
    assert theta[4] == pytest.approx(np.sqrt(0.5))
    assert block.means.min() >= 0
    assert block.means.max() <= 1


@pytest.mark.parametrize("options", [{}, {"constant": 0.0, "dim": 4}, {"base_rate": 0.03, "dim": 9}])
def test_clicks_are_as_rare_as_declared(options):
    """Five standard errors of the mean over rounds; log odds are linear in the arm, and the same with and without the
    constant."""
    world = environments.clicks(**options)
    block, _ = rounds(world, 4000)
    lengths = np.linalg.norm(block.arms, axis=2)
    assert lengths.max() <= 1 + 1e-12 and (block.arms[..., 0] == world.constant).all() == (world.constant > 0)
    each = block.means.mean(axis=1)
    assert abs(each.mean() - world.base_rate) < 5 * each.std() / np.sqrt(4000) + 0.05 * world.base_rate
    arms, odds = block.arms.reshape(-1, world.dim), logit(block.means.ravel())
    weights, *_ = np.linalg.lstsq(np.column_stack([np.ones(len(arms)), arms]), odds, rcond=None)
    assert np.allclose(np.column_stack([np.ones(len(arms)), arms]) @ weights, odds, atol=1e-6)
    slope = weights[1 + (world.constant > 0) :]
    assert np.linalg.norm(slope) * np.sqrt(1 - world.constant**2) == pytest.approx(2.5)
    assert world.rewards == (0.0, 1.0)


@pytest.mark.parametrize("wrong", [{"base_rate": 0.0}, {"base_rate": 0.6}, {"constant": 1.0}, {"dim": 1}])
def test_clicks_refuse(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        environments.clicks(**wrong)


def test_skewed_saturates_the_link_in_half_of_the_rounds():
    block, _ = rounds(environments.skewed())
    high = block.arms[:, 0, 0] > 0
    assert abs(high.mean() - 0.5) < 0.06
    spread = block.means.max(axis=1) - block.means.min(axis=1)
    assert spread[high].mean() < 0.8 * spread[~high].mean()


@pytest.mark.parametrize(("kind", "arms", "dim"), [(environments.digits, 10, 60), (environments.breast_cancer, 2, 12)])
def test_real_data(kind, arms, dim):
    world = kind()
    assert (world.arms, world.dim) == (arms, dim)
    block, theta = rounds(world, 300)
    assert theta is None
    assert np.linalg.norm(block.arms, axis=2).max() <= 1 + 1e-12
    assert (block.means.sum(axis=1) == 1).all()
    with pytest.raises(ValueError, match=f"Expected dim={dim}"):
        kind(dim=3)


def test_gaussian_rewards_are_for_identity_links():
    block, _ = rounds(environments.ball(dim=2, noise="gaussian"))
    assert stats.kstest(block.noise, "norm").pvalue > 1e-6
    with pytest.raises(ValueError, match="link='identity'"):
        environments.ball(link="logistic", noise="gaussian")


@pytest.mark.parametrize(
    "wrong",
    [{"dim": 0}, {"arms": 0}, {"radius": -1.0}, {"link": "cauchit"}, {"noise": "cauchy"}, {"dim": 2.5}],
)
def test_bad_settings(wrong):
    with pytest.raises(ValueError, match="Expected"):
        environments.ball(**wrong)


def log(tmp_path, suffix, count=4000, seed=0):
    """A log of a skewed policy over 3 arms with contexts of 2 numbers; arm 2 is good where x0 > 0, arm 0 else."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.7, 0.7, (count, 2))
    probabilities = np.array([0.2, 0.3, 0.5])
    action = rng.choice(3, count, p=probabilities)
    best = np.where(x[:, 0] > 0, 2, 0)
    reward = (rng.random(count) < np.where(action == best, 0.9, 0.1)).astype(float)
    frame = pl.DataFrame(
        {
            "x0": x[:, 0],
            "x1": x[:, 1],
            "action": action,
            "reward": reward,
            "propensity": probabilities[action],
        }
    )
    path = tmp_path / f"log{suffix}"
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_replay_learns_from_a_log(tmp_path, suffix):
    world = environments.replay(file=str(log(tmp_path, suffix)))
    assert (world.arms, world.dim, world.rounds) == (3, 6, 4000)
    result = simulate([Spec(LinUCB, width_scale=0.2)], world, horizon=10_000, runs=3, seed=0)
    (row,) = result.rows
    assert row["regret_mean"] is None
    assert row["horizon"] == 4000
    used = result.runs[0].rounds
    # kept with probability 0.2 / p each: 0.6 of the rounds; a third of those agree, or any policy's share
    assert abs(used - 4000 * 0.6 / 3) < 6 * np.sqrt(800)
    assert row["reward_mean"] > 0.6  # uniform play has 0.37
    assert abs(row["uniform"]["reward_mean"] - 0.1 - 0.8 / 3) < 0.05
    assert f"{row['rounds_mean']:.0f} of 4000" in result.table() and "regret" not in result.table()


def test_replay_of_uniform_play_is_unbiased(tmp_path):
    """Rejection makes a skewed log uniform: a fixed arm's replayed mean is its true mean (5 standard errors)."""
    world = environments.replay(file=str(log(tmp_path, ".parquet", 20_000)))
    world_rounds, _ = rounds(world, 20_000)
    kept = world_rounds.logged < 3  # 0.2 / p of the rounds: 12000 or so; what follows never counts
    assert abs(kept.sum() - 12_000) < 400
    for arm in range(3):
        assert abs((world_rounds.logged[kept] == arm).mean() - 1 / 3) < 0.025
    assert abs(world_rounds.means[world_rounds.logged == 1, 0].mean() - 0.1) < 5 * np.sqrt(0.09 / 3800)


def test_replay_with_an_arm_set_a_round(tmp_path):
    rng = np.random.default_rng(1)
    arms = rng.uniform(-0.5, 0.5, (50, 4, 3))
    path = tmp_path / "arms.parquet"
    pl.DataFrame({"arms": arms.tolist(), "action": [0] * 50, "reward": [2.0] * 50}).write_parquet(path)
    world = environments.replay(file=str(path))
    assert (world.arms, world.dim, world.rewards) == (4, 3, (2.0, 3.0))


def test_actions_may_have_names(tmp_path):
    """The same log with names in the order of the numbers is the same environment."""
    numbered, named = log(tmp_path, ".csv"), tmp_path / "named.csv"
    names = pl.Series(["coffee", "tea", "water"])
    frame = pl.read_csv(numbered)
    frame.with_columns(action=names.gather(frame["action"])).write_csv(named)
    a, b = (rounds(environments.replay(file=str(file)))[0] for file in (numbered, named))
    assert (a.logged == b.logged).all() and (a.arms == b.arms).all()


def test_a_log_that_no_round_agrees_with_has_no_reward(tmp_path):
    path = tmp_path / "one.parquet"
    pl.DataFrame({"arms": [[[1.0], [-1.0]]], "action": [1], "reward": [1.0]}).write_parquet(path)
    runs = simulate([Spec(LinUCB)], environments.replay(file=str(path)), horizon=1, runs=20, seed=0).runs
    assert {(run.rounds, run.reward_mean) for run in runs} <= {(0, None), (1, 1.0)}
    assert any(run.rounds == 0 for run in runs)


def test_actions_outside_of_the_arms(tmp_path):
    path = tmp_path / "arms.parquet"
    for action in ([2], ["tea"]):
        pl.DataFrame({"arms": [[[1.0], [-1.0]]], "action": action, "reward": [1.0]}).write_parquet(path)
        with pytest.raises(ValueError, match=r"Expected actions in 0\.\.1 .* places in `arms`"):
            environments.replay(file=str(path))


def test_bad_logs(tmp_path):
    path = tmp_path / "bad.csv"
    with pytest.raises(ValueError, match="does not exist"):
        environments.replay(file=str(path))
    (tmp_path / "no.parquet").write_text("no table")
    with pytest.raises(ValueError, match="cannot be read as one"):
        environments.replay(file=str(tmp_path / "no.parquet"))
    for frame, message in (
        ({"x0": [0.1]}, "columns action and reward"),
        ({"action": [0], "reward": [1.0]}, "feature columns"),
        ({"x0": [0.1], "action": [-1], "reward": [1.0]}, "a negative one or a fraction"),
        ({"x0": [0.1] * 2, "action": [1, 2], "reward": [1.0] * 2}, r"each of the actions 0\.\.2 .* got gaps"),
        ({"x0": [0.1] * 2, "action": [0, None], "reward": [1.0] * 2}, "an action each"),
        ({"x0": [0.1], "action": [0], "reward": ["secret"]}, r"numbers in the column reward of \S+, got others"),
        ({"x0": [0.1], "action": [0], "reward": [1.0], "propensity": [0.0]}, r"propensities in \(0, 1\]"),
        ({"x0": [0.1, 4.0], "action": [0, 0], "reward": [1.0, 0.0]}, "norm at most 1 .* got row 1"),
    ):
        pl.DataFrame(frame).write_csv(path)
        with pytest.raises(ValueError, match=message):
            environments.replay(file=str(path))
