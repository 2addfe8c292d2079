"""A second noise for one step: by a lost witness, a leaf drawn and not shown yet, or a database and keys taken back."""

import functools
import json
import math
import os
import shutil
import subprocess

import numpy as np
import psycopg
import pytest

from reticent import Budget
from reticent.core.bandit import warm_up
from reticent.errors import BadState, RolledBack, UnknownChoice
from reticent.privacy import gaussian
from reticent_serve import restore
from reticent_serve.holders.seal import Keys
from serve_tests.store.clusters import tool
from serve_tests.store.places import (
    LASTS,
    Clock,
    arms,
    backed_up,
    contribution,
    glm,
    linear,
    lived,
    play,
    restored,
    rows_of,
    settle,
    sums,
    table,
    total,
)
from serve_tests.store.processes import KILLED, die, dies_at, forked
from serve_tests.store.test_restoring import MU, together

LEAVES = "SELECT step, noisy FROM leaf ORDER BY step"


class Copy:
    """Of a database as it is now, without keys; `back` puts it in the place of what is there then."""

    def __init__(self, place, folder):
        self.place, self.path = place, folder / f"copy{len(list(folder.glob('copy*')))}"
        self.schema = place.where.rpartition("%3D")[2]
        if "://" in place.where:
            subprocess.run([tool("pg_dump"), "-Fc", "-n", self.schema, "-f", self.path, place.where], check=True)
        else:
            shutil.copy(place.where, self.path)

    def back(self):
        if "://" not in self.place.where:
            shutil.copy(self.path, self.place.where)
            return
        with psycopg.connect(self.place.where, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {self.schema} CASCADE")
        subprocess.run([tool("pg_restore"), "-d", self.place.where, self.path], check=True)


def keys_alone(place, folder):
    """As `cp *.key` leaves a folder of keys."""
    folder.mkdir(mode=0o700)
    for path in place.keys.glob("*.key"):
        shutil.copy(path, folder)
    return place._replace(keys=folder)


# a witness that is lost


def test_an_older_database_whose_witness_is_lost_is_refused(place, folder):
    """Else the second step would be released again, with other noise, and no event."""
    lived(place)
    copy = Copy(place, folder)
    lived(place, seed=1, prefix="s")
    copy.back()
    alone = keys_alone(place, folder / "alone")
    with pytest.raises(RolledBack, match="witness"):
        alone.open(glm())
    assert len(rows_of(place, LEAVES)) == 1
    restored(alone, glm())
    with alone.open(glm()) as stored:
        play(stored, np.random.default_rng(0), 12, together=12)
        assert stored.version == 1


def test_a_witness_is_there_before_the_first_release(place):
    with place.open(glm()) as stored:
        stored.choose(np.eye(3))
    witness = place.keys / "bandit.witness"
    kept = witness.read_bytes()
    witness.unlink()
    with pytest.raises(RolledBack, match="witness"):
        place.open(glm())
    witness.write_bytes(kept)
    with place.open(glm()) as stored:
        witness.unlink()  # while it is at work
        stored.choose_group([stored.prepare(np.eye(3)) for _ in range(9)])
        with pytest.raises(RolledBack, match="witness"):
            settle(stored)
        assert table(stored, LEAVES) == []


def test_killed_while_it_is_made_a_bandit_is_made_the_next_time(place):
    """At each statement, and after the witness is written: no row is left without one, and no witness is in the way."""
    warm_up(linear())
    for number in range(0, 200, 6):
        name = f"b{number}"
        killed = dies_at(number, place, lambda name=name: place.open(linear(), name=name).close())
        with place.open(linear(), name=name) as stored:
            stored.choose(np.eye(3))
        if not killed:
            break
    assert not killed and number > 5

    def late():
        replace = os.replace
        os.replace = lambda source, target: replace(source, target) or (str(target).endswith(".witness") and die())
        place.open(linear(), name="late")

    assert forked(late) == KILLED and (place.keys / "late.witness").exists()
    with place.open(linear(), name="late") as stored:
        play(stored, np.random.default_rng(2), 11, together=11)
        assert stored.version == 1


# a leaf that is drawn and not shown yet


def test_a_leaf_in_a_backup_is_one_that_the_witness_knows(place, folder):
    """Two backups without keys, with a restore in between, held two noises of one sum: a leaf could be read from its
    commit on, and the witness heard of it when it was shown."""
    rng, clock, noises = np.random.default_rng(3), Clock(), []
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        stored.choose_group([stored.prepare(arms(rng)) for _ in range(10)])
        clock.now += LASTS + stored._database.skew + 0.01
    before = Copy(place, folder)
    for _ in range(2):
        try:
            with place.open(glm(), delay=60.0, clock=clock) as stored:
                stored.tend()
                assert stored.version == 0  # nobody has seen it
                noises += table(stored, LEAVES)
        except RolledBack:
            break
        before.back()
    assert len(noises) == 1


@pytest.mark.parametrize("apart", [pytest.param(1, marks=pytest.mark.full), 6])
def test_killed_while_choices_enter_and_a_leaf_is_drawn_recorded_and_unsealed(place, apart):
    """At each statement: what can be read without keys is known to the witness, one noise is drawn, the next worker
    unseals and shows it, every choice has entered once, and all sums are there under the one key that is left."""

    def even():
        return linear(growth=1.001)

    warm_up(even())
    one, own = contribution(even(), np.array([1.0, 0.0, 0.0]), 1.0), LEAVES.replace("leaf", "leaf WHERE bandit = ?")
    for number in range(0, 200, apart):
        name = f"b{number}"
        with place.open(even(), name=name) as stored:
            uid = stored._store.uid
            for step in range(3):
                asked = [stored.prepare([[1.0, 0.0, 0.0]]) for _ in range(stored.head.boundary - stored.choices)]
                stored.write_group([stored.report(choice, 1.0) for choice in stored.choose_group(asked)])
                if step < 2:
                    settle(stored)
            now = stored._clock.now + LASTS + stored._database.skew + 0.01 - Clock().now
        begun = functools.partial(place.open, even(), name=name, clock=later(now))
        killed = dies_at(number, place, lambda stored: stored.tend(), begun=lambda begun=begun: (begun(),))
        found = rows_of(place, own, uid)  # what a copy without keys shows
        assert len(found) <= len(json.loads((place.keys / f"{name}.witness").read_text())["digests"]) - 1
        with begun() as stored:
            stored.tend()
            assert stored.version == 3 and stored.entered == stored.choices
            leaves = table(stored, own, uid)
            assert [step for step, _ in leaves] == [0, 1, 2] and leaves[: len(found)] == found
            assert np.array_equal(total(stored), stored.choices * one) and len(sums(stored)) == 4
            assert stored.head.sums_key == 3 and Keys(place.keys).labels(f"{uid}.sums") == [f"{uid}.sums.3"]
        if not killed:
            break
    assert not killed and number > 20


# a database and its keys that are taken back together


def taken_back(place, folder, rng, more=0):
    """One that went on for 12 choices after it was copied with its keys, and of which the copy was put back and
    went on, too; and the choices that are lost, of the numbers from 13 on."""
    lived(place)
    copy = Copy(place, folder)
    shutil.copytree(place.keys, folder / "kept keys")
    gone = lived(place, seed=1, prefix="lost ")
    backed_up(place, folder / "of what is lost")
    copy.back()
    shutil.rmtree(place.keys)
    shutil.copytree(folder / "kept keys", place.keys)
    with place.open(glm(), clock=later()) as stored:  # nothing tells yet
        play(stored, rng, more, prefix="more ", together=12)
    return gone


def later(seconds=5.0):
    clock = Clock()
    clock.now += seconds
    return clock


@pytest.mark.parametrize("more", [9, 25])
def test_an_id_of_a_choice_that_is_lost_stops_everything(place, folder, more, rng):
    """Of a number that the database has not come to, or has given to another since."""
    gone = taken_back(place, folder, rng, more=more)
    backed_up(place, folder / "without proof")
    with place.open(glm()) as stored:
        own = stored.choose(arms(rng))
        released, spent = stored.version, gaussian.mu(Budget(stored.privacy.spent, 1e-5))
        with pytest.raises(RolledBack, match="reticent restore CONFIG NAME FILE"):
            stored.observe(gone[-1].id, 1.0)
        for call in (
            lambda: stored.choose(arms(rng)),
            lambda: stored.observe(own, 1.0),
            stored.tend,
            lambda: stored.version,
        ):
            with pytest.raises(RolledBack):
                call()
        assert [what for _, what in stored.events if "taken back in time" in what]
        assert len(table(stored, LEAVES)) == released
    with pytest.raises(RolledBack):
        place.open(glm())
    restore(glm(), folder / "without proof", place.where, keys=place.keys)
    with place.open(glm()) as stored:
        for _ in range(2):  # of a bandit in whose place this one came: not counted, and no evidence
            assert stored.observe(gone[-1].id, 1.0) is False
        play(stored, rng, 12, together=12)
        assert stored.version == 1 and stored.privacy.private
        (charged,) = stored._store.bandit.predecessors
        assert (charged.steps, charged.times) == (released, 2)
        assert "and its whole plan besides" in stored.privacy.caveats[-1]
        alone = gaussian.epsilon(math.hypot(MU, spent), 1e-5)
        assert f"in one of them alone has epsilon {alone:.3g}" in stored.privacy.caveats[-1]
        expected = gaussian.epsilon(math.sqrt(2 * MU**2 + spent**2), 1e-5)
        assert together(stored) == pytest.approx(expected, rel=1e-3)


def test_two_noises_of_one_step_count_twice(place, folder):
    taken_back(place, folder, np.random.default_rng(2), more=9)
    place.open(glm()).close()  # nothing tells yet
    restore(glm(), folder / "of what is lost", place.where, keys=place.keys)
    with place.open(glm()) as stored:
        (charged,) = stored._store.bandit.predecessors
        assert charged.times == 2 and "and its whole plan besides" in stored.privacy.caveats[-1]


@pytest.mark.parametrize("own", ["nothing", "a reward before", "a reward after"])
def test_a_number_that_was_given_to_another_choice_is_noticed_before_that_step_is_released(place, folder, own, rng):
    """What comes for the lost one comes in time, and is written down: it is noticed when the other enters, or by what
    was written of that one. Nothing of the step is released."""
    gone = taken_back(place, folder, rng)[0]

    with place.open(glm(), clock=later()) as stored:
        choices = stored.choose_group([stored.prepare(arms(rng)) for _ in range(8)])
        assert stored._store.tickets.read(gone.id).number == stored._store.tickets.read(choices[0].id).number == 13
        if own == "a reward before":
            stored.observe(choices[0], 1.0)
            with pytest.raises(RolledBack):
                stored.observe(gone, 1.0)
        else:
            assert stored.observe(gone, 1.0)
            with pytest.raises(RolledBack):
                stored.observe(choices[0], 1.0) if own == "a reward after" else settle(stored)
        for call in (lambda: settle(stored), lambda: stored.choose(arms(rng)), lambda: stored.version):
            with pytest.raises(RolledBack):
                call()
        assert [what for _, what in stored.events if "taken back in time" in what]
        assert [step for step, _ in table(stored, LEAVES)] == [0] and table(stored, "SELECT * FROM drawn") == []
    with pytest.raises(RolledBack):
        place.open(glm())


def test_a_group_with_two_choices_of_one_number_is_noticed(on_sqlite, folder, rng):
    gone = taken_back(on_sqlite, folder, rng)[0]
    with on_sqlite.open(glm(), clock=later()) as stored:
        own = stored.choose(arms(rng))
        with pytest.raises(RolledBack):
            stored.write_group([stored.report(own, 1.0), stored.report(gone, 1.0)])


def test_ids_hide_their_numbers_and_cannot_be_made(on_sqlite):
    """Those of one choice after the other have nothing in common, and whoever changes one has none."""
    with on_sqlite.open(glm()) as stored:
        ids = [stored.choose(np.eye(3)).id for _ in range(60)]
        assert len({len(one) for one in ids}) == 1 and len(set(ids)) == 60
        bits = np.unpackbits(np.array([list(bytes.fromhex(one)) for one in ids], np.uint8), axis=1)
        assert (np.abs(bits.mean(0) - 0.5) < 0.42).all()  # false alarm: 192 * 2 * P(Bin(60, 1/2) < 5) < 3e-10
        for place in range(0, len(ids[0]), 5):
            other = ids[0][:place] + f"{int(ids[0][place], 16) ^ 8:x}" + ids[0][place + 1 :]
            with pytest.raises((UnknownChoice, BadState)):
                stored.observe(other, 1.0)
        stored.observe(ids[0], 1.0)
        assert stored.version == 0 and not stored.events
