"""The reproduction of reweighted regression runs end to end on a small scale; its findings can come out either way."""

import json

import pytest

from tacit.experiments.result import Result
from tacit.reproductions import reweighted
from tacit.reproductions.outcome import claims
from tacit.reproductions.reweighted import dimensions, errors, regret


def test_end_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "COUNTS", (500, 1_000, 2_000))
    monkeypatch.setattr(regret, "QUICK", 1_000)
    monkeypatch.setattr(dimensions, "DIMENSIONS", (10, 50, 100))
    monkeypatch.setattr(dimensions, "ROWS", 500)
    shares = []
    outcome = reweighted.reproduce(quick=True, runs=1, out=tmp_path, progress=shares.append)
    outcome.write(tmp_path)
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1.0)
    assert min((tmp_path / name).stat().st_size for name in ("figure.png", "regret.png")) > 10_000
    assert max(map(len, (tmp_path / "outcome.txt").read_text().splitlines())) <= 100
    document = json.loads((tmp_path / "outcome.json").read_text())
    played = {row["bandit"] for row in document["rows"]}
    assert {"joint-reweighted", "local-reweighted", "joint-glm", "local-irls", "joint-square-cb"} <= played
    estimators = {row["estimator"] for row in document["errors"]}
    assert {"reweighted", "no noise", "ridge 1", "newton 1", "improper sgd", "output perturbation"} <= estimators
    assert "log-log slopes of the error, N = 1e+03 to 2e+03" in outcome.text()
    cell = next(errors.cells(quick=True))
    kept = json.loads(errors.place(tmp_path, cell, 0).read_text())
    assert kept == errors.measure(cell, 0)  # what a second run would skip


@pytest.mark.parametrize(("ours", "seen"), [(0.7, True), (0.8, False)])
def test_findings_come_out_either_way(ours, seen):
    cell = {"cloud": "ill", "link": "identity", "radius": 1.0, "model": "joint", "epsilon": 1.0, "rows": 100_000}
    found = [
        cell | {"estimator": name, "error": error, "runs": 20}
        for name, error in (("reweighted", ours), ("ridge 1", 1.2), ("ridge 2", 1.0), ("no noise", 0.65))
    ]
    wide = [{"estimator": "improper sgd, joint", "dim": d, "error": e} for d, e in ((10, 1.0), (100, 1.5), (1000, 1.2))]
    wide.append({"estimator": "ridge 1", "dim": 1000, "error": 2 * ours - 0.3})
    limits = claims("tacit.reproductions.reweighted")
    ratio, flat, below = reweighted._findings(found, Result([]), wide, limits, quick=False)
    assert ratio.seen is seen and "(ridge 2)" in ratio.ours and "without noise 0.65000 (0.65)" in ratio.ours
    assert flat.seen and below.seen is not seen


def test_slopes_of_known_points():
    found = [{"estimator": "reweighted", "rows": n, "error": 3 * n**-0.4} for n in (10, 100, 1000)]
    assert errors.slope(found, "reweighted", fewest=100) == pytest.approx(-0.4)
