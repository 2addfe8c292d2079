"""Of a bandit's saved states one is the last: older ones and a second bandit from the same file are noticed."""

import contextlib
import shutil

import numpy as np
import pytest

from tacit import Budget, JointGLM
from tacit.bandits import witness
from tacit.errors import BadState
from tacit.mechanisms import saving

BUDGET = Budget(1.0, 1e-3)
ARMS = np.array([[0.8, 0.1], [0.1, 0.8], [-0.5, 0.5]])


def build(kind=JointGLM, **options):
    return kind(**({"dim": 2, "horizon": 400, "budget": BUDGET, "pending": 20, "first": 15} | options))


def play(bandit, rounds, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        bandit.observe(bandit.choose(ARMS), float(rng.integers(2)))


def arrays(bandit):
    return [a.copy() for a in saving.arrays(bandit._state)]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_one_of_two_bandits_draws_no_noise_and_shows_nothing(tmp_path):
    path, elsewhere = tmp_path / "b.json", tmp_path / "c.json"
    start = build(first=5)
    play(start, 5)
    start.save(path)
    one, two, three = (JointGLM.load(path) for _ in range(3))
    three.save(elsewhere)  # from now on this is the last state
    for late in (one, two):
        before = arrays(late)
        with pytest.raises(BadState, match="budget twice"):
            late.choose(ARMS)
        assert same(before, arrays(late))
        with pytest.raises(BadState, match="one of two"):
            late.theta  # noqa: B018
    three.choose(ARMS)
    assert three.theta.any()


@pytest.mark.parametrize("kind", [JointGLM])
def test_nothing_is_read_of_one_of_two_bandits(kind, tmp_path):
    path = tmp_path / "b.json"
    build(kind, first=1).save(path)
    one, two = kind.load(path), kind.load(path)
    play(one, 2)
    with pytest.raises(BadState, match="budget twice"):
        play(two, 2)
    reads = {
        JointGLM: [lambda b: b.theta, lambda b: b.interval(ARMS)],
    }[kind]
    for read in reads:
        read(one)
        with pytest.raises(BadState, match="one of two"):
            read(two)


def test_a_state_is_compared_and_replaced_alone(tmp_path, monkeypatch):
    """Forty bandits from one file, released from by as many threads: one of them is let on."""
    import threading

    path = tmp_path / "b.json"
    start = build(first=5)
    play(start, 5)
    start.save(path)
    bandits, won = [JointGLM.load(path) for _ in range(40)], []

    def release(bandit):
        with contextlib.suppress(BadState):
            won.append(bandit.choose(ARMS))

    threads = [threading.Thread(target=release, args=(bandit,)) for bandit in bandits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
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
    assert JointGLM.load(path).choices == 40
    shutil.copy(backup, path)
    with pytest.raises(BadState, match="spend the budget twice"):
        JointGLM.load(path)
    with pytest.raises(BadState, match="spend the budget twice"):
        JointGLM.load(backup)  # no marker came with it: the register knows
    other = build()
    other.save(path)
    shutil.copy(backup, path)  # the file of another bandit than the last one there
    with pytest.raises(BadState, match="another bandit"):
        JointGLM.load(path)
    (tmp_path / "b.json.generation").write_text("?")
    with pytest.raises(BadState, match="damaged"):
        JointGLM.load(path)


def test_a_file_is_not_the_last_state_once_more_was_released(tmp_path):
    """A bandit that is saved now and then, goes on and crashes: loading it would release the same steps again."""
    path, elsewhere = tmp_path / "b.json", tmp_path / "c.json"
    bandit = build(first=10)
    play(bandit, 10)
    bandit.save(path)
    assert JointGLM.load(path).choices == 10  # nothing was released since
    bandit.save(elsewhere)
    assert JointGLM.load(elsewhere).choices == 10
    play(bandit, 1)
    for each in (path, elsewhere):
        with pytest.raises(BadState, match="spend the budget twice"):
            JointGLM.load(each)
    bandit.save(path)
    assert JointGLM.load(path).choices == 11


def test_another_bandit_in_the_same_place_keeps_its_file(tmp_path):
    path = tmp_path / "b.json"
    bandit, other = build(first=10), build(first=10)
    bandit.save(path)
    other.save(path)
    play(bandit, 11)  # its own file is gone: nothing to tell
    assert JointGLM.load(path).choices == 0


def test_two_bandits_from_one_file_are_noticed_at_the_first_release(tmp_path):
    path = tmp_path / "b.json"
    start = build(first=10)
    play(start, 9)
    start.save(path)
    one, two = JointGLM.load(path), JointGLM.load(path)
    play(one, 2)
    two.choose(ARMS)  # up to the next release both say the same
    for _ in range(2):
        with pytest.raises(BadState, match="budget twice|one of two"):
            two.choose(ARMS)
    with pytest.raises(BadState):
        two.save(path)
    assert two.choices == 10
    one.save(path)
    with pytest.raises(BadState):
        start.save(path)
    assert JointGLM.load(path).choices == 11


def test_a_crash_between_file_and_marker_loads(tmp_path):
    path = tmp_path / "b.json"
    bandit = build()
    bandit.save(path)
    marker = (tmp_path / "b.json.generation").read_text()
    play(bandit, 20)
    bandit.save(path)
    (tmp_path / "b.json.generation").write_text(marker)
    assert JointGLM.load(path).choices == 20


def test_a_saved_file_is_known_wherever_the_process_goes(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    made = build(first=5)
    made.save("b.json")
    bandit = JointGLM.load("b.json")
    monkeypatch.chdir(tmp_path / "there")
    play(bandit, 6)
    assert not list((tmp_path / "there").iterdir())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another register"))
    with pytest.raises(BadState, match="spend the budget twice"):
        JointGLM.load(tmp_path / "here" / "b.json")


def test_a_save_that_fails_leaves_the_old_file_and_it_loads(tmp_path):
    path = tmp_path / "b.json"
    bandit = build(first=5)
    bandit.save(path)
    play(bandit, 4)
    (tmp_path / "b.json.new").mkdir()  # the next write stops here
    with pytest.raises(OSError):
        bandit.save(path)
    (tmp_path / "b.json.new").rmdir()
    assert JointGLM.load(path).choices == 0
    play(bandit, 2)
    with pytest.raises(BadState, match="spend the budget twice"):
        JointGLM.load(path)
