"""Erasing a person: what waits of them is gone, the count of their rounds is not, and nothing tells whether there was
anything."""

import itertools
import threading

import numpy as np
import pytest

from tacit.errors import PersonLimit, Retired
from tacit.holders import erasure, line
from tacit.holders.retirement import retire
from tests.store import version1
from tests.store.places import arms, contribution, dies_at, linear, table, total

EYE = np.eye(3)


def bandit(**options):
    return linear(**({"max_rounds_per_person": 5} | options))


def visited(stored):
    """Of ada: answered, waiting, deferred, deferred with a reward, and one that was refused; of bob and of nobody: one
    that waits. Their choices."""
    asked = [stored.choose(EYE, person="ada", request=f"ada {i}", deferred=i >= 2) for i in range(4)]
    stored.observe(asked[0], 1.0)
    stored.observe(asked[3], 0.5)
    stored.choose(EYE, person="ada", request="ada 4")
    with pytest.raises(PersonLimit):
        stored.choose(EYE, person="ada", request="ada 5")
    others = [stored.choose(EYE, person=person, request=f"other {person}") for person in ("bob", None)]
    return asked, others


def left(stored):
    """How many rows there are."""
    return [table(stored, f"SELECT count(*) FROM {name}")[0][0] for name in ("choice", "waiting", "deferred")]


def test_what_waits_is_gone_and_the_count_stays(place):
    with place.open(bandit()) as stored:
        asked, others = visited(stored)
        before, rounds = total(stored), table(stored, "SELECT digest, rounds FROM person ORDER BY digest")
        assert left(stored) == [8, 4, 2]
        said = stored.erase("ada")
        assert left(stored) == [2, 2, 0]
        assert said == stored.erase("ada") == stored.erase("nobody we know") == stored.erase(17) == erasure.ERASED
        for choice in asked:
            stored.observe(choice, 0.25)  # acknowledged like any other
            stored.activate(choice)
        assert np.array_equal(total(stored), before)
        assert table(stored, "SELECT digest, rounds FROM person ORDER BY digest") == rounds and stored.choices == 8
        with pytest.raises(PersonLimit):  # a new request, since its answer is gone; the limit holds
            stored.choose(EYE, person="ada", request="ada 1")
        for choice in others:
            stored.observe(choice, 0.5)
        expected = sum(contribution(bandit(), EYE[choice.index], 0.5) for choice in others)
        assert np.array_equal(total(stored) - before, expected)
        assert stored.choose(EYE, person="bob", request="other bob").id == others[0].id
        assert [what for _, what in stored.events if "eras" in what] == []


def test_ids_that_are_none_are_refused_and_a_retired_bandit_has_nothing(on_sqlite):
    with on_sqlite.open(bandit()) as stored:
        visited(stored)
        for wrong in (None, "", b"", 1.5, True, ["ada"]):
            with pytest.raises(ValueError, match="Expected person"):
                stored.erase(wrong)
        assert left(stored) == [8, 4, 2]
    retire(on_sqlite.where, keys=on_sqlite.keys)
    assert erasure.erase_at(on_sqlite.where, "ada", keys=on_sqlite.keys) == erasure.ERASED
    with on_sqlite.open(bandit()) as stored:
        assert stored.erase("ada") == erasure.ERASED
        with pytest.raises(Retired):
            stored.choose(EYE)


def test_a_mark_tells_nothing_without_its_key(place):
    """Rows of one person are no more alike than others are, and all have one size."""
    with place.open(bandit(pending=32)) as stored:
        for i in range(12):
            stored.choose(EYE, person=["ada", "bob", None][i % 3], request=f"{i}")
        marks = [bytes(mark) for (mark,) in table(stored, "SELECT mark FROM choice")]
        digests = [bytes(digest) for (digest,) in table(stored, "SELECT digest FROM person")]
        assert len(set(marks)) == 12 and {len(mark) for mark in marks} == {16} and not set(marks) & set(digests)
        bits = np.unpackbits(np.frombuffer(b"".join(marks), np.uint8)).reshape(12, 128)
        apart = [np.count_nonzero(bits[i] != bits[j]) for i in range(12) for j in range(i)]
        assert min(apart) > 30 and max(apart) < 98  # binomial(128, 1/2), by 66 pairs: fails once in 10^6 runs
        for path in place.keys.glob("*.epoch.*.key"):
            path.write_bytes(bytes(32))  # as they are destroyed
        stored._line.seal.keys._known.clear()
        assert stored.erase("ada") == erasure.ERASED
        assert left(stored)[0] == 12  # they are purged by their number


def test_rows_of_the_first_version_are_passed_over(place):
    version1.restore(place)
    line.migrate(place.where, {"bandit": place.keys})
    with place.open(bandit(pending=40)) as stored:
        stored.choose(EYE, person="ada")
        before = left(stored)
        stored.erase("ada")
        assert left(stored) == [before[0] - 1, before[1] - 1, before[2]]


def test_an_erasure_that_is_killed_is_done_again(place):
    place.open(bandit()).close()
    killed = True
    for number in range(200):
        if not killed:
            break
        with place.open(bandit()) as stored:
            table(stored, "DELETE FROM person")  # for the next try
            for one in ("choice", "waiting", "deferred"):
                table(stored, f"DELETE FROM {one}")
            _, others = visited(stored)
        killed = dies_at(7 * number, place, lambda: erasure.erase_at(place.where, "ada", keys=place.keys))
        erasure.erase_at(place.where, "ada", keys=place.keys)
        with place.open(bandit()) as stored:
            assert left(stored) == [2, 2, 0]
            assert stored.choose(EYE, person="bob", request="other bob").id == others[0].id
    assert number > 3 and not killed


def test_requests_and_rewards_go_on_while_somebody_is_erased(on_postgres, monkeypatch):
    monkeypatch.setattr(erasure, "AT_ONCE", 8)
    with (
        on_postgres.open(bandit(max_rounds_per_person=1000)) as one,
        on_postgres.open(bandit(max_rounds_per_person=1000)) as two,
    ):
        stop, wrong, counted = threading.Event(), [], []

        def work():
            rng = np.random.default_rng(1)
            try:
                while not stop.is_set():
                    choices = [
                        two.choose(arms(rng), person=who, deferred=who == "eve") for who in ("ada", "bob", "eve")
                    ]
                    two.activate(choices[2])
                    for choice in choices:
                        two.observe(choice, 0.5)
                    counted.append(choices[1])
                    two.tend()
            except BaseException as error:
                wrong.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        for n in itertools.count():
            one.erase("ada")
            one.erase("eve")
            if n >= 15 and (len(counted) > 3 or not thread.is_alive()):
                break
        stop.set()
        thread.join(30)
        assert not wrong and len(counted) > 3
        one.erase("ada")
        one.erase("eve")
        assert left(one) == [len(counted), 0, 0]
