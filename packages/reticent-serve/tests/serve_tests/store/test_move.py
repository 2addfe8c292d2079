"""A bandit moves to another database: as if it had not, whenever the move is killed; at most one group is ever open."""

import contextlib
import dataclasses
import itertools
import shutil
import threading
import time

import numpy as np
import pytest

from reticent.errors import BadState, Moved, ReticentError, Retired, RolledBack
from reticent_serve import retire
from reticent_serve.holders import moving, schema
from reticent_serve.holders.moving import move
from serve_tests.store.conftest import of_postgres
from serve_tests.store.places import (
    Clock,
    Place,
    arms,
    contribution,
    glm,
    linear,
    play,
    restored,
    settle,
    sums,
    table,
    total,
)
from serve_tests.store.processes import KILLED, at_once, die, dies_at, forked
from serve_tests.store.test_both_holders import Same

LEAVES = "SELECT step, noisy FROM leaf ORDER BY step"
PERSONS = "SELECT digest, rounds FROM person ORDER BY digest"
LOG = {
    "x0": [0.2, 0.9, 0.4],
    "x1": [0.1, 0.3, -0.5],
    "x2": [0.0, 0.1, 0.3],
    "reward": [1.0, 0.0, None],
    "person": ["eve", "carl", "bob"],
}
SKEW = 5.0


def bandit():
    return glm(rounds=5)


def draws():
    """The same for whoever opens it."""
    return {"source": Same(), "policy": np.random.default_rng(1)}


def lives(place, clock, part):
    """Some people, of whom a few wait still; what anybody may see of it, and what nobody may."""
    rng, seen = np.random.default_rng(part), []
    with place.open(bandit(), clock=clock, **draws()) as stored:
        for i in range(3):
            asked = [
                stored.prepare(arms(rng), request=f"{part} {i} {j}", person=f"p{part} {i} {j % 3}") for j in range(9)
            ]
            choices = stored.choose_group(asked)
            stored.write_group([stored.report(choice, float(rng.random() < 0.5)) for choice in choices[:6]])
            clock.now += stored.window + SKEW + 0.01
            stored.tend()
            seen += [(choice.index, choice.id) for choice in choices]
        stored.learn_log(LOG, log=f"log {part}")
        clock.now += SKEW + 0.01  # on PostgreSQL rows of a log wait, too
        stored.tend()
        waiting = stored.choose(arms(rng), request=f"waits {part}", person="ada", propensity=True)
        stored.observe(waiting, 1.0)
        stored.choose(arms(rng), request=f"silent {part}", person="carl")
        seen += [waiting.id, waiting.propensity, stored.version, stored.choices, stored.privacy.epsilon]
        return seen, table(stored, LEAVES), {s: one.tolist() for s, one in sums(stored).items()}, table(stored, PERSONS)


def again(place, clock, part, seen):
    """Sent again: the same answer, a reward that counts, and rows of a log that are learnt."""
    with place.open(bandit(), clock=clock, **draws()) as stored:
        choices = stored.choices
        assert stored.choose(arms(np.random.default_rng(0)), request=f"waits {part}", person="ada").id == seen[27]
        assert stored.observe(seen[27], 0.0)
        stored.learn_log(LOG, log=f"log {part}")
        assert stored.choices == choices


def test_it_goes_on_bit_by_bit_there_and_back(on_sqlite, on_postgres, folder, clock):
    """With the same noise of integers, each release is the one that the bandit which stays makes."""
    first = lives(on_sqlite, clock, 0)
    shutil.copytree(folder, folder / "stays", ignore=shutil.ignore_patterns("stays"))
    stays, other = Place(str(folder / "stays" / "bandit.db"), folder / "stays" / "keys"), Clock()
    other.now = clock.now
    for part, (here, there) in enumerate([(on_sqlite, on_postgres), (on_postgres, on_sqlite)], 1):
        assert move(here.where, there.where, keys=here.keys) == here.keys
        again(there, clock, part - 1, first[0])
        first = lives(there, clock, part)
        assert first == lives(stays, other, part)
        with pytest.raises(Moved, match=f"moved from, to {moving.opening.place_of(there.where).partition(' ')[0]}"):
            here.open(bandit())
        if part == 1:
            with contextlib.closing(moving.opening.connect(here.where)) as left, left.transaction() as run:
                for raw in ("choice", "waiting", "written", "open_step", "person", "key_fingerprint"):
                    assert run(f"SELECT count(*) FROM {raw}") == [(0,)], raw
                assert run("SELECT DISTINCT length(sums) FROM leaf") == [(0,)]
    with on_sqlite.open(bandit(), clock=clock) as stored:
        assert [what.partition(" from ")[0] for _, what in stored.events if "moved" in what] == ["moved here"] * 2
        assert stored.predecessors == () and stored.privacy.epsilon == pytest.approx(1.0, rel=1e-6)


def opened(place):
    """Whether somebody can open it there; without a window none is made."""
    try:
        place.open(linear(), reward={"window": None}).close()
    except (BadState, ValueError):
        return False
    return True


