"""The local paper's figure and table run end to end on a small scale, and the bench prints what it measures."""

import json

import pytest

from tacit.bench import local as bench
from tacit.reproductions import ldp_figure1, ldp_table1


@pytest.mark.parametrize("module", [ldp_figure1, ldp_table1])
def test_end_to_end(module, tmp_path, monkeypatch):
    monkeypatch.setattr(ldp_figure1, "QUICK", 400)
    monkeypatch.setattr(ldp_table1, "QUICK", 500)
    outcome = module.reproduce(quick=True, runs=1, out=tmp_path)
    outcome.write(tmp_path)
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    document = json.loads((tmp_path / "outcome.json").read_text())
    assert document["rows"] and {f["seen"] for f in document["findings"]} <= {True, False}


def test_published_noise_gives_another_epsilon():
    assert "10 -> 17.9" in ldp_figure1.true_epsilons(1000)["OnlineUCB"]


def test_the_bench_shows_the_smaller_noise_of_the_cap(monkeypatch):
    monkeypatch.setattr(bench, "DIMS", (5,))
    monkeypatch.setattr(bench, "EPSILONS", (1.0,))
    rows = bench.measure(lambda share: None)
    cap, hemisphere, gaussian = (row["std"] for row in rows)
    assert cap < hemisphere < gaussian
    assert "PrivUnit" in bench.render(rows)
