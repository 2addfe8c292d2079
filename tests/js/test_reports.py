"""The JavaScript device makes the very bytes that Python's makes of the same people and random bytes."""

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
