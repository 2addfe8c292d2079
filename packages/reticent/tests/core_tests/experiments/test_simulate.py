"""The runner: same worlds for all, resumable, rows that say what they are."""

import math

import numpy as np
import pytest

from reticent import Budget, JointGLM, LinUCB, Spec, Uniform, environments, simulate
from reticent.experiments.runner import run_once

WORLD = environments.ball(dim=3, arms=5)
SPECS = [Spec(LinUCB), Spec(JointGLM, budget=Budget(1.0, 1e-3))]


def test_same_seed_same_result_whatever_the_number_of_workers():
    a = simulate(SPECS, WORLD, horizon=700, runs=3, seed=5, workers=1)
    b = simulate(SPECS, WORLD, horizon=700, runs=3, seed=5, workers=4)
    c = simulate(SPECS, WORLD, horizon=700, runs=3, seed=6)
    regrets = [[run.regret for run in result.runs] for result in (a, b, c)]
    assert regrets[0] == regrets[1] != regrets[2] and len({run.regret for run in a.runs}) == 6


def test_rows_sum_up_the_runs():
    result = simulate(SPECS, WORLD, horizon=500, runs=4, seed=0)
    row = result.rows[1]
    regret = np.array([run.regret for run in result.runs if run.bandit == "joint-glm"])
    assert row["regret_mean"] == pytest.approx(regret.mean())
    assert row["regret_se"] == pytest.approx(regret.std(ddof=1) / 2)
    assert row["regret_p95"] == pytest.approx(np.quantile(regret, 0.95)) and row["regret_max"] == regret.max()
    assert (row["runs"], row["epsilon"], row["delta"], row["horizon"]) == (4, 1.0, 1e-3, 500)
    assert row["us_per_round"] > 0
    run = result.runs[0]
    assert run.at[-1] == 500 and run.curve[-1] == pytest.approx(run.regret) and (np.diff(run.curve) >= 0).all()
    assert "joint-glm ε=1" in result.table()


def test_the_table_says_what_was_run_and_what_uniform_play_costs():
    other = environments.gap(dim=4, arms=7, gap=0.2)
    label = "a bandit with a name of more words than a line has room for, which takes two lines, as names may"
    table = simulate([Spec(LinUCB, label=label), *SPECS[1:]], [WORLD, other], horizon=300, runs=2, seed=9).table()
    first, second = table.split("\n\n")
    assert first.startswith("ball: d = 3, K = 5, T = 300, δ = 0.001, radius = 1, link = identity, seed 9, 2 runs\n")
    assert second.startswith("gap: d = 4, K = 7, T = 300,") and "gap = 0.2" in second
    assert max(map(len, table.splitlines())) <= 100 and "…" not in table
    assert all(word in table for word in label.split())
    assert all(part.splitlines()[-1].lstrip().startswith("uniform play, expected") for part in (first, second))


def test_uniform_play_has_the_regret_that_is_expected_of_it():
    """Five standard errors of what is played; and that of the worlds that were played, whichever bandit is asked."""
    result = simulate([Spec(Uniform), Spec(LinUCB)], WORLD, horizon=4000, runs=8, seed=2)
    played, learnt = result.rows
    assert abs(played["regret_mean"] - played["uniform"]["regret_mean"]) < 5 * played["regret_se"]
    assert played["uniform"] == learnt["uniform"] and learnt["regret_mean"] < played["uniform"]["regret_mean"] / 3
    assert abs(played["reward_mean"] - played["uniform"]["reward_mean"]) < 5 / np.sqrt(8 * 4000)
    assert "uniform play" not in result.table()  # it is there by itself


def test_no_noise_is_null_in_rows():
    row = simulate([Spec(JointGLM, budget=Budget(math.inf, 0.1))], WORLD, horizon=50, runs=1, seed=0).rows[0]
    assert row["epsilon"] is None and row["regret_se"] is None and row["label"] == "joint-glm no noise"


def test_budgets_that_look_alike_are_different_rows():
    specs = [Spec(JointGLM, budget=Budget(1.0, delta)) for delta in (1e-3, 1e-9)]
    rows = simulate(specs, WORLD, horizon=50, runs=2, seed=0).rows
    assert [(row["runs"], row["delta"]) for row in rows] == [(2, 1e-3), (2, 1e-9)]


def test_what_the_run_settles_is_no_option():
    for name, value in (("horizon", 5), ("source", None), ("pending", 3)):
        with pytest.raises(ValueError, match=f"got {name}"):
            Spec(JointGLM, **{name: value})


@pytest.mark.parametrize(
    "wrong", [{"horizon": 0}, {"runs": 0}, {"seed": -1}, {"seed": 1.5}, {"bandits": []}, {"environment": []}]
)
def test_bad_arguments(wrong):
    arguments = {"bandits": SPECS, "environment": WORLD, "horizon": 10, "runs": 1, "seed": 0} | wrong
    with pytest.raises(ValueError, match="Expected"):
        simulate(arguments.pop("bandits"), arguments.pop("environment"), **arguments)


def test_unknown_options_and_unbounded_rewards_are_refused_before_any_work():
    with pytest.raises(ValueError, match="Expected options of LinUCB .* got budget"):
        Spec(LinUCB, budget=Budget(1, 0.1))
    with pytest.raises(ValueError, match="finite numbers"):
        simulate([SPECS[1]], environments.ball(noise="gaussian"), horizon=10, runs=1, seed=0)
    with pytest.raises(ValueError, match=r"Expected rewards in \[0, 1\]"):
        simulate([Spec(LinUCB, rewards=(0.0, 1.0))], WORLD, horizon=10, runs=1, seed=0)


def test_a_private_bandit_learns():
    """Regret over 20000 rounds at epsilon = 1 is less than a third of uniform play's, in each of three worlds."""
    for world in (
        environments.ball(dim=3, arms=10),
        environments.fixed(dim=3, arms=10),
        environments.gap(dim=5, arms=25),
    ):
        run = run_once(Spec(JointGLM, budget=Budget(1.0, 1e-3)), world, 20_000, 3, 0, lambda _: None)
        block = world.block(2000)
        world.start(np.random.default_rng(0), 20_000).fill(block)
        uniform = (block.means.max(axis=1) - block.means.mean(axis=1)).mean() * 20_000
        assert run.regret < uniform / 3
