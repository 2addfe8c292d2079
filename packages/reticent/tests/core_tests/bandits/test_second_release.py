"""One step of the same people is released once, whatever is done with the files: saved twice, copied, moved, linked,
restored. Each test is an attack; the noise is the secure default."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from core_tests.made import any_kind
from core_tests.privacy.test_secure import in_a_child
from reticent import Bandit, Budget
from reticent.core import file_witness as witness
from reticent.errors import BadState
from reticent.mechanisms.opening import opened

BUDGET = Budget(1.0, 1e-6)
ARMS = np.array([[0.8, 0.1], [0.1, 0.8], [-0.5, 0.5]])
NAMES = 60


def build(kind=Bandit, **options):
    given = {"features": 2, "horizon": 400, "budget": BUDGET, "pending": 20, "first": 5, "range": (-1.0, 1.0)}
    return any_kind(kind, **given | options)


def filled(**options):
    """A bandit whose open step holds five people's data, to be released by the next choice."""
    bandit = build(**options)
    for y in (1.0, -1.0, 1.0, 1.0, 0.0):
        bandit.observe(bandit.choose(ARMS), y)
    learner = bandit.memory.learner
    assert learner.due and learner.steps == 0
    return bandit


def release(bandit):
    """What the next choice releases, or None if it is refused."""
    try:
        bandit.choose(ARMS)
    except BadState:
        return None
    return bandit.sums.state.prefix.released.copy()


def load_and_release(paths):
    """What can be had of one step from all these files."""
    out = []
    for path in paths:
        try:
            bandit = Bandit.load(path)
        except BadState:
            continue
        out.append(release(bandit))
    return [each for each in out if each is not None]


def test_sixty_names_give_one_release(tmp_path):
    """The mean of sixty releases has an eighth of the noise; every certificate said epsilon = 1."""
    bandit, paths = filled(), [tmp_path / f"{i}.json" for i in range(NAMES)]
    for path in paths:
        bandit.save(path)
    assert len(load_and_release(paths)) == 1
    assert release(bandit) is None  # the last file went on instead of it


def test_only_the_last_of_two_files_loads(tmp_path):
    bandit = filled()
    for name in ("one", "two"):
        bandit.save(tmp_path / name)
    with pytest.raises(BadState, match="saved elsewhere"):
        Bandit.load(tmp_path / "one")
    assert Bandit.load(tmp_path / "two").choices == 5
    shutil.copy(tmp_path / "two", tmp_path / "one")  # the last state, in the earlier place
    assert release(Bandit.load(tmp_path / "one")) is not None
    assert load_and_release([tmp_path / "one", tmp_path / "two"]) == []


def test_the_earlier_file_is_refused_without_a_register_too(tmp_path, monkeypatch):
    """Another machine that sees the same folder has another register: the mark beside the file says it."""
    bandit = filled()
    bandit.save(tmp_path / "one")
    bandit.save(tmp_path / "two")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(BadState, match="budget twice"):
        Bandit.load(tmp_path / "one")
    assert release(Bandit.load(tmp_path / "two")) is not None
    monkeypatch.undo()
    assert release(bandit) is None


@pytest.mark.parametrize("register", [True, False])
def test_a_file_moved_away_while_its_bandit_releases_is_refused_when_it_is_back(register, tmp_path, monkeypatch):
    path, away = tmp_path / "b.json", tmp_path / "away.json"
    bandit = filled()
    bandit.save(path)
    path.rename(away)
    assert release(bandit) is not None
    assert (tmp_path / "b.json.generation").exists()  # marked though nothing is there
    away.rename(path)
    if register:
        (tmp_path / "b.json.generation").unlink()
    else:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    assert load_and_release([path]) == []


def test_a_mark_that_was_taken_away_before_the_release_is_made_again(tmp_path, monkeypatch):
    path, bandit = tmp_path / "b.json", filled()
    bandit.save(path)
    (tmp_path / "b.json.generation").unlink()
    assert release(bandit) is not None
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    assert load_and_release([path]) == []


def test_a_folder_moved_away_and_back_is_noticed(tmp_path):
    folder, away = tmp_path / "here", tmp_path / "there"
    folder.mkdir()
    bandit = filled()
    bandit.save(folder / "b.json")
    folder.rename(away)
    assert release(bandit) is not None  # nowhere to leave a mark, but in the register
    assert load_and_release([away / "b.json"]) == []
    away.rename(folder)
    assert load_and_release([folder / "b.json"]) == []


@pytest.mark.parametrize("how", [shutil.copy, os.link, os.symlink], ids=["copy", "link", "symlink"])
@pytest.mark.parametrize("first", ["load", "release"])
def test_copies_under_other_names_give_one_release(how, first, tmp_path):
    """Without the mark of the original: whether all are loaded before anything is released, or one after the other."""
    path, paths = tmp_path / "b.json", [tmp_path / f"copy{i}.json" for i in range(5)]
    filled().save(path)
    for copy in paths:
        how(path, copy)
    if first == "load":
        had = [each for each in map(release, [Bandit.load(copy) for copy in [path, *paths]]) if each is not None]
    else:
        had = load_and_release([path, *paths])
    assert len(had) == 1


