"""Of a bandit's saved states one is the last: older ones and a second bandit from the same file are noticed."""

import shutil

import numpy as np
import pytest

from core_tests.made import joint
from reticent import Bandit, Budget
from reticent.core import file_witness as witness
from reticent.errors import BadState
from reticent.mechanisms.saving import arrays

BUDGET = Budget(1.0, 1e-3)
ARMS = np.array([[0.8, 0.1], [0.1, 0.8], [-0.5, 0.5]])


def build(**options):
    return joint(**({"features": 2, "horizon": 400, "budget": BUDGET, "pending": 20, "first": 15} | options))


def play(bandit, rounds, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        bandit.observe(bandit.choose(ARMS), float(rng.integers(2)))


def test_one_of_two_bandits_draws_no_noise_and_shows_nothing(tmp_path):
    path, elsewhere = tmp_path / "b.json", tmp_path / "c.json"
    reads = (lambda bandit: bandit.theta, lambda bandit: bandit.interval(ARMS))
    start = build(first=5)
    play(start, 5)
    start.save(path)
    one, two, three = (Bandit.load(path) for _ in range(3))
    three.save(elsewhere)  # from now on this is the last state
    for late in (one, two):
        before = [part.copy() for part in arrays(late.sums.state)]
        with pytest.raises(BadState, match="budget twice"):
            late.choose(ARMS)
        assert all(map(np.array_equal, before, arrays(late.sums.state)))
        for read in reads:
            with pytest.raises(BadState, match="one of two"):
                read(late)
    three.choose(ARMS)
    assert three.sums.steps == 1 and all(len(read(three)) for read in reads)


def test_a_file_is_written_by_one_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(witness, "PATIENCE", 0.05)
    with witness.alone(tmp_path / "d.json"), pytest.raises(BadState, match="in use"):
        build().save(tmp_path / "d.json")
    build().save(tmp_path / "d.json")


def test_an_older_copy_is_noticed(tmp_path):
    path, backup = tmp_path / "b.json", tmp_path / "backup.json"
    bandit = build()
    play(bandit, 20)
    bandit.save(path)
    shutil.copy(path, backup)
    play(bandit, 20)
    bandit.save(path)
    assert Bandit.load(path).choices == 40
    shutil.copy(backup, path)
    with pytest.raises(BadState, match="spend the budget twice"):
        Bandit.load(path)
    with pytest.raises(BadState, match="spend the budget twice"):
        Bandit.load(backup)  # no marker came with it: the register knows
    build().save(path)
    shutil.copy(backup, path)  # the file of another bandit than the last one there
    with pytest.raises(BadState, match="another bandit"):
        Bandit.load(path)
    (tmp_path / "b.json.generation").write_text("?")
    with pytest.raises(BadState, match="damaged"):
        Bandit.load(path)


def test_a_file_is_not_the_last_state_once_more_was_released(tmp_path):
    """A bandit that is saved now and then, goes on and crashes: loading it would release the same steps again."""
    path, elsewhere = tmp_path / "b.json", tmp_path / "c.json"
    bandit = build(first=10)
    play(bandit, 10)
    bandit.save(path)
    assert Bandit.load(path).choices == 10  # nothing was released since
    bandit.save(elsewhere)
    assert Bandit.load(elsewhere).choices == 10
    play(bandit, 1)
    for each in (path, elsewhere):
        with pytest.raises(BadState, match="spend the budget twice"):
            Bandit.load(each)
    bandit.save(path)
    assert Bandit.load(path).choices == 11


def test_another_bandit_in_the_same_place_keeps_its_file(tmp_path):
    path = tmp_path / "b.json"
    bandit, other = build(first=10), build(first=10)
    bandit.save(path)
    other.save(path)
    play(bandit, 11)  # its own file is gone: nothing to tell
    assert Bandit.load(path).choices == 0


def test_two_bandits_from_one_file_are_noticed_at_the_first_release(tmp_path):
    path = tmp_path / "b.json"
    start = build(first=10)
    play(start, 9)
    start.save(path)
    one, two = Bandit.load(path), Bandit.load(path)
    play(one, 2)
    two.choose(ARMS)  # up to the next release both say the same
    for _ in range(2):
        with pytest.raises(BadState, match="budget twice|one of two"):
            two.choose(ARMS)
    for late in (lambda: two.save(path), lambda: two.theta, lambda: two.interval(ARMS)):
        with pytest.raises(BadState):
            late()
    assert two.choices == 10
    one.save(path)
    with pytest.raises(BadState):
        start.save(path)
    assert Bandit.load(path).choices == 11


def test_a_crash_between_file_and_marker_loads(tmp_path):
    path, bandit = tmp_path / "b.json", build()
    bandit.save(path)
    marker = (tmp_path / "b.json.generation").read_text()
    play(bandit, 20)
    bandit.save(path)
    (tmp_path / "b.json.generation").write_text(marker)
    assert Bandit.load(path).choices == 20


def test_a_saved_file_is_known_wherever_the_process_goes(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    build(first=5).save("b.json")
    bandit = Bandit.load("b.json")
    monkeypatch.chdir(tmp_path / "there")
    play(bandit, 6)
    assert not list((tmp_path / "there").iterdir())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another register"))
    with pytest.raises(BadState, match="spend the budget twice"):
        Bandit.load(tmp_path / "here" / "b.json")


def test_a_save_that_fails_leaves_the_old_file_and_it_loads(tmp_path):
    path, bandit = tmp_path / "b.json", build(first=5)
    bandit.save(path)
    play(bandit, 4)
    (tmp_path / "b.json.new").mkdir()  # the next write stops here
    with pytest.raises(OSError):
        bandit.save(path)
    (tmp_path / "b.json.new").rmdir()
    assert Bandit.load(path).choices == 0
    play(bandit, 2)
    with pytest.raises(BadState, match="spend the budget twice"):
        Bandit.load(path)
