"""Environments are what they say."""

import numpy as np
import polars as pl
import pytest
from scipy.special import logit

from core_tests.environments.test_environments import rounds
from lab_tests.raising import raised
from reticent import LinUCB, Spec, simulate
from reticent_lab.environments import breast_cancer, clicks, digits, replay


@pytest.mark.parametrize("options", [{}, {"constant": 0.0, "dim": 4}, {"base_rate": 0.03, "dim": 9}])
def test_clicks_are_as_rare_as_declared(options):
    """Within five standard errors; log odds are linear in the arm, and the same with and without the constant."""
    world = clicks(**options)
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
    raised(ValueError, clicks, **wrong).match(next(iter(wrong)))


@pytest.mark.parametrize(("kind", "arms", "dim"), [(digits, 10, 60), (breast_cancer, 2, 12)])
def test_real_data(kind, arms, dim):
    world = kind()
    assert (world.arms, world.dim) == (arms, dim)
    block, theta = rounds(world, 300)
    assert theta is None and np.linalg.norm(block.arms, axis=2).max() <= 1 + 1e-12
    assert (block.means.sum(axis=1) == 1).all()
    raised(ValueError, kind, dim=3).match(f"Expected dim={dim}")


def log(tmp_path, suffix, count=4000, seed=0):
    """A log of a skewed policy over 3 arms with contexts of 2 numbers; arm 2 is good where x0 > 0, arm 0 else."""
    rng = np.random.default_rng(seed)
    x, probabilities = rng.uniform(-0.7, 0.7, (count, 2)), np.array([0.2, 0.3, 0.5])
    action, best = rng.choice(3, count, p=probabilities), np.where(x[:, 0] > 0, 2, 0)
    reward = (rng.random(count) < np.where(action == best, 0.9, 0.1)).astype(float)
    frame = pl.DataFrame(
        {"x0": x[:, 0], "x1": x[:, 1], "action": action, "reward": reward, "propensity": probabilities[action]}
    )
    path = tmp_path / f"log{suffix}"
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_replay_learns_from_a_log(tmp_path, suffix):
    world = replay(file=str(log(tmp_path, suffix)))
    assert (world.arms, world.dim, world.rounds) == (3, 6, 4000)
    result = simulate([Spec(LinUCB, width_scale=0.2)], world, horizon=10_000, runs=3, seed=0)
    (row,) = result.rows
    assert row["regret_mean"] is None and row["horizon"] == 4000
    used = result.runs[0].rounds
    # kept with probability 0.2 / p each: 0.6 of the rounds; a third of those agree, or any policy's share
    assert abs(used - 4000 * 0.6 / 3) < 6 * np.sqrt(800)
    assert row["reward_mean"] > 0.6  # uniform play has 0.37
    assert abs(row["uniform"]["reward_mean"] - 0.1 - 0.8 / 3) < 0.05
    assert f"{row['rounds_mean']:.0f} of 4000" in result.table() and "regret" not in result.table()


def test_replay_of_uniform_play_is_unbiased(tmp_path):
    """Rejection makes a skewed log uniform: a fixed arm's replayed mean is its true mean (5 standard errors)."""
    world = replay(file=str(log(tmp_path, ".parquet", 20_000)))
    world_rounds, _ = rounds(world, 20_000)
    kept = world_rounds.logged < 3  # 0.2 / p of the rounds: 12000 or so; what follows never counts
    assert abs(kept.sum() - 12_000) < 400
    for arm in range(3):
        assert abs((world_rounds.logged[kept] == arm).mean() - 1 / 3) < 0.025
    assert abs(world_rounds.means[world_rounds.logged == 1, 0].mean() - 0.1) < 5 * np.sqrt(0.09 / 3800)


def test_replay_with_an_arm_set_a_round(tmp_path):
    rng = np.random.default_rng(1)
    arms, path = rng.uniform(-0.5, 0.5, (50, 4, 3)), tmp_path / "arms.parquet"
    pl.DataFrame({"arms": arms.tolist(), "action": [0] * 50, "reward": [2.0] * 50}).write_parquet(path)
    world = replay(file=str(path))
    assert (world.arms, world.dim, world.rewards) == (4, 3, (2.0, 3.0))


def test_actions_may_have_names(tmp_path):
    """The same log with names in the order of the numbers is the same environment."""
    numbered, named = log(tmp_path, ".csv"), tmp_path / "named.csv"
    names, frame = pl.Series(["coffee", "tea", "water"]), pl.read_csv(numbered)
    frame.with_columns(action=names.gather(frame["action"])).write_csv(named)
    a, b = (rounds(replay(file=str(file)))[0] for file in (numbered, named))
    assert (a.logged == b.logged).all() and (a.arms == b.arms).all()


def test_a_log_that_no_round_agrees_with_has_no_reward(tmp_path):
    path = tmp_path / "one.parquet"
    pl.DataFrame({"arms": [[[1.0], [-1.0]]], "action": [1], "reward": [1.0]}).write_parquet(path)
    runs = simulate([Spec(LinUCB)], replay(file=str(path)), horizon=1, runs=20, seed=0).runs
    assert {(run.rounds, run.reward_mean) for run in runs} <= {(0, None), (1, 1.0)}
    assert any(run.rounds == 0 for run in runs)


def test_actions_outside_of_the_arms(tmp_path):
    path = tmp_path / "arms.parquet"
    for action in ([2], ["tea"]):
        pl.DataFrame({"arms": [[[1.0], [-1.0]]], "action": action, "reward": [1.0]}).write_parquet(path)
        raised(ValueError, replay, file=str(path)).match(r"Expected actions in 0\.\.1 .* places in `arms`")


def test_bad_logs(tmp_path):
    path = tmp_path / "bad.csv"
    raised(ValueError, replay, file=str(path)).match("does not exist")
    (tmp_path / "no.parquet").write_text("no table")
    raised(ValueError, replay, file=str(tmp_path / "no.parquet")).match("cannot be read as one")
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
        raised(ValueError, replay, file=str(path)).match(message)
