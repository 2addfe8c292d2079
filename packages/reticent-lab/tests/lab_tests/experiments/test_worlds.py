"""`reticent bench worlds`: what it counts, its numbers, and the bandit that it compares with."""

import json

import numpy as np
import pytest
from numpy.random import SeedSequence

from lab_tests.commands import run
from reticent import Budget, JointGLM, Spec, Uniform, environments, simulate
from reticent_lab.environments.random import random
from tools import bench
from tools.bench import worlds
from tools.bench.commit import ExploreThenCommit

BUDGET = Budget(4.0, 1e-2)


@pytest.fixture(scope="module")
def rows():
    return worlds.measure(lambda _: None, numbers="tuning", quick=True, runs=2, bandits=[Spec(JointGLM, budget=BUDGET)])


def test_rows_and_their_summary(rows):
    labels = ["joint-glm ε=4", "mle-ucb", "explore, then commit", "uniform"]
    assert [row["label"] for row in rows[:4]] == labels and len(rows) == 4 * worlds.QUICK
    assert {row["number"] for row in rows} == set(random.TUNING[: worlds.QUICK])
    for row in rows:
        assert row["reference"] == rows[rows.index(row) // 4 * 4 + 1]["regret"]
        assert row["single"] <= row["uniform"] and row["rounds"] <= worlds.QUICK_ROUNDS
        assert row["ratio"] == pytest.approx(row["regret"] / row["reference"])
    found = {each["label"]: each for each in worlds.summary(rows) if each["of"] == "in all"}
    counts = {each["of"]: each["worlds"] for each in worlds.summary(rows)}
    assert counts["in all"] == worlds.QUICK == counts["of fields"] + counts["of vectors"]
    assert found["mle-ucb"]["ratio_mean"] == found["mle-ucb"]["ratio_geometric"] == 1
    assert found["mle-ucb"]["of_uniform"] < found["uniform"]["of_uniform"] == pytest.approx(1, abs=0.15)
    assert found["uniform"]["lost_to_single"] > 0.5 > found["uniform"]["lost_to_uniform"]
    text = worlds.render(rows)
    assert "numbers 0 to 9, 2 runs each" in text and "10 worst worlds of joint-glm ε=4" in text
    json.dumps(rows, allow_nan=False)


def test_lost_means_by_more_than_two_standard_errors():
    row = {"label": "a", "ratio": 2.0, "regret": 10.0, "uniform": 9.0, "setting": {"schema": True}}
    rows = [row | {"lost_by": dict.fromkeys(worlds.RIVALS, by)} for by in (-3.0, 1.9, 2.1, 5.0)]
    assert worlds.summary(rows)[0]["lost_to_uniform"] == 0.5
    assert worlds._errors(np.array([1.0, 3.0])) == pytest.approx(2.0) and worlds._errors(np.array([1.0])) == 0


def test_late_worlds_give_a_deadline_to_those_that_can_have_one():
    late = next(world for n in random.TUNING if (world := random(number=n)).delay)
    spec = worlds._suited(Spec(JointGLM, budget=BUDGET), late)
    assert spec.options["window"] == late.delay.soon(0.9) and spec.options["default"] == 0
    assert spec.label == "joint-glm ε=4" and worlds._suited(Spec(Uniform), late).options == {}
    given = Spec(JointGLM, budget=BUDGET, window=7)
    assert worlds._suited(given, late).options == given.options
    fields = next(world for n in random.TUNING if (world := random(number=n)).features and not world.delay)
    told = worlds._suited(Spec(JointGLM, budget=BUDGET, link="identity"), fields)
    assert told.options == {"budget": BUDGET} and "identity" in told.label


def test_numbers_are_those_of_their_purpose():
    assert {name: (numbers[0], len(numbers)) for name, numbers in worlds.NUMBERS.items()} == {
        "tuning": (0, 100),
        "validation": (100, 100),
        "reporting": (200, 100),
    }
    with pytest.raises(ValueError, match="numbers to be one of tuning, validation, reporting"):
        worlds.measure(lambda _: None, numbers="all")


def test_on_the_command_line(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(worlds, "QUICK", 2)
    monkeypatch.setattr(worlds, "QUICK_ROUNDS", 100)
    line = f"bench worlds --numbers tuning --quick --bandit uniform --epsilon 2 --out {tmp_path} --json"
    for _ in range(2):  # the second finds all of it
        shown = json.loads(run(capsys, monkeypatch, *line.split())[1])
        assert len(shown["rows"]) == 8 and shown["summary"][0]["label"] == "uniform"
        assert len(list((tmp_path / "runs").iterdir())) == 2 * 2 * 3  # the uniform play of both is the same
    code, _, told = run(capsys, monkeypatch, "bench", "noise", "--quick")
    assert code == 1 and "option of bench worlds" in told and bench.beside("noise", []) == {}


def test_explore_then_commit():
    """The best of three fixed arms, after each was played equally often."""
    world = environments.basis(dim=3, arms=3, radius=2.0, link="logistic")
    spec = Spec(ExploreThenCommit, budget=Budget(8.0, 1e-2))
    (row,) = simulate([spec], world, horizon=3000, runs=5, seed=0).rows
    assert row["regret_mean"] < 0.5 * row["uniform"]["regret_mean"]
    bandit, block = spec.build(world, 3000, SeedSequence(0)), world.block(400)
    world.start(np.random.default_rng(0), 3000).fill(block)
    bandit.play(block)
    assert block.index[:300].tolist() == [0, 1, 2] * 100 and len(set(block.index[301:])) == 1
    assert not bandit.privacy.private
