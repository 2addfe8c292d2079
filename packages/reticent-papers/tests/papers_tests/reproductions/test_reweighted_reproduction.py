"""Findings on reweighted regression come out either way, and what is kept is what was measured."""

import json

import pytest

from reticent.experiments.result import Result
from reticent_papers.reproductions import reweighted
from reticent_papers.reproductions.findings import claims
from reticent_papers.reproductions.reweighted import errors


def test_what_is_kept_is_what_is_measured(tmp_path, monkeypatch):
    """What a second run would skip."""
    monkeypatch.setattr(errors, "COUNTS", (500, 1_000))
    cell = next(errors.cells(quick=True))
    monkeypatch.setattr(errors, "cells", lambda quick: iter([cell]))
    errors.measure_all(True, 1, tmp_path, None)
    assert json.loads(errors.place(tmp_path, cell, 0).read_text()) == errors.measure(cell, 0)


@pytest.mark.parametrize(("ours", "seen"), [(0.7, True), (0.8, False)])
def test_findings_come_out_either_way(ours, seen):
    cell = {"cloud": "ill", "link": "identity", "radius": 1.0, "model": "joint", "epsilon": 1.0, "rows": 100_000}
    found = [
        cell | {"estimator": name, "error": error, "runs": 20}
        for name, error in (
            ("reweighted", ours),
            ("ridge 1", 1.2),
            ("ridge 2", 1.0),
            ("no noise", 0.65),
            ("constant", 5.0),
        )
    ]
    wide = [{"estimator": "improper sgd, joint", "dim": d, "error": e} for d, e in ((10, 1.0), (100, 1.5), (1000, 1.2))]
    wide += [{"estimator": "zero", "dim": d, "error": 1.6} for d in (10, 100, 1000)]
    wide.append({"estimator": "ridge 1", "dim": 1000, "error": 2 * ours - 0.3})
    limits = claims("reticent_papers.reproductions.reweighted")
    ratio, flat, below = reweighted._findings(found, Result([]), wide, limits, quick=False)
    assert ratio.seen is seen and "(ridge 2)" in ratio.ours and "without noise 0.65000 (0.65)" in ratio.ours
    assert flat.seen and below.seen is not seen


def test_what_teaches_nothing_is_no_finding():
    """Alike in every dimension, and below the best ridge, because nothing was learnt."""
    cell = {"cloud": "ill", "link": "identity", "radius": 1.0, "model": "joint", "epsilon": 1.0, "rows": 100_000}
    named = (("reweighted", 0.7), ("ridge 1", 1.0), ("constant", 0.6))
    found = [cell | {"estimator": name, "error": error, "runs": 20} for name, error in named]
    wide = [{"estimator": name, "dim": 10, "error": 1.0} for name in ("improper sgd, joint", "zero")]
    limits = claims("reticent_papers.reproductions.reweighted")
    ratio, flat = reweighted._findings(found, Result([]), wide, limits, quick=False)
    assert not ratio.seen and not flat.seen


def test_slopes_of_known_points():
    found = [{"estimator": "reweighted", "rows": n, "error": 3 * n**-0.4} for n in (10, 100, 1000)]
    assert errors.slope(found, "reweighted", fewest=100) == pytest.approx(-0.4)
