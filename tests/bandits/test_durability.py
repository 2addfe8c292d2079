"""Noise on disk before what follows from it is shown, never drawn twice; older copies and second users are noticed."""

import contextlib
import json
import os
import shutil
import stat

import numpy as np
import pytest

from tacit import Budget, JointGLM, JointLinUCB, Secure, Simulated
from tacit.bandits.storage import _leaves
from tacit.errors import BadState
from tacit.papers import JointGLMRare, ShariffLinUCB

BUDGET = Budget(1.0, 1e-3)
ARMS = np.array([[0.8, 0.1], [0.1, 0.8], [-0.5, 0.5]])


def build(kind=JointLinUCB, **options):
    return kind(**({"dim": 2, "horizon": 400, "budget": BUDGET, "pending": 20} | options))


def play(bandit, rounds, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        bandit.observe(bandit.choose(ARMS), float(rng.integers(2)))


def arrays(bandit):
    return [a.copy() for a in _leaves(bandit._state)]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


KINDS = [
    (JointLinUCB, {}),
    (ShariffLinUCB, {"release": "tree"}),
    (ShariffLinUCB, {"release": "consistent-tree"}),
    (ShariffLinUCB, {"release": "buffered"}),
    (JointGLM, {}),
    (JointGLMRare, {}),
]


@pytest.mark.parametrize(("kind", "options"), KINDS, ids=str)
def test_a_loaded_bandit_has_the_same_noise_and_the_same_answers(kind, options, tmp_path):
    bandit = build(kind, **options)
    play(bandit, 40)
    bandit.save(tmp_path / "b.json")
    again = kind.load(tmp_path / "b.json")
    assert isinstance(again.source, Secure)
    assert same(arrays(bandit), arrays(again))
    assert again.privacy == bandit.privacy
    until = int(bandit._state.counts[1]) - bandit.choices  # up to the next release nothing new is drawn
    picks = [[b.choose(ARMS).index for _ in range(until)] for b in (bandit, again)]
    assert picks[0] == picks[1]
    decoder, steps = again._state.prefix.noise, again._steps
    table = decoder.table[:steps].copy()
    play(again, 30)
    assert again._steps > steps
    assert np.array_equal(table, decoder.table[:steps])  # what was released keeps its noise for ever


def test_what_was_released_is_on_disk_before_it_is_shown(tmp_path):
    path = tmp_path / "b.json"
    bandit = build(durable=path)
    for _ in range(120):
        bandit.observe(bandit.choose(ARMS), 1.0)
        on_disk = json.loads(json.loads(path.read_text())["body"])
        assert on_disk["generation"] == bandit._file.generation
        assert bandit._file.steps == bandit._steps  # nothing is shown of a step that is not there
    released, steps = bandit._state.prefix.released.copy(), bandit._steps
    del bandit  # a crash: what came after the last release is lost, the release is not
    again = JointLinUCB.load(path)
    assert again._steps == steps and np.array_equal(again._state.prefix.released, released)
    assert again.durable == str(path)
    play(again, 40)
    assert again._file.steps == again._steps > steps


def test_a_write_that_fails_shows_nothing(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    bandit = build(durable=folder / "b.json", first=5)
    play(bandit, 5)
    shutil.rmtree(folder)
    for _ in range(2):
        with pytest.raises(OSError):
            bandit.choose(ARMS)
    assert bandit.choices == 5
    steps = bandit._steps
    folder.mkdir()
    bandit.choose(ARMS)
    assert bandit._steps == steps == bandit._file.steps  # released once, and now on disk


@pytest.mark.parametrize("kind", [JointLinUCB, JointGLM, JointGLMRare])
def test_nothing_of_a_release_is_read_before_it_is_on_disk(kind, tmp_path):
    bandit = build(kind, durable=tmp_path / "b.json", **({} if kind is JointGLMRare else {"first": 5}))
    play(bandit, 10)
    reads = {
        JointLinUCB: [lambda: bandit.statistics],
        JointGLM: [lambda: bandit.theta, lambda: bandit.interval(ARMS)],
        JointGLMRare: [lambda: bandit.theta, lambda: bandit.recomputations, lambda: bandit.privacy],
    }[kind]
    for read in reads:
        read()
    (tmp_path / "b.json.new").mkdir()
    with pytest.raises(OSError):
        bandit.choose(ARMS)
    for read in reads:
        with pytest.raises(BadState, match="on disk"):
            read()
    (tmp_path / "b.json.new").rmdir()
    steps = bandit._steps
    bandit.choose(ARMS)
    assert bandit._steps == steps == bandit._file.steps
    for read in reads:
        read()


def test_one_of_two_bandits_draws_no_noise_and_shows_nothing(tmp_path):
    path, elsewhere = tmp_path / "b.json", tmp_path / "c.json"
    start = build(first=5)
    play(start, 5)
    start.save(path)
    one, two, three = (JointLinUCB.load(path) for _ in range(3))
    three.save(elsewhere)  # from now on this is the last state
    for late in (one, two):
        before = arrays(late)
        with pytest.raises(BadState, match="budget twice"):
            late.choose(ARMS)
        assert same(before, arrays(late))
        with pytest.raises(BadState, match="one of two"):
            late.statistics  # noqa: B018
    three.choose(ARMS)
    assert three.statistics.gram.any()


def test_a_state_is_compared_and_replaced_alone(tmp_path, monkeypatch):
    """Forty bandits from one file, released from by as many threads: one of them is let on."""
    import threading

    path = tmp_path / "b.json"
    start = build(first=5)
    play(start, 5)
    start.save(path)
    bandits, won = [JointLinUCB.load(path) for _ in range(40)], []

    def release(bandit):
        with contextlib.suppress(BadState):
            won.append(bandit.choose(ARMS))

    threads = [threading.Thread(target=release, args=(bandit,)) for bandit in bandits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    monkeypatch.setattr("tacit.bandits.disk.PATIENCE", 0.05)
    durable = build(durable=tmp_path / "d.json")
    with pytest.raises(BadState, match="in use"):
        build().save(tmp_path / "d.json")
    assert durable.choose(ARMS).id == 1


def test_a_durable_file_stays_where_it_is(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    bandit = build(durable="b.json", first=5)
    monkeypatch.chdir(tmp_path / "there")
    play(bandit, 12)
    assert not list((tmp_path / "there").iterdir())
    steps = bandit._steps
    del bandit
    monkeypatch.chdir(tmp_path / "here")
    bandit = JointLinUCB.load("b.json")
    assert bandit._steps == steps > 0
    monkeypatch.chdir(tmp_path / "there")
    play(bandit, 12)
    assert not list((tmp_path / "there").iterdir())


def test_the_size_of_a_file_does_not_tell_who_has_answered(tmp_path):
    sizes = set()
    for answered in range(4):
        bandit = build(first=5, pending=200)
        choices = [bandit.choose(ARMS) for _ in range(4)]
        for choice in choices[:answered]:
            bandit.observe(choice, 1.0)
        bandit.save(tmp_path / f"{answered}.json")
        sizes.add((tmp_path / f"{answered}.json").stat().st_size)
        again = JointLinUCB.load(tmp_path / f"{answered}.json")
        for choice in choices[answered:]:
            again.observe(choice.id, 1.0)
    assert len(sizes) == 1


def test_a_crash_while_writing_leaves_a_durable_file_that_loads(tmp_path):
    path = tmp_path / "b.json"
    bandit = build(durable=path, first=5)
    play(bandit, 5)
    (tmp_path / "b.json.new").mkdir()  # the next write stops here, after the release
    with pytest.raises(OSError):
        bandit.choose(ARMS)
    del bandit
    (tmp_path / "b.json.new").rmdir()
    again = JointLinUCB.load(path)  # nothing of that release was shown: it never was
    assert again._steps == 0
    play(again, 6)
    assert again._file.steps == 1


def test_an_older_copy_is_noticed(tmp_path):
    path, backup = tmp_path / "b.json", tmp_path / "backup.json"
    bandit = build()
    play(bandit, 20)
    bandit.save(path)
    shutil.copy(path, backup)
    play(bandit, 20)
    bandit.save(path)
    assert JointLinUCB.load(path).choices == 40
    shutil.copy(backup, path)
    with pytest.raises(BadState, match="spend the budget twice"):
        JointLinUCB.load(path)
    with pytest.raises(BadState, match="spend the budget twice"):
        JointLinUCB.load(backup)  # no marker came with it: the register knows
    other = build()
    other.save(path)
    shutil.copy(backup, path)  # the file of another bandit than the last one there
    with pytest.raises(BadState, match="another bandit"):
        JointLinUCB.load(path)
    (tmp_path / "b.json.generation").write_text("?")
    with pytest.raises(BadState, match="damaged"):
        JointLinUCB.load(path)


def test_a_file_is_not_the_last_state_once_more_was_released(tmp_path):
    """A bandit that is saved now and then, goes on and crashes: loading it would release the same steps again."""
    path, elsewhere = tmp_path / "b.json", tmp_path / "c.json"
    bandit = build(first=10)
    play(bandit, 10)
    bandit.save(path)
    assert JointLinUCB.load(path).choices == 10  # nothing was released since
    bandit.save(elsewhere)
    assert JointLinUCB.load(elsewhere).choices == 10
    play(bandit, 1)
    for each in (path, elsewhere):
        with pytest.raises(BadState, match="spend the budget twice"):
            JointLinUCB.load(each)
    bandit.save(path)
    assert JointLinUCB.load(path).choices == 11


def test_another_bandit_in_the_same_place_keeps_its_file(tmp_path):
    path = tmp_path / "b.json"
    bandit, other = build(first=10), build(first=10)
    bandit.save(path)
    other.save(path)
    play(bandit, 11)  # its own file is gone: nothing to tell
    assert JointLinUCB.load(path).choices == 0


def test_two_bandits_from_one_file_are_noticed_at_the_first_release(tmp_path):
    path = tmp_path / "b.json"
    start = build(first=10)
    play(start, 9)
    start.save(path)
    one, two = JointLinUCB.load(path), JointLinUCB.load(path)
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
    assert JointLinUCB.load(path).choices == 11


def test_a_crash_between_file_and_marker_loads(tmp_path):
    path = tmp_path / "b.json"
    bandit = build()
    bandit.save(path)
    marker = (tmp_path / "b.json.generation").read_text()
    play(bandit, 20)
    bandit.save(path)
    (tmp_path / "b.json.generation").write_text(marker)
    assert JointLinUCB.load(path).choices == 20


def test_a_durable_file_is_in_use_once(tmp_path):
    path = tmp_path / "b.json"
    bandit = build(durable=path)
    with pytest.raises(BadState, match="in use"):
        JointLinUCB.load(path)
    with pytest.raises(BadState, match="Expected no file"):
        build(durable=path)
    del bandit
    first = JointLinUCB.load(path)
    with pytest.raises(BadState, match="in use"):
        JointLinUCB.load(path)
    del first
    assert JointLinUCB.load(path).choices == 0


def test_files_are_raw_and_for_their_owner_only(tmp_path):
    bandit = build(durable=tmp_path / "b.json")
    play(bandit, 30)
    names = {"b.json", "b.json.generation", "b.json.lock"}
    assert {p.name for p in tmp_path.iterdir()} == names
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert path.stat().st_uid == os.getuid()
    assert json.loads((tmp_path / "b.json").read_text())["raw data"] is True


def test_simulated_bandits_have_no_marker(tmp_path):
    build(source=Simulated(0)).save(tmp_path / "b.json")
    assert [p.name for p in tmp_path.iterdir()] == ["b.json"]
