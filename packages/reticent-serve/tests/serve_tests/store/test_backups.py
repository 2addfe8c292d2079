"""A backup of either database while it is in use."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from reticent.errors import BadState, Retired
from reticent_serve import restore, retire
from reticent_serve.holders import backups
from reticent_serve.holders.seal import Keys
from serve_tests.store.places import Clock, backed_up, linear, play, rows_of, table
from serve_tests.store.processes import at_once, dies_at

LEAVES = "SELECT noisy FROM leaf ORDER BY bandit, step"
LIMITED = {"rounds": 5}


def lived(place, clock):
    with place.open(linear(**LIMITED), clock=clock) as stored:
        play(stored, np.random.default_rng(0), 25, together=25)
        stored.choose(np.eye(3), request="waits", person="ada")
        return table(stored, LEAVES)


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
    assert outcomes[0] and not outcomes[-1] and rows_of(place._replace(where=str(file)), LEAVES) == leaves


# a worker that has the file


WORKER = """
import sys, time
from serve_tests.store.places import Place, linear
from pathlib import Path
place = Place(sys.argv[1], Path(sys.argv[2]))
with place.open(linear(rounds=5), background=True, clock=time.time) as stored:
    print(stored.choose([[1.0, 0, 0]], request="mine", person="ada").id, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def worker(on_sqlite):
    """Another process, which has the file until it is told to stop."""
    command = [sys.executable, "-c", WORKER, on_sqlite.where, str(on_sqlite.keys)]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[5])
    assert started.stdout.readline()
    yield started
    started.kill()
    started.communicate()


def test_a_worker_copies_for_others(on_sqlite, folder, worker):
    """Whoever asks has the folder of keys; the worker goes on, and nothing is left beside its file."""
    at_once(*(lambda i=i: backed_up(on_sqlite, folder / f"{i}.db") for i in range(2)))
    assert worker.poll() is None
    assert sorted(path.name for path in folder.glob("*.db*")) == ["0.db", "1.db", "bandit.db", "bandit.db-wal"]
    worker.communicate(b"")
    for i in range(2):
        restore(linear(**LIMITED), folder / f"{i}.db", on_sqlite.where, keys=on_sqlite.keys)


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
    assert Keys(on_sqlite.keys).labels("") == []
    with pytest.raises(Retired):
        restore(linear(**LIMITED), folder / "backup.db", str(folder / "new.db"), keys=folder / "new keys")
    with on_sqlite._replace(where=str(folder / "backup.db")).open(linear(**LIMITED)) as stored:
        assert stored.retired and table(stored, LEAVES) == leaves


def test_nobody_who_waits_no_more_is_served(on_sqlite, folder, monkeypatch):
    """What was asked by a process that is gone is not done."""
    with on_sqlite.open(linear()) as stored:
        (on_sqlite.keys / "bandit.asked").write_text('{"token": "abc"}')
        stored.look()
        monkeypatch.setattr(backups, "BEGIN", 0.1)
        with pytest.raises(BadState, match="replies"):
            backed_up(on_sqlite, folder / "backup.db")  # nobody looks
        assert not (on_sqlite.keys / "bandit.replied").exists() and not list(folder.glob("*.copy"))
