"""Saved bandits: they go on bit by bit, with the noise they had, and a bad file is a clear error."""

import json
import os
import stat

import numpy as np
import pytest

from core_tests.made import joint
from reticent import Bandit, Budget, LinUCB, Secure, Simulated
from reticent.errors import BadState
from reticent.features import Number, Schema
from reticent.mechanisms.opening import opened
from reticent.mechanisms.saving import arrays


def play(bandit, rng, rounds):
    indices, waiting = [], []
    for t in range(rounds):
        fields = getattr(bandit, "features", None)
        choice = bandit.choose({"age": rng.random()} if fields else rng.uniform(-0.5, 0.5, (4, 3)))
        indices.append(choice.index)
        waiting.append(choice.id)
        if t % 3 == 2:  # rewards late and out of order
            for ticket in reversed(waiting):
                bandit.observe(ticket, float(rng.choice([-1.0, 1.0])))
            waiting = []
    return indices, waiting


def glm(**options):
    given = {"features": 3, "budget": Budget(1, 0.1), "range": (-1, 1), "pending": 9, "first": 6}
    return joint(**given | options, source=Simulated(7), policy=np.random.default_rng(8))


SCHEMA = Schema(context={"age": Number(0, 1, bins=2)}, arms="disjoint", actions=("walk", "sleep", "read"))
BANDITS = {
    "plain": LinUCB(dim=3, pending=9),
    "glm": glm(),
    "scores": glm(model="scores"),
    "base rate": glm(base_rate=0.3),
    "window": glm(window=5, default=0.0),
    "fields": glm(features=SCHEMA),
    "fields, window": glm(features=SCHEMA, base_rate=0.2, window=5, default=0.0),
}


@pytest.mark.parametrize("bandit", BANDITS.values(), ids=BANDITS)
def test_a_loaded_bandit_goes_on_bit_by_bit(bandit, tmp_path):
    _, waiting = play(bandit, np.random.default_rng(0), 40)
    assert waiting  # one choice waits for its reward
    bandit.save(tmp_path / "bandit.json")
    again = type(bandit).load(tmp_path / "bandit.json")
    for each in (bandit, again):
        each.observe(waiting[0], 1.0)
    assert play(bandit, np.random.default_rng(1), 60) == play(again, np.random.default_rng(1), 60)
    for a, b in zip(*(arrays(each.memory.learner.state) for each in (bandit, again)), strict=True):
        assert np.array_equal(a, b)
    assert bandit.privacy == again.privacy


ARMS = np.array([[0.8, 0.1], [0.1, 0.8], [-0.5, 0.5]])


def answered(bandit, rounds):
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        bandit.observe(bandit.choose(ARMS), float(rng.integers(2)))


@pytest.mark.parametrize("model", ["curvature", "scores"])
def test_a_loaded_bandit_has_the_same_noise_and_the_same_answers(model, tmp_path):
    bandit = joint(features=2, horizon=400, budget=Budget(1.0, 1e-3), pending=20, model=model)
    answered(bandit, 40)
    bandit.save(tmp_path / "b.json")
    again = Bandit.load(tmp_path / "b.json")
    assert isinstance(again.source, Secure)
    assert all(map(np.array_equal, arrays(bandit.sums.state), arrays(again.sums.state)))
    assert again.privacy == bandit.privacy
    until = int(bandit.sums.state.counts[1]) - bandit.choices  # up to the next release nothing new is drawn
    picks = [[b.choose(ARMS).index for _ in range(until)] for b in (bandit, again)]
    assert picks[0] == picks[1]
    decoder, steps = opened(again.sums.state.prefix).noise, again.sums.steps
    table = decoder.table[:steps].copy()
    answered(again, 30)
    assert again.sums.steps > steps
    assert np.array_equal(table, decoder.table[:steps])  # what was released keeps its noise for ever


def test_the_file_is_for_its_owner_only_and_replaces_the_old_one_whole(tmp_path):
    path, bandit = tmp_path / "bandit.json", LinUCB(dim=2)
    bandit.save(path)
    bandit.choose([[1.0, 0.0]])
    bandit.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and LinUCB.load(path).choices == 1
    assert [p.name for p in tmp_path.iterdir()] == ["bandit.json"] and json.loads(path.read_text())["raw data"] is True
    (tmp_path / "bandit.json.new").touch(0o644)  # left over, and readable by others
    bandit.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_size_of_a_file_does_not_tell_who_has_answered(tmp_path):
    sizes = set()
    for answered in range(4):
        policy = np.random.default_rng(0)  # its state has as many digits as it has
        bandit = joint(features=2, horizon=400, budget=Budget(1.0, 1e-3), first=5, pending=200, policy=policy)
        choices = [bandit.choose(ARMS) for _ in range(4)]
        for choice in choices[:answered]:
            bandit.observe(choice, 1.0)
        bandit.save(tmp_path / f"{answered}.json")
        sizes.add((tmp_path / f"{answered}.json").stat().st_size)
        again = Bandit.load(tmp_path / f"{answered}.json")
        for choice in choices[answered:]:
            again.observe(choice.id, 1.0)
    assert len(sizes) == 1


def test_marks_are_for_their_owner_only_and_simulated_bandits_have_none(tmp_path):
    for source, names in ((Secure(), {"b.json", "b.json.generation", "b.json.lock"}), (Simulated(0), {"b.json"})):
        folder = tmp_path / str(len(names))
        folder.mkdir()
        bandit = joint(features=2, horizon=400, budget=Budget(1.0, 1e-3), source=source)
        answered(bandit, 30)
        bandit.save(folder / "b.json")
        assert {path.name for path in folder.iterdir()} == names
        for path in folder.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
            assert path.stat().st_uid == os.getuid()


def test_noise_of_another_calibration_is_not_loaded(tmp_path, monkeypatch):
    path = tmp_path / "bandit.json"
    joint(features=3, horizon=200, budget=Budget(1, 0.1), source=Simulated(0)).save(path)
    monkeypatch.setattr("reticent.model.glm.GLMContribution.sensitivity", 7.0)
    with pytest.raises(BadState, match="another calibration"):
        Bandit.load(path)


def test_bad_files(tmp_path):
    path = tmp_path / "bandit.json"
    LinUCB(dim=2).save(path)
    text = path.read_text()
    with pytest.raises(BadState, match="Expected a saved Bandit in bandit.json, got a LinUCB"):
        Bandit.load(path)
    for bad in ("", "{}", "[1]", "pickle", text[: len(text) // 2]):
        path.write_text(bad)
        with pytest.raises(BadState, match="damaged"):
            LinUCB.load(path)
    document = json.loads(text)
    path.write_text(json.dumps(document | {"version": 99}))
    with pytest.raises(BadState, match="version 10 in bandit.json, got version 99"):
        LinUCB.load(path)
    path.write_text(json.dumps(document | {"body": document["body"].replace("1.0", "2.0", 1)}))
    with pytest.raises(BadState, match="checksum"):
        LinUCB.load(path)
    with pytest.raises(FileNotFoundError):
        LinUCB.load(tmp_path / "nothing.json")
