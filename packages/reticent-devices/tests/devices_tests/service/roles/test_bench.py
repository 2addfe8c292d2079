"""`reticent bench roles` measures what it says, and a core takes enough reports: CPU time does not depend on who else
uses the machine."""

import pytest

from tools import bench
from tools.bench import roles


@pytest.mark.full
def test_a_core_takes_so_many_reports(monkeypatch):
    monkeypatch.setattr(roles, "SECONDS", 0.5)
    monkeypatch.setattr(roles, "WARM", 0.2)
    done = []
    rows, text = bench.run("roles", done.append)
    assert done[-1] == 1 and all(row["what"] in text for row in rows)
    alone, together, *_, day = rows
    assert alone["cpu_us_per_report"] < 1e6 / 1500 and together["cpu_us_per_report"] < 1e6 / 5000
    assert 0 < together["p50_ms"] <= together["p99_ms"]
    assert "computed" in day["what"] and day["cores"] == pytest.approx(together["cpu_us_per_report"] * 1e3 / 86400)
