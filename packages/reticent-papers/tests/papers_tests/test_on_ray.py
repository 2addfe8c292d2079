"""A reproduction on Ray, to the same bits. It needs the extra `ray`: `make test-ray`."""

import pytest

from lab_tests.experiments.test_ray_sweeps import same
from reticent_papers import outcome as reproductions

__all__, pytestmark = ["two_workers"], [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]


def test_a_reproduction(tmp_path, monkeypatch):
    monkeypatch.setattr("reticent_papers.reproductions.shariff_d2.QUICK", 500)
    settings = {"quick": True, "runs": 1}
    alone = reproductions.run("shariff-d2", **settings, out=tmp_path / "local")
    together = reproductions.run("shariff-d2", **settings, out=tmp_path / "ray", engine="ray")
    same(alone.result.runs, together.result.runs)
