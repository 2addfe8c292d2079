"""A folder of keys that is not the database's: a copy that went its own way, or one that was taken back alone. Whoever
has it refuses at once and is not ready; nothing is acknowledged and lost, and one unreadable row fails alone."""

import json
import shutil

import numpy as np
import pytest

from tacit import recover
from tacit.errors import BadState
from tests.service.servers import application, call, lines
from tests.store.places import arms, contribution, linear, play, table, total

EYE = np.eye(3).tolist()
PENDING = 64  # eight choices share a key


def test_two_workers_with_copies_of_a_folder_lose_no_reward(on_postgres, tmp_path):
    """In 0.6.0 each made keys of its own under the same labels: of 200 rewards 111 had an error, and both were ready.
    Now one of them refuses from the first epoch on that is not in its folder."""
    options = {"durable": on_postgres.where, "pending": PENDING}
    one = application(tmp_path, keys=str(on_postgres.keys), **options)
    shutil.copytree(on_postgres.keys, tmp_path / "copy", copy_function=shutil.copy2)
    two = application(tmp_path, keys=str(tmp_path / "copy"), **options)
    ids = []
    for _ in range(12):
        for app in (one, two):
            ((_, _, body),) = call(app, ("choose:batch", lines(*[{"arms": EYE}] * 4)))
            ids += [found["id"] for found in map(json.loads, body.splitlines()) if "id" in found]
    assert call(one, ("/readyz", None))[0][0] == 200
    ((status, _, body),) = call(two, ("/readyz", None))
    assert status == 503 and b"folder of keys" in body
    refused = call(two, ("choose", {"arms": EYE}), ("reward", {"id": ids[-1], "reward": 1.0}))
    assert [status for status, _, _ in refused] == [503, 503]  # nobody is told that it counts
    rewards = call(one, *(("reward", {"id": one_id, "reward": 1.0}) for one_id in ids))
    counted = sum(status == 200 for status, _, _ in rewards)
    stored = one.served["messages"].stored
    unit = contribution(linear(horizon=5000), np.eye(3)[0], 1.0)
    assert counted == len(ids) >= 48
    assert total(stored).sum() == counted * unit.sum()
    one.close()
    two.close()


def test_a_folder_that_was_taken_back_alone_is_refused(place, tmp_path):
    """It would make a new key under the label of an epoch whose rows are sealed with another."""
    rng = np.random.default_rng(1)
    with place.open(linear(pending=PENDING)) as stored:
        play(stored, rng, 4)
        shutil.copytree(place.keys, tmp_path / "older", copy_function=shutil.copy2)
        play(stored, rng, 30, prefix="later")
        waiting = stored.choose(arms(rng))
    shutil.move(place.keys, tmp_path / "newer")
    shutil.copytree(tmp_path / "older", place.keys, copy_function=shutil.copy2)
    with pytest.raises(BadState, match="folder of keys"):
        place.open(linear(pending=PENDING))
    shutil.rmtree(place.keys)
    shutil.move(tmp_path / "newer", place.keys)  # the right one put back: nothing was harmed
    with place.open(linear(pending=PENDING)) as stored:
        before = total(stored)
        stored.observe(waiting, 1.0)
        assert not np.array_equal(total(stored), before)


def test_an_unreadable_row_fails_alone(place):
    """In 0.6.0 it failed everybody's reward in its commit group. It stays as it is, and its sender is told."""
    rng = np.random.default_rng(2)
    with place.open(linear()) as stored:
        offered = [arms(rng) for _ in range(8)]
        choices = [stored.choose(one) for one in offered]
        bad = stored.ticket(choices[3])
        with stored._database.transaction() as run:
            run("UPDATE waiting SET sealed = ? WHERE ticket = ?", b"\0" * 60, bad)
        results = stored.observe_group([stored.report(choice, 1.0) for choice in choices])
        assert [isinstance(result, BadState) for result in results] == [i == 3 for i in range(8)]
        good = [contribution(linear(), offered[i][choices[i].index], 1.0) for i in range(8) if i != 3]
        assert np.array_equal(total(stored), np.sum(good, axis=0))
        with pytest.raises(BadState, match="sealed row"):
            stored.observe(choices[3], 1.0)
        assert len(table(stored, "SELECT ticket FROM waiting")) == 1


def test_an_unreadable_answer_fails_alone(place):
    """Its request is sent again, in one commit group with those of others."""
    rng = np.random.default_rng(3)
    with place.open(linear()) as stored:
        asks = [stored.ask(arms(rng), request=f"r{i}") for i in range(4)]
        first = stored.choose_group(asks)
        with stored._database.transaction() as run:
            run("UPDATE choice SET sealed = ? WHERE request = ?", b"\0" * 60, asks[1].request)
        again = stored.choose_group([*asks, stored.ask(arms(rng))])
        assert [isinstance(result, BadState) for result in again] == [i == 1 for i in range(5)]
        assert [again[i].id for i in (0, 2, 3)] == [first[i].id for i in (0, 2, 3)] and stored.choices == 5


def test_an_unreadable_row_fails_alone_over_http_and_when_it_is_activated(tmp_path):
    app = application(tmp_path)
    stored = app.served["messages"].stored
    ((_, _, body),) = call(app, ("choose:batch", lines(*[{"arms": EYE, "deferred": True}] * 20)))
    ids = [json.loads(line)["id"] for line in body.splitlines()]
    with stored._database.transaction() as run:
        run("UPDATE deferred SET sealed = ? WHERE ticket = ?", b"\0" * 60, stored.ticket(ids[5]))
    for route, more in (("activate", {}), ("reward", {"reward": 1.0})):
        rows = [{"id": one} | more for one in ids if route == "activate" or one != ids[5]]
        replies = call(app, *((route, row) for row in rows))
        wrong = [i for i, (status, _, _) in enumerate(replies) if status != 200]
        assert wrong == ([5] if route == "activate" else [])
        if route == "activate":
            assert replies[5][0] == 409
    assert total(stored).any() and len(table(stored, "SELECT ticket FROM deferred")) == 1
    app.close()


def test_a_database_of_0_6_0_takes_the_folder_that_it_is_first_opened_with(place):
    with place.open(linear(pending=PENDING)) as stored:
        play(stored, np.random.default_rng(3), 12)
        with stored._database.transaction() as run:
            run("DELETE FROM key_fingerprint")
    with place.open(linear(pending=PENDING)) as stored:
        play(stored, np.random.default_rng(3), 12, prefix="later")
        assert len(table(stored, "SELECT label FROM key_fingerprint")) >= 5


def test_rotating_and_recovering_leave_fingerprints_of_the_keys_that_are_there(place):
    with place.open(linear(pending=PENDING)) as stored:
        play(stored, np.random.default_rng(4), 100)
        stored.rotate_keys()
    with place.open(linear(pending=PENDING)) as stored:
        play(stored, np.random.default_rng(4), 100, prefix="later")
        stored.tend()
        labels = {label for (label,) in table(stored, "SELECT label FROM key_fingerprint")}
        assert labels == {path.stem for path in place.keys.glob("*.key")}  # none of a key that is gone
    shutil.rmtree(place.keys)
    with pytest.raises(BadState, match="tacit recover"):
        place.open(linear(pending=PENDING))
    recover(linear(pending=PENDING), place.where, keys=place.keys)
    with place.open(linear(pending=PENDING)) as stored:
        play(stored, np.random.default_rng(4), 10, prefix="anew")
        labels = {label for (label,) in table(stored, "SELECT label FROM key_fingerprint")}
        assert labels == {path.stem for path in place.keys.glob("*.key")}
