"""The command line, as a person and as a program uses it."""

import json
import subprocess
import sys

import numpy as np
import pytest

from reticent import cli, environments, registry
from reticent.cli.parse import parse_bandit


def reticent(*arguments, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "reticent", *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == code, done.stderr
    return done


def test_simulate_json():
    out = reticent(
        "simulate", "lin-ucb", "joint-glm:growth=1.2", "--env", "gap:gap=0.2", "--env", "basis", "--dim", "4",
        "--arms", "4", "--epsilon", "1", "--epsilon", "inf", "--delta", "0.01", "--horizon", "300", "--runs", "2",
        "--json",
    ).stdout  # fmt: skip
    rows = json.loads(out)["rows"]
    assert len(rows) == 6
    keys = "bandit env epsilon delta horizon runs regret_mean regret_se regret_p95 regret_max us_per_round options"
    assert set(keys.split()) <= set(rows[0]) and [r["epsilon"] for r in rows[:3]] == [None, 1.0, None]
    assert rows[1]["options"] == {"growth": 1.2} and rows[0]["setting"]["gap"] == 0.2


def test_privacy():
    certificate = json.loads(reticent("privacy", "joint-glm", "--horizon", "1000000", "--json").stdout)
    assert certificate["epsilon"] == pytest.approx(1.0, rel=1e-6) and certificate["releases"][0]["sensitivity"] > 0
    assert certificate["private"] is True and certificate["distance"] == 0.0 and certificate["horizon"] == 1_000_000
    both = reticent("privacy", "joint-glm", "joint-glm:first=9", "--delta", "1e-6")
    assert both.stderr.strip() == "A person who is in all of them: epsilon 1.455 at delta 1e-06."


def test_a_plan_has_a_horizon_only_where_one_is_given_or_needed(capsys, monkeypatch):
    def shown(*arguments):
        monkeypatch.setattr(sys, "argv", ["reticent", "privacy", *arguments])
        with pytest.raises(SystemExit):
            cli.main()
        return capsys.readouterr().out

    weekly = "joint-glm:rounds=1,per=14000,forget=60000"
    text = shown(weekly)
    assert text.startswith("Privacy certificate: JointGLM\n") and "4 weeks: epsilon" in text
    text = shown(weekly, "--horizon", "10000")
    assert text.startswith("Privacy certificate: JointGLM; planned for 10000 choices\n") and "weeks: " not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "nothing", "--env", "ball"], "Expected a bandit, got 'nothing'."),
        (["simulate", "uniform:epsilon=1", "--env", "ball"], "Expected no epsilon with uniform, which has no budget"),
        (["simulate", "joint-glm:first=3,first=5", "--env", "ball"], "Expected each key once"),
        (["simulate", "lin-ucb", "--env", "nowhere"], "Expected an environment, got 'nowhere'."),
        (["simulate", "lin-ucb:width=1", "--env", "ball"], "Expected an option of lin-ucb"),
        (["simulate", "joint-glm:warm_start=x", "--env", "ball"], "Expected an option of joint-glm"),
        (["simulate", "joint-glm:features=x", "--env", "ball"], "Expected features to be a whole number"),
        (["simulate", "joint-glm:per=7", "--env", "ball"], "Expected rounds with per"),
        (["simulate", "lin-ucb:ridge=a", "--env", "ball"], "Expected ridge"),
        (["simulate", "lin-ucb:ridge", "--env", "ball"], "Expected NAME:key=value"),
        (["simulate", "joint-glm", "--env", "ball", "--epsilon", "0"], "Expected epsilon"),
        (["simulate", "joint-glm", "--env", "ball", "--epsilon", "x"], "Expected epsilon"),
        (["simulate", "joint-glm", "--env", "ball", "--delta", "1"], "Expected delta in [0, 1), got 1.0."),
        (["simulate", "lin-ucb", "--env", "ball", "--runs", "0"], "Expected runs"),
        (["privacy", "joint-glm", "--horizon", "0"], "Expected horizon"),
    ],
)
def test_errors_say_what_was_expected(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["reticent", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    captured = capsys.readouterr()
    assert message in " ".join(captured.err.split()) and captured.out == ""


def test_a_folder_that_fails_later_is_no_traceback(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["reticent", "serve", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1 and "Expected" in capsys.readouterr().err


def test_usage_errors_and_help(capsys, monkeypatch):
    for arguments, code in ((["simulate"], 2), (["--help"], 0), (["simulate", "--help"], 0)):
        monkeypatch.setattr(sys, "argv", ["reticent", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == code
    capsys.readouterr()


def test_every_name_on_the_command_line_is_documented():
    """Bandits and environments by their docstrings, which the site's reference shows."""
    from pathlib import Path

    for home in registry.bandits().values():
        assert all(f"{word}:" in registry.load(*home).__doc__ for word in ("Guarantee", "Reference", "Departure")), home
    for home in registry.table("ENVIRONMENTS").values():
        assert vars(registry.load(*home))["__doc__"], home
    text = (Path(__file__).parents[5] / "README.md").read_text()
    text += "".join(path.read_text() for path in (Path(__file__).parents[5] / "docs").glob("**/*.md"))
    for command in cli.app.registered_commands:
        assert f"reticent {command.name}" in text


def test_a_bad_value_is_answered_in_words():
    for text, kind in (("radius=x", "a number"), ("rounds=x", "a whole number"), ("first=x", "a whole number or none")):
        with pytest.raises(ValueError, match=f"^Expected {text[:-2]} to be {kind}, got 'x'.$"):
            parse_bandit(f"joint-glm:{text}", [1.0], 1e-6)


@pytest.mark.parametrize("words", ["window=20", "window=1 day,per_day=20"])
def test_a_window_is_so_many_choices_or_a_time(words):
    (spec,) = parse_bandit(f"joint-glm:{words}", [1.0], 1e-6)
    assert spec.build(environments.ball(), 100, np.random.SeedSequence(0)).memory.window == 20


@pytest.mark.parametrize("key", ["tuning", "prior", "holdout", "budget", "horizon"])
def test_what_no_word_can_say_is_refused_and_not_offered(key):
    with pytest.raises(
        ValueError, match=f"^Expected an option of joint-glm .*, got '{key}', which no word can say.$"
    ) as found:
        parse_bandit(f"joint-glm:{key}=foo", [1.0], 1e-6)
    offered = str(found.value).partition("(")[2].partition(")")[0].split(", ")
    assert key not in offered and {"model", "epsilon", "link", "rounds", "per"} <= set(offered)


def test_a_delta_of_one_bandit_is_a_number():
    with pytest.raises(ValueError, match="Expected delta to be a number, got 'x'"):
        parse_bandit("joint-glm:delta=x", [1.0], 1e-6)
