"""`reticent bench serve` measures what it says: three servers, each of which answers."""

import pytest

from tools import bench
from tools.bench import serve


@pytest.mark.full
def test_every_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "SECONDS", 0.3)
    monkeypatch.setattr(serve, "WARM", 0.1)
    monkeypatch.setattr(serve, "KINDS", {"choose + reward": 1})
    done: list[float] = []
    rows, text = bench.run("serve", done.append)
    assert done[-1] == 1
    assert [row["where"] for row in rows] == ["durable", "in memory, not durable", "no database, not private"]
    for row in rows:
        assert row["where"] in text
        assert row["rows_per_second"] > 1 and row["cpu_us_per_row"] > 0 and 0 < row["p50_ms"] <= row["p99_ms"]


@pytest.mark.full
def test_workers_on_postgres_answer_and_a_group_is_one_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "SECONDS", 0.3)
    monkeypatch.setattr(serve, "WARM", 0.1)
    monkeypatch.setattr(serve, "KINDS", {"choose": 1})
    rows, text = bench.run("serve", lambda part: None, postgres=True, workers=2, network_delay=0.5)
    assert [row["what"] for row in rows] == ["choose", "the store, groups of 64"]
    assert {row["where"] for row in rows} == {"PostgreSQL, 2 workers, 0.5 ms"} and rows[1]["trips_per_group"] < 1.1
    assert "trips a group" in text and all(row["rows_per_second"] > 1 for row in rows)
