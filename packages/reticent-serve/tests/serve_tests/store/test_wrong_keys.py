"""A folder of keys that is not the database's: a copy that went its own way, or one that was taken back alone. Whoever
has it refuses at once and is not ready; nothing is acknowledged and lost, and one unreadable row fails alone."""

import json
import shutil

import numpy as np
import pytest

from reticent.errors import BadState, WrongKeys
from serve_tests.service.servers import application, call, lines, stored
from serve_tests.store.places import arms, contribution, linear, play, restored, settle, table, total

EYE = np.eye(3).tolist()
PENDING = 64  # eight choices share a key


def test_two_workers_with_copies_of_a_folder_lose_no_reward(on_postgres, tmp_path):
    """In 0.6.0 each made keys of its own under the same labels: of 200 rewards 111 had an error, and both were ready.
    Now whoever is not the first refuses from the first epoch on that is not in its folder."""
    options = {"database": on_postgres.where, "pending": PENDING}
    one = application(tmp_path, keys=str(on_postgres.keys), **options)
    shutil.copytree(on_postgres.keys, tmp_path / "copy", copy_function=shutil.copy2)
    two = application(tmp_path, keys=str(tmp_path / "copy"), **options)
    ids = []
    for _ in range(12):
        for app in (one, two):
            ((_, _, body),) = call(app, ("choose:batch", lines(*[{"arms": EYE}] * 4)))
            ids += [found["id"] for found in map(json.loads, body.splitlines()) if "id" in found]
    said = {call(app, ("/readyz", None))[0][0]: app for app in (one, two)}
    assert said.keys() == {200, 503} and b"folder of keys" in call(said[503], ("/readyz", None))[0][2]
    refused = call(said[503], ("choose", {"arms": EYE}), ("reward", {"id": ids[-1], "reward": 1.0}))
    assert [status for status, _, _ in refused] == [503, 503]  # nobody is told that it counts
    rewards = lines(*({"id": one_id, "reward": 1.0} for one_id in ids))
    ((status, _, body),) = call(said[200], ("reward:batch", rewards))
    assert status == 200 and len(ids) >= 48 and not any(json.loads(line).get("late") for line in body.splitlines())
    settle(stored(said[200]))
    while stored(said[200]).behind:  # the other one tries, too, and refuses
        stored(said[200]).tend()
    unit = contribution(linear(horizon=5000), np.eye(3)[0], 1.0)
    assert total(stored(said[200])).sum() == len(ids) * unit.sum()
    one.close()
    two.close()


def test_a_folder_that_was_taken_back_alone_is_refused(place, tmp_path, rng, clock):
    """It would make a new key under the label of an epoch whose rows are sealed with another."""
    with place.open(linear(), pending=PENDING, clock=clock) as stored:
        play(stored, rng, 4, together=4)
        shutil.copytree(place.keys, tmp_path / "older", copy_function=shutil.copy2)
        play(stored, rng, 30, prefix="later", together=10)
        waiting = stored.choose(arms(rng))
    shutil.move(place.keys, tmp_path / "newer")
    shutil.copytree(tmp_path / "older", place.keys, copy_function=shutil.copy2)
    with pytest.raises(BadState, match="folder of keys"):
        place.open(linear(), pending=PENDING)
    shutil.rmtree(place.keys)
    shutil.move(tmp_path / "newer", place.keys)  # the right one put back: nothing was harmed
    with place.open(linear(), pending=PENDING, clock=clock) as stored:
        before = total(stored)
        assert stored.observe(waiting, 1.0)
        settle(stored)
        assert not np.array_equal(total(stored), before)


