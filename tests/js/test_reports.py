"""The JavaScript device makes the very bytes that Python's makes of the same people and random bytes."""

import base64
import json
import secrets

import pytest

from tests.js import node, vectors

SEED = secrets.randbits(32)


@pytest.fixture(scope="module")
def given():
    with pytest.MonkeyPatch.context() as patch:
        return vectors.reports(SEED, patch)


def test_reports_are_identical_in_node(given, tmp_path):
    file = vectors.save(given[0], tmp_path / "given.json")
    told = json.loads(node.run(node.HERE / "replay_node.js", node.JS / "src" / "index.js", "reports", file))
    assert len(told) >= 700
    wrong = [i for i, (one, other) in enumerate(zip(told, given[1], strict=True)) if one != other]
    assert not wrong, (SEED, len(wrong), given[0]["cases"][wrong[0]], told[wrong[0]], given[1][wrong[0]])


@pytest.fixture(scope="module")
def bad():
    with pytest.MonkeyPatch.context() as patch:
        return vectors.damaged(SEED, patch)


def test_hostile_billboards_are_refused_alike_in_node(bad, tmp_path):
    file = vectors.save(bad[0], tmp_path / "given.json")
    told = json.loads(node.run(node.HERE / "replay_node.js", node.JS / "src" / "index.js", "damaged", file))
    for one, other, board in zip(told, bad[1], bad[0]["boards"], strict=True):
        assert one == other, (SEED, base64.b64decode(board["board"])[:3000])
    refused = sum(one == "BadBillboard" for one in told)
    assert 0.3 * len(told) < refused < 0.95 * len(told)
