"""`python -m tools.fields`: shares of what can be gained."""

import sys
from pathlib import Path

import pytest
from tools import fields

from tacit import Spec, Uniform, environments, simulate
from tacit_papers.references.mle_ucb import MLEUCB


def test_uniform_play_gains_nothing_and_a_good_bandit_most():
    """Of 2000 people in 4 worlds: uniform play 0 within 10 points, learning without privacy much more."""
    result = simulate([Spec(Uniform), Spec(MLEUCB)], environments.messages(fields=1), horizon=2000, runs=4, seed=0)
    nothing, learnt = (
        [fields.share(run) for run in result.runs if run.bandit == name] for name in ("uniform", "mle-ucb")
    )
    assert len(nothing) == len(learnt) == 4 and abs(sum(nothing) / 4) < 10 and min(learnt) > 20
    assert fields.summed([1.0, 3.0]) == "2 ± 1" and fields.summed([3.2]) == "3"


def test_the_page_has_the_rows_that_are_printed():
    page = (Path(fields.__file__).parents[1] / "docs/measurements/fields.md").read_text()
    for name, (make, people) in fields.TABLES.items():
        rows = list(make())
        assert len({(row.world, row.bandit) for row in rows}) == len(rows)
        assert all(f"| {row.world} | {row.bandit} |" in page for row in rows)
        assert fields.head(people) in page and f"python -m tools.fields {name}" in page


def test_the_command(monkeypatch, capsys):
    some = (list(fields.by_people())[5:7], (300,))
    monkeypatch.setitem(fields.TABLES, "people", (lambda: some[0], some[1]))
    monkeypatch.setattr(sys, "argv", ["tools.fields", "people", "--runs", "2", "--seed", "1"])
    fields.main()
    out, told = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "| world | bandit | 300 people |" and lines[2].startswith("| one field | by fields, ε = 1 | ")
    assert len(lines) == 5 and "row 2 of 2" in told
    monkeypatch.setattr(sys, "argv", ["tools.fields", "weather"])
    with pytest.raises(SystemExit):
        fields.main()