@pytest.mark.parametrize("other", [None, bytes(range(32))])
def test_without_the_key_of_an_epoch_nothing_is_written_and_nothing_enters(place, other, rng):
    """It is gone, or another one: else everybody's rewards of that epoch would enter as nothing."""
    with place.open(linear(), pending=PENDING) as stored:
        choices = [stored.choose(arms(rng)) for _ in range(5)]
        stored.observe(choices[0], 1.0)
        keys, stored._database.generation = stored._store.seal.keys, stored._database.generation + 1
        path = keys.folder / f"{keys.labels(stored._store.uid + '.epoch')[0]}.key"
        kept = path.read_bytes()
        path.unlink() if other is None else path.write_bytes(other)
        keys._cache.clear()
        for call in (lambda: stored.observe(choices[1], 1.0), lambda: settle(stored)):
            with pytest.raises(WrongKeys):
                call()
        assert stored.entered == 0 and len(table(stored, "SELECT number FROM waiting")) == 5
        path.write_bytes(kept)
        keys._cache.clear()
        stored.tend()
        assert stored.entered == 5 and total(stored).any()


@pytest.mark.parametrize("damaged", ["waiting", "written"])
def test_an_unreadable_row_fails_alone(place, damaged, rng):
    """In 0.6.0 it failed everybody's reward in its commit group. It enters as nothing, whatever is wrong with it."""
    with place.open(linear()) as stored:
        offered = [arms(rng) for _ in range(8)]
        choices = [stored.choose(one) for one in offered]
        reports = [stored.report(choice, 1.0) for choice in choices]
        assert damaged == "waiting" or all(stored.write_group(reports))
        ((whole,),) = table(stored, f"SELECT sealed FROM {damaged} WHERE number = 1")
        flipped = bytes(whole)[:-1] + bytes([bytes(whole)[-1] ^ 1])
        for number, sealed in ((1, flipped), (2, b"\0" * 60), (4, b""), (5, None), (7, bytes(whole))):
            table(stored, f"UPDATE {damaged} SET sealed = ? WHERE number = ?", sealed, number)
        assert damaged == "written" or all(stored.write_group(reports))  # it is not looked at before it enters
        settle(stored)
        good = [contribution(linear(), offered[i][choices[i].index], 1.0) for i in (2, 5, 7)]
        assert stored.entered == 8 and np.array_equal(total(stored), np.sum(good, axis=0))


def test_an_unreadable_answer_fails_alone(place, rng):
    """Its request is sent again, in one commit group with those of others."""
    with place.open(linear()) as stored:
        asked = [stored.prepare(arms(rng), request=f"r{i}") for i in range(4)]
        first = stored.choose_group(asked)
        table(stored, "UPDATE choice SET sealed = ? WHERE request = ?", b"\0" * 60, asked[1].hashed)
        again = stored.choose_group([*asked, stored.prepare(arms(rng))])
        assert [isinstance(result, BadState) for result in again] == [i == 1 for i in range(5)]
        assert [again[i].id for i in (0, 2, 3)] == [first[i].id for i in (0, 2, 3)] and stored.choices == 5
        assert stored.observe(first[1], 1.0)  # its reward counts nonetheless
        settle(stored)
        assert stored.entered == 5 and total(stored).any()


def test_releasing_and_restoring_leave_fingerprints_of_the_keys_that_are_there(place):
    with place.open(linear(), pending=PENDING) as stored:
        play(stored, np.random.default_rng(4), 100, together=10)
    with place.open(linear(), pending=PENDING) as stored:
        play(stored, np.random.default_rng(4), 100, prefix="later", together=10)
        stored.tend()
        labels = {label for (label,) in table(stored, "SELECT label FROM key_fingerprint")}
        assert labels == {path.stem for path in place.keys.glob("*.key")}  # none of a key that is gone
    shutil.rmtree(place.keys)
    with pytest.raises(BadState, match="reticent restore"):
        place.open(linear(), pending=PENDING)
    restored(place, linear(), pending=PENDING)
    with place.open(linear(), pending=PENDING) as stored:
        play(stored, np.random.default_rng(4), 10, prefix="anew", together=10)
        labels = {label for (label,) in table(stored, "SELECT label FROM key_fingerprint")}
        assert labels == {path.stem for path in place.keys.glob("*.key")}
