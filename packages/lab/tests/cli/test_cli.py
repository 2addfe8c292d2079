"""The lab's commands."""

import json
import sys

import pytest

from tacit import cli
from tacit_lab.cli.benching import BENCHES
from tests.cli.test_cli import tacit


def test_bench_dimension(capsys, monkeypatch):
    from tools.bench import dimension

    monkeypatch.setattr(dimension, "DIMS", (20,))
    monkeypatch.setattr(sys, "argv", ["tacit", "bench", "dimension", "--json"])
    with pytest.raises(SystemExit):
        cli.main()
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["numbers"] for row in rows] == [20 * 21 // 2 + 20, 10 * (3 + 2), 20]
    assert all(row["round_us"] > 0 and row["release_ms"] > 0 and row["noise_ms"] > 0 for row in rows)
    assert rows[0]["state_mb"] > rows[1]["state_mb"] > 0
    assert "dense" in dimension.render(rows)


def test_bench_noise(capsys, monkeypatch):
    from tools.bench import noise

    monkeypatch.setattr(noise, "HORIZONS", (1000, 10_000))
    monkeypatch.setattr(sys, "argv", ["tacit", "bench", "noise", "--json"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    buffered = next(r for r in rows if r["mechanism"] == "buffered" and r["horizon"] == 10_000)
    assert buffered["lower_bound"] < buffered["worst_std"] < 1.12 * buffered["lower_bound"]
    longest = [row | {"horizon": 10**8, "releases": 10**8, "floats_per_coordinate": 10**8} for row in rows]
    assert max(map(len, noise.render(longest).splitlines())) <= 100


def test_help_tells_of_every_bench():
    command = next(each for each in cli.app.registered_commands if each.name == "bench")
    assert all(f"({name})" in command.help for name in BENCHES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "lin-ucb", "--env", "ball", "--plot", "a.jpg"], "Expected a .png, .svg or .pdf file to plot to"),
        (["sweep", "lin-ucb", "--env", "ball", "--engine", "spark"], "Expected engine to be one of local, ray, got"),
        (["bench", "weight"], "Expected a bench, got 'weight'. There are speed"),
    ],
)
def test_errors_say_what_was_expected(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tacit", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    out, told = capsys.readouterr()
    assert stop.value.code == 1 and message in " ".join(told.split()) and out == ""


def test_sweep_table_plot_and_rows(tmp_path):
    done = tacit(
        "sweep", "lin-ucb", "--env", "ball", "--link", "probit", "--radius", "3", "--horizon", "200", "--runs", "2",
        "--plot", str(tmp_path / "a.png"), "--out", str(tmp_path / "rows"),
    )  # fmt: skip
    assert "lin-ucb" in done.stdout
    assert (tmp_path / "a.png").exists()
    assert (tmp_path / "rows" / "result.parquet").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["sweep", "lin-ucb", "--env", "ball", "--plot", "{file}/a.png"],
        ["sweep", "lin-ucb", "--env", "ball", "--plot", "{folder}/b.png"],
        ["sweep", "lin-ucb", "--env", "ball", "--out", "{file}/rows"],
        ["sweep", "lin-ucb", "--env", "ball", "--out", "/proc/rows"],
        ["sweep", "lin-ucb", "--env", "replay:file={log}", "--plot", "a.png"],
        ["audit", "tree", "--plot", "/proc/a.png"],
    ],
)
def test_where_nothing_can_be_written_is_said_before_the_run(arguments, tmp_path, capsys, monkeypatch):
    """A folder in a file, a picture that is a folder, a file system that takes no files; and a picture of nothing."""
    (tmp_path / "file").touch()
    (tmp_path / "b.png").mkdir()
    (tmp_path / "log.csv").write_text("x0,action,reward\n" + "0.5,0,1\n0.5,1,0\n" * 5)
    places = {"file": tmp_path / "file", "folder": tmp_path, "log": tmp_path / "log.csv"}
    monkeypatch.setattr("tacit.experiments.runner.run_once", lambda *_: pytest.fail("It ran."))
    monkeypatch.setattr("tacit_lab.audit.carry_out_all", lambda *_, **__: pytest.fail("It ran."))
    monkeypatch.setattr(sys, "argv", ["tacit", *(argument.format(**places) for argument in arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    assert capsys.readouterr().err.startswith("Expected")
