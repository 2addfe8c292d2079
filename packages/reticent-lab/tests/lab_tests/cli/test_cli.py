"""The lab's commands."""

import json

import pytest

from core_tests.cli.test_cli import reticent
from lab_tests.commands import run
from reticent import cli
from reticent_lab.cli.benching import BENCHES
from tools.bench import dimension, noise


def test_bench_dimension(capsys, monkeypatch):
    monkeypatch.setattr(dimension, "DIMS", (20,))
    rows = json.loads(run(capsys, monkeypatch, "bench", "dimension", "--json")[1])["rows"]
    assert [row["numbers"] for row in rows] == [20 * 21 // 2 + 20, 20]
    assert all(row["round_us"] > 0 and row["release_ms"] > 0 and row["noise_ms"] > 0 for row in rows)
    assert rows[0]["state_mb"] > rows[1]["state_mb"] > 0 and "dense" in dimension.render(rows)


def test_bench_noise(capsys, monkeypatch):
    monkeypatch.setattr(noise, "HORIZONS", (1000, 10_000))
    code, out, _ = run(capsys, monkeypatch, "bench", "noise", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0
    buffered = next(r for r in rows if r["mechanism"] == "buffered" and r["horizon"] == 10_000)
    assert buffered["lower_bound"] < buffered["worst_std"] < 1.12 * buffered["lower_bound"]
    longest = [row | {"horizon": 10**8, "releases": 10**8, "floats_per_coordinate": 10**8} for row in rows]
    assert max(map(len, noise.render(longest).splitlines())) <= 100


def test_help_tells_of_every_bench():
    command = next(each for each in cli.app.registered_commands if each.name == "bench")
    assert all(f"({name})" in command.help for name in BENCHES)


@pytest.mark.parametrize(("arguments", "message"), [
    (["sweep", "lin-ucb", "--env", "ball", "--plot", "a.jpg"], "Expected a .png, .svg or .pdf file to plot to"),
    (["sweep", "lin-ucb", "--env", "ball", "--engine", "spark"], "Expected engine to be one of local, ray, got"),
    (["bench", "weight"], "Expected a bench, got 'weight'. There are speed"),
])  # fmt: skip
def test_errors_say_what_was_expected(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, told = run(capsys, monkeypatch, *arguments)
    assert code == 1 and message in " ".join(told.split()) and out == ""


def test_sweep_table_plot_and_rows(tmp_path):
    done = reticent(
        "sweep", "lin-ucb", "--env", "ball", "--link", "probit", "--radius", "3", "--horizon", "200", "--runs", "2",
        "--plot", str(tmp_path / "a.png"), "--out", str(tmp_path / "rows"),
    )  # fmt: skip
    assert "lin-ucb" in done.stdout and (tmp_path / "a.png").exists()
    assert (tmp_path / "rows" / "result.parquet").exists()


@pytest.mark.parametrize("arguments", [
    ["sweep", "lin-ucb", "--env", "ball", "--plot", "{file}/a.png"],
    ["sweep", "lin-ucb", "--env", "ball", "--plot", "{folder}/b.png"],
    ["sweep", "lin-ucb", "--env", "ball", "--out", "{file}/rows"],
    ["sweep", "lin-ucb", "--env", "ball", "--out", "/proc/rows"],
    ["sweep", "lin-ucb", "--env", "replay:file={log}", "--plot", "a.png"],
    ["audit", "tree", "--plot", "/proc/a.png"],
])  # fmt: skip
def test_where_nothing_can_be_written_is_said_before_the_run(arguments, tmp_path, capsys, monkeypatch):
    """A folder in a file, a picture that is a folder, a file system that takes no files; and a picture of nothing."""
    (tmp_path / "file").touch()
    (tmp_path / "b.png").mkdir()
    (tmp_path / "log.csv").write_text("x0,action,reward\n" + "0.5,0,1\n0.5,1,0\n" * 5)
    places = {"file": tmp_path / "file", "folder": tmp_path, "log": tmp_path / "log.csv"}
    monkeypatch.setattr("reticent.experiments.runner.run_once", lambda *_: pytest.fail("It ran."))
    monkeypatch.setattr("reticent_lab.audit.carry_out_all", lambda *_, **__: pytest.fail("It ran."))
    code, _, told = run(capsys, monkeypatch, *(argument.format(**places) for argument in arguments))
    assert code == 1 and told.startswith("Expected")
