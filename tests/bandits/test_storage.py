"""Saved bandits: they go on bit by bit, and a bad file is a clear error."""

import json
import stat

import numpy as np
import pytest

from tacit import Budget, JointGLM, JointLinUCB, LinUCB, Simulated
from tacit.bandits import storage
from tacit.bandits.storage import _leaves
from tacit.errors import BadState
from tacit.papers import ShariffLinUCB

RELEASES = ["tree", "consistent-tree", "toeplitz", "buffered"]


def play(bandit, rng, rounds):
    indices = []
    waiting = []
    for t in range(rounds):
        choice = bandit.choose(rng.uniform(-0.5, 0.5, (4, 3)))
        indices.append(choice.index)
        waiting.append(choice.id)
        if t % 3 == 2:  # rewards late and out of order
            for ticket in reversed(waiting):
                bandit.observe(ticket, float(rng.choice([-1.0, 1.0])))
            waiting = []
    return indices, waiting


def bandits():
    settings = {"dim": 3, "horizon": 200, "budget": Budget(1, 0.1), "pending": 9}
    yield JointLinUCB(**settings, source=Simulated(7))
    for options in [*({"release": release} for release in RELEASES), {"noise": "wishart"}]:
        yield ShariffLinUCB(**settings, source=Simulated(7), **options)
    yield LinUCB(dim=3, pending=9)
    yield JointGLM(
        dim=3, budget=Budget(1, 0.1), rewards=(-1, 1), source=Simulated(7), policy=np.random.default_rng(8), pending=9
    )


@pytest.mark.parametrize("bandit", list(bandits()), ids=["linear", *RELEASES, "wishart", "plain", "glm"])
def test_a_loaded_bandit_goes_on_bit_by_bit(bandit, tmp_path):
    _, waiting = play(bandit, np.random.default_rng(0), 40)
    assert waiting  # one choice waits for its reward
    bandit.save(tmp_path / "bandit.json")
    again = type(bandit).load(tmp_path / "bandit.json")
    for each in (bandit, again):
        each.observe(waiting[0], 1.0)
    assert play(bandit, np.random.default_rng(1), 60) == play(again, np.random.default_rng(1), 60)
    for a, b in zip(_leaves(bandit._state), _leaves(again._state), strict=True):
        assert np.array_equal(a, b)
    assert bandit.privacy == again.privacy


def test_the_file_is_for_its_owner_only_and_replaces_the_old_one_whole(tmp_path):
    path = tmp_path / "bandit.json"
    bandit = LinUCB(dim=2)
    bandit.save(path)
    bandit.choose([[1.0, 0.0]])
    bandit.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert LinUCB.load(path).choices == 1
    assert [p.name for p in tmp_path.iterdir()] == ["bandit.json"]
    assert json.loads(path.read_text())["raw data"] is True
    (tmp_path / "bandit.json.new").touch(0o644)  # left over, and readable by others
    bandit.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_noise_of_another_calibration_is_not_loaded(tmp_path, monkeypatch):
    path = tmp_path / "bandit.json"
    bandit = JointLinUCB(dim=3, horizon=200, budget=Budget(1, 0.1), source=Simulated(0))
    bandit.save(path)
    monkeypatch.setattr("tacit.model.linear.LinearContribution.sensitivity", 7.0)
    with pytest.raises(BadState, match="another calibration"):
        JointLinUCB.load(path)


def test_bad_files(tmp_path):
    path = tmp_path / "bandit.json"
    LinUCB(dim=2).save(path)
    text = path.read_text()
    with pytest.raises(BadState, match="Expected a saved JointLinUCB in bandit.json, got a LinUCB"):
        JointLinUCB.load(path)
    for bad in ("", "{}", "[1]", "pickle", text[: len(text) // 2]):
        path.write_text(bad)
        with pytest.raises(BadState, match="damaged"):
            LinUCB.load(path)
    document = json.loads(text)
    path.write_text(json.dumps(document | {"version": 99}))
    with pytest.raises(BadState, match="version 7 in bandit.json, got version 99"):
        LinUCB.load(path)
    path.write_text(json.dumps(document | {"body": document["body"].replace("1.0", "2.0", 1)}))
    with pytest.raises(BadState, match="checksum"):
        LinUCB.load(path)
    with pytest.raises(FileNotFoundError):
        LinUCB.load(tmp_path / "nothing.json")


def test_files_of_0_6_0_with_settings_that_are_gone(tmp_path):
    """They load where nobody had given those settings, and are refused by name where somebody had."""
    JointLinUCB(dim=2, horizon=50, budget=Budget(1.0, 1e-3), source=Simulated(0)).save(tmp_path / "b.json")
    body, _ = storage.read(tmp_path / "b.json", what="bandit", format=storage.FORMAT, version=storage.VERSION)

    def written(**settings):
        old = body | {"settings": body["settings"] | {"teach": 1.0, "average": False, "weeks": None} | settings}
        document = storage.document(old, format=storage.FORMAT, version=storage.VERSION, raw=True)
        (tmp_path / "b.json").write_text(json.dumps(document))
        return JointLinUCB.load(tmp_path / "b.json")

    assert written().horizon == 50
    linear = {"noise": "gaussian", "calibration": "exact", "release": "batched", "shift": None}
    assert written(**linear).horizon == 50
    for name, value in (("teach", 0.5), ("average", True), ("weeks", 3), ("release", "tree"), ("shift", 9.0)):
        with pytest.raises(BadState, match=f"got {name}: go on with 0.6.0"):
            written(**{name: value})
