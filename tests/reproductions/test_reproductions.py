"""Reproductions run end to end on a small scale, and their findings can come out either way."""

import json

import pytest

from tacit.reproductions import shariff_d1, shariff_d2, shariff_d3, table2


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for module in (shariff_d1, shariff_d2, shariff_d3):
        monkeypatch.setattr(module, "QUICK", 2000)


@pytest.mark.parametrize("module", [shariff_d1, shariff_d2, shariff_d3])
def test_end_to_end(module, tmp_path):
    shares = []
    outcome = module.reproduce(quick=True, runs=2, out=tmp_path, progress=shares.append)
    outcome.write(tmp_path)
    assert shares[-1] == pytest.approx(1.0)
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    document = json.loads((tmp_path / "outcome.json").read_text())
    assert document["rows"]
    assert {f["seen"] for f in document["findings"]} <= {True, False}
    assert "What is expected" in outcome.text()
    assert max(map(len, outcome.table.splitlines())) <= 100


def test_table2_fits_a_terminal():
    """With numbers of the largest size in every place."""
    row = {"regret_mean": 2345.6, "regret_se": 17.7, "paper": 2323.0}
    text = table2._table([row | {"label": spec.label} for spec, _ in table2.specs(2.0) for _ in table2.RADII])
    assert "joint-glm-rare published ε=8" in text and text.count("2,346 ± 17.7") == 57
    assert max(map(len, text.splitlines())) <= 100


def test_slope_of_known_points():
    from types import SimpleNamespace

    runs = [
        SimpleNamespace(bandit="lin-ucb", setting={"noise": "bounded", "dim": d}, regret=3.0 * d**1.7 * factor)
        for d in (4, 8, 16)
        for factor in (0.99, 1.01)
    ]
    value, error = shariff_d1.slope(SimpleNamespace(runs=runs), "lin-ucb", "bounded")
    assert value == pytest.approx(1.7, abs=0.01)
    assert 0 < error < 0.02