def ready(place, clock=None):
    """A bandit with releases, and rows that wait."""
    with place.open(linear(), clock=clock or Clock()) as stored:
        play(stored, np.random.default_rng(0), 12, together=12)
        stored.observe(stored.choose(np.eye(3), request="mine"), 1.0)
        play(stored, np.random.default_rng(1), 30, prefix="s", together=30)
        return stored.choose(np.eye(3), request="last").id, table(stored, LEAVES), total(stored)


def killed_at(number, here, there, known):
    """Whether it was killed; run again it has happened, once."""
    was = dies_at(number, here, lambda: move(here.where, there.where, keys=here.keys))
    groups = [opened(here), opened(there)]
    assert sum(groups) <= 1 and (was or groups == [False, True]), groups
    move(here.where, there.where, keys=here.keys)
    move(here.where, there.where, keys=here.keys)  # and once more
    assert not opened(here)
    with there.open(linear()) as stored:
        last, leaves, exact = known
        assert stored.choose(np.eye(3), request="last").id == last
        assert table(stored, LEAVES) == leaves and np.array_equal(total(stored), exact)
        assert len([what for _, what in stored.events if what.endswith(moving.opening.place_of(here.where))]) == 1
    return was, groups


@pytest.mark.parametrize("apart", [pytest.param(1, marks=pytest.mark.full), 9])
@pytest.mark.parametrize("back", [False, True])
def test_killed_at_a_statement(postgres, folder, apart, back):
    made = Place(str(folder / "made" / "bandit.db"), folder / "made" / "keys")
    (folder / "made").mkdir()
    known, outcomes = ready(made), []
    for number in range(0, 400, apart):
        own = folder / str(number)
        shutil.copytree(folder / "made", own)
        file, server = Place(str(own / "bandit.db"), own / "keys"), of_postgres(postgres, own)
        if back:
            move(file.where, server.where, keys=file.keys)
        here, there = (server, file) if back else (file, server)
        outcomes.append(killed_at(number, here, there, known))
        if not outcomes[-1][0]:
            break
    kinds = {tuple(groups) for _, groups in outcomes}
    assert not outcomes[-1][0] and {(True, False), (False, False), (False, True)} <= kinds


def stopped(here, there, before):
    """Whether a move was killed before it called that."""

    def moves():
        setattr(*before, die)
        move(here.where, there.where, keys=here.keys)

    return forked(moves) == KILLED


def test_killed_between_files(on_sqlite, on_postgres, monkeypatch):
    """Before and after the witness names the new place: neither side is open, and a run more opens one."""
    known = ready(on_sqlite)
    for name in ("move", "_write"):
        assert stopped(on_sqlite, on_postgres, (moving.Witness, name))
        assert not opened(on_sqlite) and not opened(on_postgres)
    move(on_sqlite.where, on_postgres.where, keys=on_sqlite.keys)
    with on_postgres.open(linear()) as stored:
        assert stored.choose(np.eye(3), request="last").id == known[0]


@pytest.mark.parametrize("named", [False, True])
def test_a_destination_that_is_lost(on_sqlite, on_postgres, postgres, folder, named):
    """Before the witness names it, the bandit may go to another place; afterwards it may be open there, so that only a
    new bandit is made from the source, and what was copied is refused from then on."""
    ready(on_sqlite)
    assert stopped(on_sqlite, on_postgres, (moving, "_open") if named else (moving.Witness, "move"))
    other = of_postgres(postgres, folder)
    if named:
        with pytest.raises(Moved, match="not finished"):
            move(on_sqlite.where, other.where, keys=on_sqlite.keys)
        with pytest.raises(Moved, match="not finished"):
            move(on_sqlite.where, on_sqlite.where, keys=on_sqlite.keys)
        restored(on_sqlite, linear())
    else:
        move(on_sqlite.where, other.where, keys=on_sqlite.keys)
    assert [opened(one) for one in (on_sqlite, on_postgres, other)] == [named, False, not named]


