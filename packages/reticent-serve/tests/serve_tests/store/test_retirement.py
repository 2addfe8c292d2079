"""The end of a bandit: nobody is answered, nothing raw and no key is left, what was released can still be read."""

import shutil

import numpy as np
import pytest

from reticent.errors import BadState, Retired, RolledBack, WrongKeys
from reticent_serve.holders import leaf_rows
from reticent_serve.holders.retirement import retire
from reticent_serve.holders.seal import Keys
from serve_tests.store.places import arms, glm, play, restored, table
from serve_tests.store.processes import KILLED, die, dies_at, forked


def limited():
    return glm(rounds=5)


def lived(place, rounds=25):
    """A bandit with releases, a choice that waits and a person."""
    rng = np.random.default_rng(0)
    with place.open(limited()) as stored:
        play(stored, rng, rounds, together=13)
        waiting = stored.choose(arms(rng), person="ada", request="w")
        stored.observe(waiting, 1.0)
        return waiting, stored.theta, stored.version, stored.privacy, table(stored, "SELECT noisy FROM leaf")


def refuses(stored, waiting):
    rng = np.random.default_rng(1)
    for call in (
        lambda: stored.choose(arms(rng), person="ada"),
        lambda: stored.choose(arms(rng), person="ada", request="w"),
        lambda: stored.observe(waiting.id, 1.0),
        stored.tend,
    ):
        with pytest.raises(Retired):
            call()


def test_what_is_left(place):
    waiting, theta, version, privacy, leaves = lived(place)
    for _ in range(2):  # again: nothing happens
        retire(place.where, keys=place.keys)
    with pytest.raises(Retired):  # its name is not given again
        restored(place, limited())
    with pytest.raises(BadState, match="name"):
        retire(place.where, name="nobody", keys=place.keys)
    with place.open(limited(), background=True) as stored:
        refuses(stored, waiting)
        assert stored.retired and np.array_equal(stored.theta, theta) and stored.version == version == 2
        assert stored.privacy.epsilon == privacy.epsilon and stored.privacy.spent == privacy.spent
        assert any(caveat.startswith("Retired") for caveat in stored.privacy.caveats)
        assert table(stored, "SELECT noisy FROM leaf") == leaves and stored.choices == 26
        assert [what for _, what in stored.events] == ["retired"]
        for raw in ("choice", "waiting", "written", "open_step", "person"):
            assert table(stored, f"SELECT count(*) FROM {raw}") == [(0,)]
        assert table(stored, "SELECT DISTINCT length(sums) FROM leaf") == [(0,)]
    assert Keys(place.keys).labels("") == []


def test_workers_that_are_open_refuse_from_then_on(on_postgres, rng):
    with on_postgres.open(limited()) as one, on_postgres.open(glm(), name="other") as other:
        waiting = one.choose(arms(rng), person="ada")
        retire(on_postgres.where, keys=on_postgres.keys)
        refuses(one, waiting)
        assert one.retired and one.choices == 1 and one.privacy.private
        play(other, rng, 12, together=12)  # its neighbour in the same database and the same folder of keys goes on
        assert other.version == 1


def test_keys_of_another_that_is_at_work_are_never_destroyed(on_sqlite, folder):
    """By an older copy of the database, or by a bandit of the same name that has ended; nor may keys be missed."""
    copy, other = on_sqlite._replace(where=str(folder / "copy.db")), on_sqlite._replace(keys=folder / "other")
    lived(on_sqlite)
    shutil.copy(on_sqlite.where, copy.where)
    with on_sqlite.open(limited()) as stored:
        play(stored, np.random.default_rng(1), 36, prefix="s", together=12)
    ended = copy._replace(where=str(folder / "ended.db"), keys=folder / "ended")
    lived(ended)
    retire(ended.where, keys=ended.keys)
    wrong = ended._replace(keys=on_sqlite.keys)
    for work in (
        lambda: retire(copy.where, keys=copy.keys),
        lambda: retire(wrong.where, keys=wrong.keys),
        lambda: wrong.open(limited()),
    ):
        with pytest.raises(RolledBack):
            work()
    with pytest.raises(WrongKeys):
        retire(other.where, keys=other.keys)
    with on_sqlite.open(limited()) as stored:
        assert stored.version >= 3 and not stored.retired
    (on_sqlite.keys / "bandit.witness").unlink()
    with pytest.raises(RolledBack):  # nobody knows whether it is an older copy
        retire(on_sqlite.where, keys=on_sqlite.keys)


def test_a_release_that_only_the_witness_has_is_counted(place):
    """Its worker was killed before it was unsealed, and another one may have shown it."""
    lived(place, 12)

    def killed():
        with place.open(limited()) as stored:
            leaf_rows.take = die
            play(stored, np.random.default_rng(1), 36, prefix="s", together=12)

    assert forked(killed) == KILLED
    retire(place.where, keys=place.keys)
    with place.open(limited()) as stored:
        assert stored.version == 2 and not table(stored, "SELECT * FROM drawn")


def test_a_retirement_that_is_killed_is_finished_when_the_bandit_is_opened(place):
    waiting, *_ = lived(place)
    outcomes = []
    for number in range(0, 40, 2):
        killed = dies_at(number, place, lambda: retire(place.where, keys=place.keys))
        with place.open(limited()) as stored:
            outcomes.append((killed, stored.retired))
            if stored.retired:
                refuses(stored, waiting)
                assert Keys(place.keys).labels("") == []
            else:
                assert stored.choose(arms(np.random.default_rng(3)), person="ada", request="w").id == waiting.id
        if not killed:
            break
    assert (True, False) in outcomes and outcomes[-1] == (False, True)