def test_forty_copies_released_by_as_many_threads_give_one_release(tmp_path):
    path = tmp_path / "b.json"
    filled().save(path)
    paths = [tmp_path / f"copy{i}.json" for i in range(40)]
    for copy in paths:
        shutil.copy(path, copy)
    bandits = [Bandit.load(copy) for copy in paths]
    with ThreadPoolExecutor(40) as pool:
        had = list(pool.map(release, bandits))
    assert len([each for each in had if each is not None]) == 1


def test_another_process_knows_it(tmp_path):
    path, copy = tmp_path / "b.json", tmp_path / "copy.json"
    bandit = filled()
    bandit.save(path)
    shutil.copy(path, copy)
    assert release(bandit) is not None
    code = f"from reticent import Bandit; Bandit.load({str(copy)!r}).choose([[0.1, 0.0]])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "BadState" in done.stderr and "budget twice" in done.stderr


def test_a_save_that_was_cut_off_before_its_mark_and_another_that_went_on(tmp_path):
    """Both have the same generation; the mark knows which file it is for."""
    path, copy = tmp_path / "b.json", tmp_path / "copy.json"
    bandit = build()
    bandit.save(path)
    shutil.copy(path, copy)
    register = Path(os.environ["XDG_STATE_HOME"]) / "reticent" / f"{bandit._witness.bandit_id}.generation"
    before = {marker: marker.read_text() for marker in (register, tmp_path / "b.json.generation")}
    bandit.observe(bandit.choose(ARMS), 1.0)
    bandit.save(path)
    for marker, text in before.items():  # as if the process had ended before it wrote them
        marker.write_text(text)
    assert Bandit.load(path).choices == 1
    other = Bandit.load(copy)
    other.observe(other.choose(ARMS), -1.0)
    other.save(copy)
    assert other._witness.generation == bandit._witness.generation
    with pytest.raises(BadState, match="budget twice"):
        Bandit.load(path)
    assert Bandit.load(copy).choices == 1


def test_without_a_register_nothing_is_saved_loaded_or_released(tmp_path, monkeypatch):
    path = tmp_path / "b.json"
    bandit = filled()
    bandit.save(path)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    before = opened(bandit.sums.state.prefix).open.copy()
    for attempt in (lambda: bandit.choose(ARMS), lambda: bandit.save(path), lambda: Bandit.load(path)):
        with pytest.raises(BadState, match="set XDG_STATE_HOME"):
            attempt()
    assert bandit.sums.steps == 0 and np.array_equal(opened(bandit.sums.state.prefix).open, before)
    monkeypatch.undo()
    assert release(bandit) is not None


def test_bandits_that_are_never_saved_need_no_register(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert release(filled()) is not None and not (tmp_path / "state").exists()


def test_the_register_is_small_and_for_its_owner_only(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    bandit = filled()
    for name in ("one", "two", "one"):
        bandit.save(tmp_path / name)
    folder = tmp_path / "state" / "reticent"
    files = list(folder.iterdir())
    assert {file.suffix for file in files} == {".generation", ".lock"} and len(files) == 2
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(file.stat().st_mode & 0o777 == 0o600 and file.stat().st_size < 200 for file in files)


def test_an_id_that_is_none_is_refused(tmp_path):
    path = tmp_path / "b.json"
    filled().save(path)
    document = json.loads(path.read_text())
    text = json.dumps(json.loads(document["body"]) | {"id": "../../somewhere"})
    path.write_text(json.dumps(document | {"body": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}))
    (tmp_path / "b.json.generation").unlink()
    with pytest.raises(BadState, match="32 hexadecimal digits"):
        Bandit.load(path)


def test_forked_workers_that_were_never_saved_are_bandits_of_their_own(tmp_path):
    bandit = build()

    def worker():
        bandit.choose(ARMS)
        bandit.save(tmp_path / "child.json")
        return Bandit.load(tmp_path / "child.json").choices

    assert in_a_child(worker) == "1"
    bandit.choose(ARMS)
    bandit.save(tmp_path / "parent.json")
    assert Bandit.load(tmp_path / "child.json").choices == Bandit.load(tmp_path / "parent.json").choices == 1


def test_a_save_that_fails_halfway_is_no_second_chance(tmp_path, monkeypatch):
    """The file is in place and its marks are not: once the bandit has gone on, that file is not its last state."""
    bandit = filled()

    def full(place, mark):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(witness, "leave", full)
        with pytest.raises(OSError, match="No space"):
            bandit.save(tmp_path / "one")
    assert (tmp_path / "one").exists() and release(bandit) is not None
    with pytest.raises(BadState, match="older one"):
        Bandit.load(tmp_path / "one")


def test_the_register_is_one_wherever_the_process_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    with pytest.raises(BadState, match="absolute path"):
        build().save(tmp_path / "one")