def test_a_drawn_leaf_that_the_witness_does_not_know_is_not_drawn_again(on_sqlite, on_postgres, monkeypatch, clock):
    with on_sqlite.open(linear(), clock=clock) as stored:
        choices = stored.choose_group([stored.prepare(np.eye(3)) for _ in range(10)])
        stored.write_group([stored.report(choice, 1.0) for choice in choices])
        clock.now += 100.0
        monkeypatch.setattr(type(stored._steps), "_unseal", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            stored.tend()
        ((sealed,),) = table(stored, "SELECT noisy FROM drawn")
        noisy = stored._store.seal.open("sums", f"{stored._store.uid} sums 0 noisy", sealed)
    monkeypatch.undo()
    move(on_sqlite.where, on_postgres.where, keys=on_sqlite.keys)
    with on_postgres.open(linear(), clock=clock) as stored:
        stored.tend()
        assert table(stored, LEAVES) == [(0, noisy)] and stored.version == 1


def test_workers_at_work_lose_nothing_that_was_acknowledged(on_postgres, on_sqlite):
    """While choices and rewards come from two workers: each that was acknowledged is in the new place, and counts."""
    known, refused, both = [], [], threading.Barrier(2)
    on_postgres.open(linear()).close()

    def work(start):
        with on_postgres.open(linear()) as stored:
            both.wait()
            for i in itertools.count(start, 2):
                rng = np.random.default_rng(i)
                try:
                    features = arms(rng, count=1)
                    choice = stored.choose(features, request=f"{i}")
                    if stored.observe(choice, 0.5):
                        known.append((choice.id, features[0]))
                except Moved as error:
                    refused.append(error)
                    return

    def moves():
        until = time.monotonic() + 120
        while len(known) < 30 and time.monotonic() < until:
            time.sleep(0.01)
        move(on_postgres.where, on_sqlite.where, keys=on_postgres.keys)

    at_once(lambda: work(0), lambda: work(1), moves)
    assert len(refused) == 2
    with on_sqlite.open(linear()) as stored:
        stored.choose(np.eye(3))  # a number whose rows never came enters before it
        settle(stored)
        assert stored.entered == stored.choices >= len(known)
        expected = sum(contribution(linear(), x, 0.5) for _, x in known)
        rest = total(stored) - expected
        assert (rest == 0).all() or stored.choices > len(known)  # a reward whose acknowledgement was not seen
        assert np.linalg.norm(rest) <= 2 * np.linalg.norm(contribution(linear(), np.eye(3)[0], 0.5)) * 1.01


def test_what_is_refused_changes_nothing(on_sqlite, on_postgres, folder):
    last, *_ = ready(on_sqlite)
    on_postgres._replace(keys=folder / "other keys").open(linear()).close()
    with pytest.raises(BadState, match="without a bandit of the name bandit"):  # one that was there before
        move(on_sqlite.where, on_postgres.where, keys=on_sqlite.keys)
    assert not opened(on_sqlite)
    with pytest.raises(Moved, match="not finished"):
        on_sqlite.open(linear())
    move(on_sqlite.where, on_sqlite.where, keys=on_sqlite.keys)  # takes it back
    with on_sqlite.open(linear()) as stored:
        assert stored.choose(np.eye(3), request="last").id == last
    with pytest.raises(ValueError, match="another database than the one"):
        move(on_sqlite.where, on_sqlite.where, keys=on_sqlite.keys)
    with pytest.raises(BadState, match="of the name nobody"):
        move(on_sqlite.where, on_postgres.where, name="nobody", keys=on_sqlite.keys)
    assert opened(on_sqlite)


def test_an_older_database_does_not_move(on_sqlite, on_postgres, folder, clock):
    ready(on_sqlite, clock)
    shutil.copy(on_sqlite.where, folder / "copy.db")
    with on_sqlite.open(linear(), clock=clock) as stored:
        play(stored, np.random.default_rng(2), 60, prefix="t", together=60)
    shutil.copy(folder / "copy.db", on_sqlite.where)
    with pytest.raises(RolledBack):
        move(on_sqlite.where, on_postgres.where, keys=on_sqlite.keys)
    retire_at = on_postgres._replace(keys=folder / "other keys")
    retire_at.open(linear()).close()
    retire(retire_at.where, keys=retire_at.keys)
    with pytest.raises(Retired):
        move(retire_at.where, str(folder / "retired.db"), keys=retire_at.keys)


def test_a_restored_copy_of_the_old_place_is_refused(on_sqlite, on_postgres, folder):
    """It knows nothing of the move; the witness does."""
    ready(on_sqlite)
    shutil.copy(on_sqlite.where, folder / "copy.db")
    move(on_sqlite.where, on_postgres.where, keys=on_sqlite.keys)
    shutil.copy(folder / "copy.db", on_sqlite.where)
    with pytest.raises(RolledBack, match="a copy of it in another place"):
        on_sqlite.open(linear())
    assert opened(on_postgres)


def test_a_worker_of_the_old_place_cannot_write_to_the_witness(on_postgres, on_sqlite):
    """One that was stopped within a release, and goes on when the bandit has moved."""
    with on_postgres.open(linear()) as late:
        play(late, np.random.default_rng(0), 12, together=12)
        move(on_postgres.where, on_sqlite.where, keys=on_postgres.keys)
        with pytest.raises(RolledBack):
            late._store.witness.record(dataclasses.replace(late._steps._drawn, used=99))
        for call in (late.tend, lambda: late.choose(np.eye(3)), lambda: late.erase("ada")):
            with pytest.raises(ReticentError, match=r"moved|another place"):
                call()
    assert opened(on_sqlite)


def test_words_for_a_database_hold_no_password():
    found = moving.opening.place_of("postgresql://me:secret@db.example:5433/reticent?password=secret")
    assert found == "postgresql://db.example:5433/reticent"
    with pytest.raises(ValueError, match="%2F for a / in it, got none"):
        moving.opening.place_of("postgresql://me:sec/ret@db.example/reticent")


def test_every_table_is_copied_or_named():
    made = [statement.split()[2] for statement in schema.TABLES if "TABLE" in statement]
    assert sorted(made) == sorted([*(one.name for one in moving.TABLES), *moving.LEFT])
