"""Actions of a bandit on a database: its schema says which, from the number of choices then; all workers follow."""

import numpy as np
import pytest

from reticent.core.actions import Declared
from reticent.errors import BadState
from reticent.features import Number, Schema
from serve_tests.store.places import glm, restored, settle, table, total


def bandit(*names, most=4, **options):
    schema = Schema(
        context={"age": Number(0, 100)},
        arms="disjoint",
        actions=names,
        max_actions=most,
        retired=options.pop("gone", ()),
    )
    return glm(features=schema, first=5, **options)


def play(stored, count, *, seed=0, **offered):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        stored.observe(stored.choose({"age": float(rng.integers(100))}, **offered), float(rng.random() < 0.5))
    settle(stored)


def told(stored):
    return [what for _, what in stored.events]


def test_a_restart_with_more_or_fewer_actions_is_an_event(place, clock):
    with place.open(bandit("walk", "sleep"), clock=clock) as stored:
        play(stored, 7)
        early = stored.choose({"age": 30}, actions=["walk"])
    with place.open(bandit("walk", "sleep", "read"), clock=clock) as stored:
        assert stored.actions == (Declared("walk"), Declared("sleep"), Declared("read", 8))
        assert stored.choose({"age": 3}, actions=["read"]).name == "read"
        assert told(stored) == ["action read added after 8 choices"]
        assert "read: added after 8 choices" in str(stored.privacy)
    with place.open(bandit("walk", "sleep", "read", gone=("walk",)), clock=clock) as stored:
        with pytest.raises(ValueError, match="retired"):
            stored.choose({"age": 3}, actions=["walk"])
        assert {stored.choose({"age": 3}).name for _ in range(20)} <= {"sleep", "read"}
        before = total(stored)
        assert stored.observe(early, 1.0)  # made before: its reward counts like any other
        settle(stored)
        moved = np.flatnonzero(total(stored) - before)
        assert len(moved) and moved.max() < stored.one_pass.learnt.contribution.part(0).stop
        assert told(stored)[-1] == "action walk retired after 9 choices"
        theta, history, actions = stored.theta, stored.history, stored.actions
    with place.open(bandit("walk", "sleep", "read", gone=("walk",))) as stored:  # nothing is new
        assert stored.actions == actions and len(told(stored)) == 2 and np.array_equal(stored.theta, theta)
        assert len(stored.history) == len(history) > 2
        for one, other in zip(stored.history, history, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("names", "gone", "match"),
    [
        (("walk", "read"), ("walk",), "in their order"),
        (("walk", "sleep"), (), "in their order"),
        (("sleep", "walk", "read"), ("walk",), "in their order"),
        (("walk", "sleep", "read"), (), "stay retired"),
        (("walk", "read", "sleep"), ("walk",), "in their order"),
    ],
)
def test_what_was_declared_cannot_be_taken_back(on_sqlite, names, gone, match):
    on_sqlite.open(bandit("walk", "sleep")).close()
    on_sqlite.open(bandit("walk", "sleep", "read", gone=("walk",))).close()
    with pytest.raises(BadState, match=match):
        on_sqlite.open(bandit(*names, gone=gone))
    with pytest.raises(BadState, match="got another features"):
        on_sqlite.open(bandit("walk", "sleep", "read", gone=("walk",), most=5))
    with pytest.raises(BadState, match=match):
        restored(on_sqlite, bandit(*names, gone=gone))
    restored(on_sqlite, bandit("walk", "sleep", "read", "run", gone=("walk",)))
    with on_sqlite.open(bandit("walk", "sleep", "read", "run", gone=("walk",))) as stored:
        assert stored.actions == (Declared("walk", 0, 0), Declared("sleep"), Declared("read"), Declared("run"))


def test_a_store_from_before_there_was_room_for_more_is_opened(on_sqlite):
    """Its plan has no max_actions, and its row no list."""
    plain = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("walk", "sleep"))
    with on_sqlite.open(glm(features=plain, first=5)) as stored:
        assert "max_actions" not in stored._store.bandit.plan
        with stored._database.transaction() as run:
            (text,) = run("SELECT settings FROM bandit")[0]
            run(
                "UPDATE bandit SET settings = ?",
                text.replace('"actions": [["walk", 0, null], ["sleep", 0, null]], ', ""),
            )
            assert run("SELECT settings FROM bandit")[0][0] != text
    with on_sqlite.open(bandit("walk", "sleep", most=2, gone=("walk",))) as stored:
        assert stored.actions == (Declared("walk", 0, 0), Declared("sleep"))
        assert told(stored) == ["action walk retired after 0 choices"]


def test_all_workers_follow_and_none_offers_what_another_has_retired(on_postgres):
    with on_postgres.open(bandit("walk", "sleep")) as one:
        play(one, 12)
        asked = one.prepare({"age": 3}, actions=["walk", "sleep"], request="early")
        other, choices = one.prepare({"age": 3}, actions=["sleep"], request="other"), one.head.choices
        with on_postgres.open(bandit("walk", "sleep", "read", gone=("walk",)), clock=one._clock) as two:
            taken, refused = one.choose_group([other, asked])  # checked before, committed after
            assert isinstance(refused, BadState) and "retired meanwhile" in str(refused) and taken.name == "sleep"
            assert one.head.choices == choices + 2 and one.actions == two.actions  # the refusal has its number
            assert one.choose({"age": 3}, actions=["read"]).name == "read"
            one.tend()
            two.tend()
            assert np.array_equal(one.theta, two.theta) and one._served.estimator.live.tolist() == [1, 2]
            assert told(one) == ["action walk retired after 12 choices", "action read added after 12 choices"]
            play(two, 12, seed=1)
            one.tend()
            for a, b in zip(one.history, two.history, strict=True):
                assert np.array_equal(a.estimate, b.estimate)


def test_a_request_that_is_refused_holds_up_no_step(on_postgres):
    """The last number of a step enters as nothing at its deadline; what waits of it looks like any other."""
    with on_postgres.open(bandit("walk", "sleep")) as one:
        play(one, 4)
        asked = one.prepare({"age": 3}, actions=["walk", "sleep"])
        on_postgres.open(bandit("walk", "sleep", gone=("walk",))).close()
        assert isinstance(one.choose_group([asked])[0], BadState) and table(one, "SELECT number FROM waiting") == [(5,)]
        settle(one)
        assert one.entered == 5 and one.version == 1
