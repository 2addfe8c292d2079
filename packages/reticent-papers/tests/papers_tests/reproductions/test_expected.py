"""Every reproduction runs on a small scale and finds to six digits what it found before (`make expected`)."""

import json

import pytest

import reticent_papers
from papers_tests.reproductions import expected, keep
from reticent_papers.reproductions import table2


def test_every_reproduction_has_expected_values():
    assert set(expected.SMALL) == set(reticent_papers.REPRODUCTIONS)
    assert all(expected.read(name)["findings"] for name in reticent_papers.REPRODUCTIONS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] if name in expected.SLOW else []) for name in expected.SMALL]
)
def test_results_have_not_moved(name, tmp_path):
    shares = []
    found = json.loads(json.dumps(expected.measure(name, tmp_path, shares.append)))
    wanted = expected.read(name)
    assert list(found) == list(wanted)
    moved = expected.moved(found.pop("rows"), wanted.pop("rows"))
    assert not moved, f"{name} moved; if it was meant to, `make expected`"
    for key, value in wanted.items():
        assert found[key] == value, f"{name}: {key} moved; if it was meant to, `make expected`"
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1.0)
    if name != "errata":  # a table alone
        assert (tmp_path / "figure.png").stat().st_size > 10_000
    document = json.loads((tmp_path / "outcome.json").read_text())
    assert {finding["seen"] for finding in document["findings"]} <= {True, False}
    text = (tmp_path / "outcome.txt").read_text()
    table = text[text.index("\n") : text.index("\n\nWhat is ")]
    assert max(map(len, table.splitlines())) <= 100


@pytest.mark.full
def test_a_moved_result_shows(tmp_path, monkeypatch):
    """A budget that is half a per cent larger."""
    monkeypatch.setattr(table2, "DELTA", 0.0201)
    found, wanted = expected.measure("table2", tmp_path)["rows"], expected.read("table2")["rows"]
    moved = {row[2].partition(" ")[0] for row in expected.moved(found, wanted)}
    assert {"joint-glm", "joint-glm-rare"} <= moved and "lin-ucb" not in moved


def test_the_page_says_what_is_kept():
    """With the version that made it: a result of an older one is not passed off as the present one's."""
    assert keep.PAGE.read_text() == keep.page()
    assert {path.stem for path in keep.KEPT.iterdir()} <= set(reticent_papers.REPRODUCTIONS)
    for path in keep.KEPT.iterdir():
        version = path.read_text().rpartition("(reticent ")[2].partition(",")[0]
        (row,) = [line for line in keep.PAGE.read_text().splitlines() if f"(../kept/{path.name})" in line]
        assert f"| {version}, code " in row
