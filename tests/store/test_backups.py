"""A backup of either database while it is in use, and a restore, which ends in a recovery and can be killed; keys that
rotate."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tacit import recover, retire
from tacit.errors import BadState, Moved, Retired, RolledBack
from tacit.holders import backups, control, rows
from tacit.holders.moving import move
from tacit.holders.recovery import cost
from tacit.holders.rotation import rotate_at
from tacit.holders.seal import Keys
from tests.store.places import Clock, Place, dies_at, linear, play, settle, sums, table, total

LEAVES = "SELECT noisy FROM leaf ORDER BY bandit, step"
LIMITED = {"max_rounds_per_person": 5, "require_person": False}


def backed_up(place, file, name="bandit"):
    made = backups.Backup(file)
    made.add(place.where, name=name, keys=place.keys)
    made.finish()
    return file


def lived(place, clock):
    with place.open(linear(**LIMITED), clock=clock) as stored:
        play(stored, np.random.default_rng(0), 25, together=25)
        stored.choose(np.eye(3), request="waits", person="ada")
        return table(stored, LEAVES)


def lives_on(place, clock, prefix="later "):
    with place.open(linear(**LIMITED), clock=clock) as stored:
        play(stored, np.random.default_rng(1), 60, prefix=prefix, together=60)
        return stored.version, table(stored, LEAVES)


def test_a_backup_goes_back_as_a_recovery(place, folder):
    clock, file = Clock(), folder / "backup.db"
    leaves = lived(place, clock)
    backed_up(place, file)
    assert sorted(path.name for path in folder.glob("backup*")) == ["backup.db"]
    assert file.stat().st_mode & 0o077 == 0
    lives_on(place, clock)
    said = backups.cost(linear(**LIMITED), file, place.where, keys=place.keys)
    assert said.now == pytest.approx(1.0) and said.after == pytest.approx(1.465, rel=1e-2)
    assert said.within_budget == pytest.approx(1.0)
    content = file.read_bytes()
    assert backups.restore(linear(**LIMITED), file, place.where, keys=place.keys) == 2
    assert file.read_bytes() == content and not list(folder.glob("backup.db?*"))
    with place.open(linear(**LIMITED), clock=clock) as stored:
        assert stored.incarnation == 2 and table(stored, LEAVES) == leaves and stored.choices == 0
        assert stored.privacy.epsilon == pytest.approx(said.after)
        with_keys = {label.partition(".")[0] for label in Keys(place.keys).labels("")}
        assert with_keys == {stored._vault.uid, "bandit"}
    assert lives_on(place, clock, "new ")[0] > 0


def test_a_backup_of_one_database_restores_into_another(on_sqlite, on_postgres, folder):
    """Where the first is lost, with its folder of keys."""
    leaves = lived(on_postgres, Clock())
    backed_up(on_postgres, folder / "backup.db")
    other = on_sqlite._replace(keys=folder / "other keys")
    assert backups.restore(linear(**LIMITED), folder / "backup.db", other.where, keys=other.keys) == 2
    with other.open(linear(**LIMITED)) as stored:
        assert table(stored, LEAVES) == leaves


def test_a_backup_that_is_put_in_place_by_hand_is_refused(on_sqlite, folder):
    """Also where nothing was released since, so that the witness sees no difference."""
    lived(on_sqlite, Clock())
    backed_up(on_sqlite, folder / "backup.db")
    shutil.copy(folder / "backup.db", on_sqlite.where)
    with pytest.raises(RolledBack, match="got a backup of it"):
        on_sqlite.open(linear(**LIMITED))
    assert cost(linear(**LIMITED), on_sqlite.where, keys=on_sqlite.keys).now == pytest.approx(1.0)
    recover(linear(**LIMITED), on_sqlite.where, keys=on_sqlite.keys)
    on_sqlite.open(linear(**LIMITED)).close()


def test_a_dispute_is_not_forgotten_by_a_restore(place, folder):
    """An id has proved that choices were lost: what was released is counted twice, though the backup knows nothing."""
    clock = Clock()
    lived(place, clock)
    backed_up(place, folder / "backup.db")
    with place.open(linear(**LIMITED), clock=clock) as stored, stored._database.transaction() as run:
        rows.dispute(run, stored._vault.uid)
    (place.keys / "bandit.witness").unlink()
    said = backups.cost(linear(**LIMITED), folder / "backup.db", place.where, keys=place.keys)
    backups.restore(linear(**LIMITED), folder / "backup.db", place.where, keys=place.keys, within_budget=True)
    with place.open(linear(**LIMITED)) as stored:
        assert stored.privacy.epsilon == pytest.approx(said.within_budget) and said.within_budget > 1.4


def test_a_backup_of_two_bandits_and_what_is_refused(place, folder):
    clock = Clock()
    lived(place, clock)
    place.open(linear(), name="other").close()
    made = backups.Backup(folder / "both.db")
    for name in ("bandit", "other"):
        made.add(place.where, name=name, keys=place.keys)
    made.finish()
    with pytest.raises(ValueError, match="a new file"):
        backups.Backup(folder / "both.db")
    with pytest.raises(BadState, match="of the name nobody"):
        backups.restore(linear(), folder / "both.db", place.where, name="nobody", keys=place.keys)
    with pytest.raises(BadState, match="settings that other was made with"):
        backups.cost(linear(first=7), folder / "both.db", place.where, name="other", keys=place.keys)
    with pytest.raises(ValueError, match="no such file"):
        backups.cost(linear(), folder / "none.db", place.where, keys=place.keys)
    (folder / "text.db").write_text("x" * 9000)
    with pytest.raises(BadState, match="got another file"):
        backups.cost(linear(), folder / "text.db", place.where, keys=place.keys)
    assert backups.restore(linear(), folder / "both.db", place.where, name="other", keys=place.keys) == 2
    elsewhere = Place(str(folder / "elsewhere.db"), folder / "elsewhere")
    elsewhere.open(linear(**LIMITED)).close()
    with pytest.raises(BadState, match="another bandit of the same name"):
        backups.restore(linear(**LIMITED), folder / "both.db", elsewhere.where, keys=elsewhere.keys)
    retire(place.where, keys=place.keys)
    for restore in (backups.cost, backups.restore):
        with pytest.raises(Retired):
            restore(linear(**LIMITED), folder / "both.db", place.where, keys=place.keys)


@pytest.mark.parametrize("apart", [pytest.param(1, marks=pytest.mark.full), 15])
def test_a_backup_that_is_killed_is_not_there(place, folder, apart):
    """And the next one is whole."""
    leaves, outcomes = lived(place, Clock()), []
    for number in range(0, 200, apart):
        file = folder / f"{number}.db"
        outcomes.append(dies_at(number, place, lambda file=file: backed_up(place, file)))
        assert file.exists() != outcomes[-1]
        if not outcomes[-1]:
            break
        backed_up(place, file)
    assert outcomes[0] and not outcomes[-1]
    recover(linear(**LIMITED), file, keys=folder / "other keys")
    with on_other(file, folder).open(linear(**LIMITED)) as stored:
        assert table(stored, LEAVES) == leaves


def on_other(file, folder):
    return Place(str(file), folder / "other keys")


def test_what_has_moved_is_neither_backed_up_nor_restored_in_its_old_place(on_sqlite, on_postgres, folder):
    lived(on_sqlite, Clock())
    backed_up(on_sqlite, folder / "backup.db")
    move(on_sqlite.where, on_postgres.where, keys=on_sqlite.keys)
    made = backups.Backup(folder / "other.db")
    with pytest.raises(Moved):
        made.add(on_sqlite.where, keys=on_sqlite.keys)
    made.abandon()
    assert not list(folder.glob("other.db*"))
    with pytest.raises(Moved):
        backups.restore(linear(**LIMITED), folder / "backup.db", on_sqlite.where, keys=on_sqlite.keys)
    with pytest.raises(Moved):
        recover(linear(**LIMITED), on_sqlite.where, keys=on_sqlite.keys)


@pytest.mark.parametrize("apart", [pytest.param(1, marks=pytest.mark.full), 8])
def test_a_restore_that_is_killed_is_done_again(place, folder, apart):
    """In between nobody opens what was put back; the incarnation before may be open until then."""
    clock, file = Clock(), folder / "backup.db"
    leaves = lived(place, clock)
    backed_up(place, file)
    before, closed, outcomes = 1, 0, []
    for number in range(0, 300, apart):
        was = dies_at(number, place, lambda: backups.restore(linear(**LIMITED), file, place.where, keys=place.keys))
        try:
            with place.open(linear(**LIMITED), clock=clock) as stored:
                assert stored.incarnation == before or table(stored, LEAVES)[: len(leaves)] == leaves
        except RolledBack:
            closed += 1
        outcomes.append(was)
        number = backups.restore(linear(**LIMITED), file, place.where, keys=place.keys)
        with place.open(linear(**LIMITED), clock=clock) as stored:
            assert before < stored.incarnation == number <= before + 3 and table(stored, LEAVES) == leaves
            before = stored.incarnation
        if not was:
            break
    assert closed and outcomes[-1] is False


# a worker that has the file


WORKER = """
import sys, time
from tests.store.places import Place, linear
from pathlib import Path
place = Place(sys.argv[1], Path(sys.argv[2]))
with place.open(linear(max_rounds_per_person=5), background=True, clock=time.time) as stored:
    print(stored.choose([[1.0, 0, 0]], request="mine", person="ada").id, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def worker(on_sqlite):
    """Another process, which has the file until it is told to stop."""
    command = [sys.executable, "-c", WORKER, on_sqlite.where, str(on_sqlite.keys)]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert started.stdout.readline()
    yield started
    started.kill()
    started.communicate()


def test_a_worker_copies_and_rotates_for_others(on_sqlite, folder, worker):
    """Whoever asks has the folder of keys; the worker goes on, and nothing is left beside its file."""
    before = Keys(on_sqlite.keys).labels("")
    asked = [threading.Thread(target=backed_up, args=(on_sqlite, folder / f"{i}.db")) for i in range(2)]
    for thread in asked:  # two at once
        thread.start()
    rotate_at(on_sqlite.where, keys=on_sqlite.keys)
    for thread in asked:
        thread.join()
    assert worker.poll() is None
    after = Keys(on_sqlite.keys).labels("")
    assert len(after) == len(before) and [label for label in after if label.endswith("sums.1")]
    assert sorted(path.name for path in folder.glob("*.db*")) == ["0.db", "1.db", "bandit.db", "bandit.db-wal"]
    worker.communicate(b"")
    with on_sqlite.open(linear(**LIMITED)) as stored:
        assert "keys rotated" in [what for _, what in stored.events]
    for i in range(2):
        number = backups.restore(linear(**LIMITED), folder / f"{i}.db", on_sqlite.where, keys=on_sqlite.keys)
        assert number == 2 + i


def test_a_worker_that_is_killed_meanwhile_leaves_the_file_to_whoever_asked(on_sqlite, folder, worker):
    os.kill(worker.pid, signal.SIGSTOP)  # it stands still: nobody replies
    asked = threading.Thread(target=backed_up, args=(on_sqlite, folder / "backup.db"))
    asked.start()
    while not (on_sqlite.keys / "bandit.asked").exists() or not (on_sqlite.keys / "bandit.asked").read_bytes():
        assert asked.is_alive()
        time.sleep(0.01)
    worker.kill()
    asked.join()
    assert (folder / "backup.db").exists() and not list(folder.glob("*.copy"))


def test_a_retired_bandit_is_backed_up_while_it_is_shown(on_sqlite, folder):
    leaves = lived(on_sqlite, Clock())
    retire(on_sqlite.where, keys=on_sqlite.keys)
    with on_sqlite.open(linear(**LIMITED), background=True):
        backed_up(on_sqlite, folder / "backup.db")
        with pytest.raises(Retired):
            rotate_at(on_sqlite.where, keys=on_sqlite.keys)
    with pytest.raises(Retired):
        rotate_at(on_sqlite.where, keys=on_sqlite.keys)
    assert Keys(on_sqlite.keys).labels("") == []
    with pytest.raises(Retired):
        backups.restore(linear(**LIMITED), folder / "backup.db", str(folder / "new.db"), keys=folder / "new keys")
    with on_sqlite._replace(where=str(folder / "backup.db")).open(linear(**LIMITED)) as stored:
        assert stored.retired and table(stored, LEAVES) == leaves


def test_nobody_who_waits_no_more_is_served(on_sqlite, folder, monkeypatch):
    """What was asked by a process that is gone is not done; an unknown wish is not, either."""
    with on_sqlite.open(linear()) as stored:
        (on_sqlite.keys / "bandit.asked").write_text('{"token": "abc", "what": "backup"}')
        stored.look()
        monkeypatch.setattr(control, "BEGIN", 0.1)
        with pytest.raises(BadState, match="replies"):
            backed_up(on_sqlite, folder / "backup.db")  # nobody looks
        assert not (on_sqlite.keys / "bandit.replied").exists() and not list(folder.glob("*.copy"))


@pytest.mark.parametrize("apart", [pytest.param(1, marks=pytest.mark.full), 4])
def test_a_rotation_that_is_killed_leaves_sums_that_can_be_read_and_one_key(place, apart):
    clock, outcomes = Clock(), []
    lived(place, clock)
    for number in range(0, 200, apart):
        with place.open(linear(**LIMITED), clock=clock) as stored:
            exact = {step: one.tolist() for step, one in sums(stored).items()}
            key = stored.head.sums_key
        was = dies_at(number, place, lambda: rotate_at(place.where, keys=place.keys))
        with place.open(linear(**LIMITED), clock=clock) as stored:
            stored.tend()
            assert {step: one.tolist() for step, one in sums(stored).items()} == exact
            now = stored.head.sums_key
            labels = [int(one.rpartition(".")[2]) for one in Keys(place.keys).labels(f"{stored._vault.uid}.sums")]
            assert now in labels and min(labels) == now
            outcomes.append((was, now - key))
        if not was:
            break
    assert outcomes[0] == (True, 0) and outcomes[-1] == (False, 1)


def test_a_rotation_while_workers_release(on_postgres):
    """Each release is the sum of what came, whoever rotated in between."""
    clock = Clock()
    with on_postgres.open(linear(), clock=clock) as one, on_postgres.open(linear(), clock=clock) as other:
        for i, stored in enumerate([one, other] * 3):
            play(stored, np.random.default_rng(i), 12, prefix=f"{i} ", together=12)
            rotate_at(on_postgres.where, keys=on_postgres.keys)
        settle(one)
        settle(other)
        assert one.version == other.version > 2 and np.array_equal(total(one), total(other))
