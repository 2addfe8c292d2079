"""kill -9 during `recover`: done again it is done, no key of an earlier incarnation is left, and no step has a second
noise."""

import os
import random
import shutil
import signal
import time

import numpy as np
import pytest

from tacit import recover
from tacit.errors import RolledBack
from tacit.holders.seal import Keys
from tests.store.places import dies_at, linear, play, table

LEAVES = "SELECT bandit, step, noisy FROM leaf ORDER BY bandit, step"


def lived(place):
    with place.open(linear()) as stored:
        if stored.version == 0:
            play(stored, np.random.default_rng(0), 25, together=25)
        return stored._vault.bandit.incarnation, table(stored, LEAVES)


def check(place, before, leaves, killed):
    """Opened, whatever was left: one incarnation more at the most, the same leaves, and the keys of one incarnation. Of
    one that was not made (killed before its commit) there may be keys too: nothing was ever sealed with them. Killed
    between the witness and the commit, it is done again, and the number of the one that was not made is left out."""
    most = before + 1
    try:
        place.open(linear()).close()
    except RolledBack:
        assert killed
        recover(linear(), place.where, keys=place.keys)
        most += 1
    with place.open(linear()) as stored:
        now = stored._vault.bandit.incarnation
        assert before <= now <= most and (killed or now == before + 1)
        assert [row for row in table(stored, LEAVES) if row in leaves] == leaves
        uids = {uid for (uid,) in table(stored, "SELECT uid FROM bandit")}
        with_keys = {label.partition(".")[0] for label in Keys(place.keys).labels("")}
        assert with_keys & uids == {stored._vault.uid}
        if now > before:
            play(stored, np.random.default_rng(now), 11, prefix=f"{now} ", together=11)
            assert stored.version == 1
        return now, table(stored, LEAVES)


@pytest.mark.parametrize("apart", [pytest.param(1, marks=pytest.mark.full), 2])
def test_killed_at_a_statement(place, apart):
    incarnation, leaves = lived(place)
    outcomes = []
    for number in range(0, 60, apart):
        killed = dies_at(number, place, lambda: recover(linear(), place.where, keys=place.keys))
        now, leaves = check(place, incarnation, leaves, killed)
        outcomes.append((killed, now - incarnation))
        incarnation = now
        if not killed:
            break
    assert (True, 0) in outcomes and (True, 1) in outcomes and outcomes[-1] == (False, 1)


def test_killed_while_keys_are_destroyed(place):
    """Between the commit and the last key: whoever comes next, to recover or to open, destroys the rest."""
    incarnation, leaves = lived(place)
    for again in (False, True):
        for number in range(0, 8, 2):
            child = os.fork()
            if child == 0:
                destroy, seen = Keys.destroy, [0]

                def dying(self, label, destroy=destroy, seen=seen, number=number):
                    if seen[0] == number:
                        os.kill(os.getpid(), signal.SIGKILL)
                    seen[0] += 1
                    destroy(self, label)

                Keys.destroy = dying
                try:
                    recover(linear(), place.where, keys=place.keys)
                finally:
                    os._exit(0)
            killed = os.waitpid(child, 0)[1] == signal.SIGKILL
            if again:
                incarnation += 1
                assert recover(linear(), place.where, keys=place.keys) == incarnation + 1
            incarnation, leaves = check(place, incarnation, leaves, False)
            if not killed:
                break
        assert not killed and number > 1


@pytest.mark.parametrize("witness", [True, False])
def test_keys_of_an_incarnation_that_a_restore_has_lost(on_sqlite, folder, witness):
    """A copy of the first incarnation is restored twice: of the second one, which it does not know, no key is left, and
    its number is not given again, also where the witness is lost."""
    lived(on_sqlite)
    shutil.copy(on_sqlite.where, folder / "copy.db")
    recover(linear(), on_sqlite.where, keys=on_sqlite.keys)
    with on_sqlite.open(linear()) as stored:
        play(stored, np.random.default_rng(1), 5, together=5)
        lost = stored._vault.uid
    shutil.copy(folder / "copy.db", on_sqlite.where)
    assert Keys(on_sqlite.keys).labels(lost)
    if not witness:
        (on_sqlite.keys / "bandit.witness").unlink()
    assert recover(linear(), on_sqlite.where, keys=on_sqlite.keys) == 3
    assert not Keys(on_sqlite.keys).labels(lost)


def random_kills(place, kills, seed):
    incarnation, leaves = lived(place)
    moments, took, hits, n = random.Random(seed), 1.0, 0, 0
    while n < kills + 2 or (not hits and n < 20 * kills):  # on a busy machine none of a few may hit
        began, child = time.perf_counter(), os.fork()
        if child == 0:
            try:
                recover(linear(), place.where, keys=place.keys)
            finally:
                os._exit(0)
        if n >= 2:  # two are left alone, and say how long it takes
            time.sleep(moments.uniform(0.0, took))
            os.kill(child, signal.SIGKILL)
        killed = os.waitpid(child, 0)[1] == signal.SIGKILL
        took = took if killed else min(took, time.perf_counter() - began)
        hits += killed
        n += 1
        incarnation, leaves = check(place, incarnation, leaves, killed)
    assert hits


def test_killed_at_random(place):
    random_kills(place, 5, 1)


@pytest.mark.full
def test_killed_at_random_often(place):
    random_kills(place, 100, 2)
