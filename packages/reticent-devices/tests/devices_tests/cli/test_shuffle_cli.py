"""The shuffle model from the command line, and the optimal design that devices and simulation share."""

import json
import sys

import numpy as np
import pytest

from devices_tests.roles.fleet import Fleet, _rounded
from devices_tests.roles.test_shuffle_protocol import BOARD, SERVER
from reticent import cli
from reticent_devices.kernels.design import chances
from reticent_devices.roles import designs
from tools.bench import shuffle as bench


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["reticent", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code, capsys.readouterr()


def test_bench(capsys, monkeypatch):
    for name, value in {"USERS": (1000,), "DIMS": (2,), "EPSILONS": (1.0,), "DELTAS": (1e-2,), "TIMED": 3000}.items():
        monkeypatch.setattr(bench, name, value)
    code, out = run(capsys, monkeypatch, "bench", "shuffle", "--json")
    rows = json.loads(out.out)["rows"]
    assert code == 0 and 1 <= rows[0]["noise_ratio"] <= 1.05 and rows[1]["noise_ratio"] > 100
    assert rows[2]["timed_users"] == 3000
    text = bench.render(rows)
    assert "published" in text and max(map(len, text.splitlines())) <= 100


def test_certificate(capsys, monkeypatch):
    code, out = run(capsys, monkeypatch, "privacy", "shuffle-newton:dropout=0.1,radius=2,range=0/3", "--json")
    certificate = json.loads(out.out)
    assert code == 0 and certificate["model"] == "shuffle" and certificate["private"] is True
    assert certificate["epsilon"] <= 1 + 1e-6 and certificate["releases"][0]["trials"] > 0


def test_a_fleet_has_the_law_of_a_device():
    """Mean and variance over 20 000 reports, five standard errors."""
    plan, vector = SERVER.analyzer.plan(0), np.array([0.3, -0.2, 0.1, 0.05, -0.4])
    rows = np.frombuffer(Fleet(BOARD).reports(np.tile(vector, (20_000, 1))), SERVER_RECORD)
    counts = rows["counts"].astype(np.float64)
    share = vector * plan.scale - np.floor(vector * plan.scale)
    variance = plan.trials / 4 + share * (1 - share)
    middle = plan.reach + plan.trials / 2 + vector * plan.scale
    assert (np.abs(counts.mean(axis=0) - middle) < 5 * np.sqrt(variance / 20_000)).all()
    assert abs(((counts - middle) ** 2).mean() / variance.mean() - 1) < 5 * np.sqrt(2 / counts.size)
    assert len(np.unique(rows["id"])) == 20_000


SERVER_RECORD = Fleet(BOARD).parameters.record


@pytest.mark.parametrize(("scaled", "chance"), [(0.5, 0.5 / 256), (-0.25, 1 - 0.25 / 256), (700.0, 188 / 256)])
def test_rounding_is_unbiased_beyond_the_first_eight_bits(scaled, chance):
    """Five standard errors of 400 000 draws; eight bits alone (0, 255 / 256, 188 / 256) are rejected."""
    count = 400_000
    up = _rounded(np.full((count, 1), scaled), np.int32) - np.floor(scaled / 256)
    assert set(np.unique(up)) == {0, 1} and abs(up.mean() - chance) < 5 * np.sqrt(chance * (1 - chance) / count)


def test_designs_agree_and_reach_twice_the_optimum():
    rng = np.random.default_rng(0)
    for trial in range(60):
        count, d = int(rng.integers(2, 30)), int(rng.integers(2, 7))
        arms = rng.standard_normal((count, d)) * (0.01 if trial % 3 else 1.0)
        arms[0] /= np.linalg.norm(arms[0])
        arms, alive = arms / max(1.0, np.linalg.norm(arms, axis=1).max()), rng.random(count) < 0.7
        alive[0] = True
        weights = np.empty(count)
        chances(arms, alive, weights)
        assert np.allclose(weights, designs.chances(arms, alive), atol=1e-9)
        assert weights.sum() == pytest.approx(1) and (weights >= 0).all() and not weights[~alive].any()
        matrix, kept = np.einsum("k,ki,kj->ij", weights, arms, arms), arms[alive]
        if np.linalg.matrix_rank(kept) == d:
            assert np.einsum("ki,ij,kj->k", kept, np.linalg.inv(matrix), kept).max() <= 2.1 * d
