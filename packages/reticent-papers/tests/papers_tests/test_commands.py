"""The commands of this package, and its bandits in those of the core."""

import re
from pathlib import Path

import pytest

import reticent_papers
from core_tests.cli.test_start_up import COMMAND, HEAVY, loaded
from lab_tests.commands import run
from reticent import registry


def test_bounds_are_drawn(capsys, monkeypatch, tmp_path):
    picture = tmp_path / "a.png"
    world = ["--env", "ball", "--link", "probit", "--radius", "3", "--horizon", "200", "--runs", "2"]
    more = ["--bound", "joint-reweighted:constant=0.01", "--plot", str(picture)]
    code, text, _ = run(capsys, monkeypatch, "bounds", "lin-ucb", *world, *more)
    assert code == 0 and "lin-ucb" in text and picture.stat().st_size > 10_000


def test_what_is_planned_has_a_horizon_where_one_is_needed(capsys, monkeypatch):
    for bandit in ("shariff-lin-ucb", "joint-glm-rare", "joint-reweighted", "shuffle-lin-ucb", "local-combiner"):
        assert "; planned for 10000 choices\n" in run(capsys, monkeypatch, "privacy", bandit)[1]
    arguments = ("shariff-lin-ucb:noise=wishart", "--epsilon", "1", "--delta", "0.1")
    text = run(capsys, monkeypatch, "privacy", *arguments)[1]
    assert "degrees of freedom" in text and "experiments only" in text  # Wishart noise cannot be secure


@pytest.mark.parametrize(("arguments", "message"), [
    (["bounds", "lin-ucb", "--env", "ball", "--plot", "a.png", "--bound", "no"], "Expected a bound, got 'no'."),
    (["bounds", "lin-ucb", "--env", "ball", "--plot", "a.png", "--bound", "linear-lower:x=1"], "an option"),
    (["reproduce", "table2", "--engine", "spark"], "Expected engine to be one of local, ray, got"),
    (["reproduce", "table99"], "Expected a reproduction, got 'table99'. Did you mean table2? There are"),
    (["reproduce", "table2", "--quick", "--out", "{file}"], "Expected"),
])  # fmt: skip
def test_errors_say_what_was_expected(arguments, message, capsys, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr("reticent.experiments.runner.run_once", lambda *_: pytest.fail("It ran."))
    code, text, told = run(capsys, monkeypatch, *(each.format(file=tmp_path / "file") for each in arguments))
    assert code == 1 and message in " ".join(told.split()) and not text


def test_reproducing_all_goes_through_the_registry(tmp_path, capsys, monkeypatch):
    few = {name: reticent_papers.REPRODUCTIONS[name] for name in ("shariff-figure1", "errata")}
    monkeypatch.setattr(reticent_papers, "REPRODUCTIONS", few)
    arguments = ["reproduce", "all", "--quick", "--runs", "5", "--out", str(tmp_path)]
    code, text, told = run(capsys, monkeypatch, *arguments)
    assert code == 0 and text.count("Made by reticent reproduce ") == 2
    assert re.search(r"^errata +(\d+) of +\1 confirmed", text, re.MULTILINE)
    assert re.search(r"^shariff-figure1 +\d+ of +\d+ seen", text, re.MULTILINE)
    assert "errata-quick: outcome.json, outcome.txt" in " ".join(told.split()) and "figure.png" in told
    assert {path.name for path in tmp_path.iterdir()} == {"shariff-figure1-quick", "errata-quick"}
    again = run(capsys, monkeypatch, *arguments)[1]
    assert len(re.findall(r"^\S+ +as before", again, re.MULTILINE)) == 2 and "Made by" not in again


def test_a_reproduction_stops_when_its_minutes_are_over(tmp_path, capsys, monkeypatch):
    arguments = ["reproduce", "figure1-probit", "--quick", "--runs", "1", "--minutes", "0", "--out", str(tmp_path)]
    code, _, told = run(capsys, monkeypatch, *arguments)
    assert code != 0 and "the same command goes on from there" in " ".join(told.split())


def test_every_name_is_where_the_tables_say_and_documented():
    root = Path(__file__).parents[4]
    text = "".join(path.read_text() for path in [root / "README.md", *root.glob("docs/**/*.md")])
    for name, home in reticent_papers.REPRODUCTIONS.items():
        assert callable(registry.load(*home)) and f"`{name}" in text, name
    assert all(getattr(reticent_papers, name) is not None for name in reticent_papers.__all__)


def test_help_and_unknown_names_need_no_numbers():
    light = {"numpy", "scipy", "numba", "msgspec"}
    assert not loaded(COMMAND, "reproduce", "--help") & (HEAVY | light)
    assert not loaded(COMMAND, "reproduce", "table3") & (HEAVY | {"scipy", "numba"})
