"""One person replaced: what others see of the service is the same, character by character, and so are sizes of rows.

The clock stands still unless told, releases are made when told, and all runs have the noisy leaves of the first one
(`Tape`): nothing is left that may differ but ids, which are random."""

import functools
import itertools
import json
import logging
import math
import re
from typing import NamedTuple

import numpy as np
import pytest

from reticent.core.assignment import Assignment
from reticent.mechanisms.opening import opened
from reticent_serve import Stored
from reticent_serve.holders import rows, shared_settings
from reticent_serve.holders.choosing import Choosing
from reticent_serve.holders.requests import ANSWER, Answer
from reticent_serve.holders.steps import Steps
from reticent_serve.service import history as histories
from reticent_serve.service import metrics, served
from reticent_serve.service.app import SHOWN
from reticent_serve.service.dashboard import Dashboard
from reticent_serve.service.served import Served
from reticent_serve.trials import looks
from serve_tests.service.servers import FIELDS, application, call, lines
from serve_tests.store.conftest import of_postgres
from serve_tests.store.places import Clock, Place, table
from tests.whole.tape import Tape

ARMS = np.eye(3).tolist()
PEOPLE, AT_ONCE = 40, 4
EACH, HELD = 100.0, 150.0  # seconds from one batch of them to the next, and until a choice counts
REPLACED, CROWD = {7}, {i for i in range(PEOPLE) if i % 5}  # who is replaced
LAST = set(range(28, 32))  # a whole batch: after it, nobody comes for a while
SILENT = 14  # who never answers
OTHERS = {
    "as it was": ({"arms": ARMS}, [1.0]),
    "other arms": ({"arms": {"long name": [0.1, 0.2, 0.3], "b": [0, 0, -1]}, "available": ["b"]}, [1.0]),
    "another reward": ({"arms": ARMS}, [0.25]),
    "no reward": ({"arms": ARMS}, []),
    "cancelled": ({"arms": ARMS}, [None]),
    "reported three times": ({"arms": ARMS}, [1.0, 0.0, 1.0]),
    "bad rewards": ({"arms": ARMS}, [7.0, 1e300]),
    "late": ({"arms": ARMS}, [("late", 1.0), ("late", 0.0), ("late", None)]),
    "asks for a propensity": ({"arms": ARMS, "propensity": True}, [1.0]),
}
ERASE, HERE = "erased", {"context": {"age": 7}, "person": "x"}
LIKES = {"kind": "Tags", "values": ["music"]}
READ = (*SHOWN, "/dashboard/messages", "/metrics", "/readyz", "/healthz")
PROFILES = {"somebody": {"arms": {"a": ARMS[0], "b": ARMS[1]}}}
TABLES = ("bandit", "choice", "waiting", "open_step", "drawn", "leaf", "event")
COUNTED = {  # tables whose number of rows is raw: columns, and the size of each row
    "written": ("bandit, ticket, sealed", (32, 16, 8 + 12 + 16 + 8)),
    "person": ("name, digest", (8, 16)),
}


class Even(np.random.Generator):
    """Draws the same for everybody, in whatever order people are answered."""

    def random(self, size=None):
        return np.full(size, 0.5)

    def standard_normal(self, size=None):
        return np.full(size, 0.5)


@pytest.fixture(params=["sqlite", "postgres"])
def fresh(request, folder):
    """Makes places of databases, another one each time."""
    address = request.getfixturevalue("postgres") if request.param == "postgres" else None

    return functools.partial(new, folder, address)


@pytest.fixture
def on_sqlite(folder):
    return functools.partial(new, folder, None)


def new(folder, address):
    inside = folder / str(len(list(folder.iterdir())))
    inside.mkdir()
    return Place(str(inside / "bandit.db"), inside / "keys") if address is None else of_postgres(address, inside)


def seen(place, other, monkeypatch, caplog, *, replaced=REPLACED, more=0, world=None):
    """PEOPLE people, one of them the other; all that the rest of them and readers see, in order, and sizes of rows.
    Everybody reports in time, and some of them once more when it is late."""
    world = world or VECTORS
    clock, out, before, (person, rewards) = Clock(), [], {}, world.others[other]
    caplog.set_level(logging.INFO)
    told = {"clock": clock, "background": False, "policy": Even(np.random.PCG64(5))}
    monkeypatch.setattr(served, "Stored", lambda *given, **options: Stored(*given, **options | told))
    options = {"database": place.where, "keys": str(place.keys), "delay": 250.0}
    options |= world.options | {"reward": {"window": f"{HELD} seconds"} | world.options.get("reward", {})}
    app = application(place.keys.parent, clock=clock, **options)
    stored = app.served["messages"].stored
    caplog.clear()  # how long compiling took
    for start in range(0, PEOPLE + more, AT_ONCE):
        here = range(start, min(start + AT_ONCE, PEOPLE + more))
        ((status, headers, body),) = call(
            app, ("choose:batch", lines(*(person if i in replaced else world.usual(i) for i in here)))
        )
        choices = dict(zip(here, map(json.loads, body.splitlines()), strict=True))
        rest = [choice | {"id": len(choice["id"])} for i, choice in choices.items() if i not in replaced]
        out.append((status, set(headers), rest))
        clock.now += EACH
        stored.tend()
        for i, choice in [*choices.items(), *before.items()]:
            for reward in said(rewards, i in before) if i in replaced else [] if i == SILENT else [0.5]:
                reply = call(app, report(choice["id"], reward))
                out += [] if i in replaced else reply
                assert (b'"late":true' in reply[0][2]) == (i in before) or reply[0][0] == 422 or ERASE in rewards
        before = {i: choice for i, choice in choices.items() if i == start or i in replaced}
        out += call(app, *((route, None) for route in READ))
        assert {status for status, _, _ in out[-len(READ) :]} == {200}
    assert stored.version >= 1 and stored.head.step >= 2 and PEOPLE - 2 * AT_ONCE <= stored.entered < stored.choices
    out += [stored.head, stored.entered, stored.window, stored._served.next_at, caplog.messages]
    out += [] if ERASE in rewards else row_sizes(stored)
    app.close()
    return out


def usual(i):
    return {"arms": ARMS}


class World(NamedTuple):
    """Who may be replaced by whom, whoever else there is, and the settings."""

    others: dict
    usual: object
    options: dict


BUDGET = {"epsilon": 30.0, "delta": 1e-5}  # so that two steps are full
VECTORS = World(OTHERS, usual, {"profiles": PROFILES, "budget": BUDGET})
WITH_FIELDS = World(
    {
        "as it was": (HERE, [1.0]),
        "other fields": ({"context": {"age": 99, "likes": ["x" * 99]}, "actions": ["sleep"], "person": 17}, [0.0]),
        "no fields": ({"context": {}, "person": "x"}, [1.0]),
        "erased": (HERE, [ERASE]),
        "erased after a reward": (HERE, [0.25, ERASE, ERASE, 0.5]),
    },
    lambda i: {"context": {"age": i, "likes": ["music"] * (i % 2)}, "person": f"p{i}"},
    {
        "features": FIELDS["features"] | {"context": FIELDS["features"]["context"] | {"likes": LIKES}},
        "profiles": {"somebody": {"context": {"age": 31}}},
        "budget": BUDGET | {"unit": {"rounds": 3}},
    },
)
# and with what these say of people, on the dashboard and as JSON
BY_FIELDS = WITH_FIELDS._replace(options=WITH_FIELDS.options | {"horizon": None, "profiles": {}})
HOLDOUT = {"share": 0.5, "action": 0, "actions": [1]}
HELD_OUT = World(OTHERS, usual, {"horizon": None, "budget": BUDGET, "reward": {"default": 0.0}, "holdout": HOLDOUT})


def said(rewards, late):
    """Of these, what somebody says in time, or when it is late."""
    return [one[1] if late else one for one in rewards if isinstance(one, tuple) == late]


def report(choice, reward):
    """A reward, or that the person is erased."""
    if reward == ERASE:
        return ("erase", {"person": HERE["person"]})
    return "reward", {"id": choice, "reward": reward}


def row_sizes(stored):
    """Of all tables: bytes and texts by their lengths, times and numbers as they are. Where the number of rows is raw,
    all of them have one size."""
    out = []
    for name in TABLES:
        out.append((name, sorted(map(size, table(stored, f"SELECT * FROM {name}")), key=repr)))
        if stored._database.several_hosts:
            out.append((name, sorted(table(stored, f"SELECT DISTINCT pg_column_size(t.*) FROM {name} t"))))
    for name, (columns, expected) in COUNTED.items():
        assert set(map(size, table(stored, f"SELECT {columns} FROM {name}"))) <= {expected}
    return out


def size(row):
    return tuple(len(value) if isinstance(value, bytes | str) else value for value in row)


def differences(fresh, monkeypatch, caplog, others=tuple(OTHERS), *, replaced=REPLACED, more=0, world=None):
    """What is seen of each of them, where it is not as it was."""
    tape = Tape()
    with tape.recording():
        usual = seen(fresh(), "as it was", monkeypatch, caplog, replaced=replaced, world=world)
    out = []
    for other in others:
        with tape.playing():
            found = seen(fresh(), other, monkeypatch, caplog, replaced=replaced, more=more, world=world)
        before = usual[: len(found)] if other.startswith(ERASE) else usual  # without rows
        out += [(other, now) for now, then in itertools.zip_longest(found, before) if now != then]
    return out


def test_one_person_replaced_changes_nothing_that_is_seen(fresh, monkeypatch, caplog):
    assert differences(fresh, monkeypatch, caplog) == []


def test_one_person_with_fields_replaced_or_erased_changes_nothing_that_is_seen(on_sqlite, monkeypatch, caplog):
    """Of one who is erased, rows are gone: that is seen in the database alone."""
    assert differences(on_sqlite, monkeypatch, caplog, list(WITH_FIELDS.others), world=WITH_FIELDS) == []
    assert differences(on_sqlite, monkeypatch, caplog, ["erased"], replaced=LAST, world=WITH_FIELDS) == []


def test_what_a_holdout_says_is_the_same_whoever_people_are(on_sqlite, monkeypatch, caplog):
    """With the same groups: also of its picture, which is on the page from the first look on."""
    monkeypatch.setattr(
        shared_settings, "Assignment", lambda holdout, key, **more: Assignment(holdout, bytes(32), **more)
    )
    monkeypatch.setattr(looks, "FIRST", 2)
    others = ["another reward", "no reward", "late", "cancelled"]
    assert differences(on_sqlite, monkeypatch, caplog, others, replaced=CROWD, world=HELD_OUT) == []
    found = seen(on_sqlite(), "as it was", monkeypatch, caplog, world=HELD_OUT)
    assert any(b'class="band"' in each[2] for each in found if isinstance(each, tuple) and len(each) == 3)


def test_what_fields_say_of_people_is_the_same_whoever_they_are(on_sqlite, monkeypatch, caplog):
    """One person replaced, and all but one in five. The page has charts meanwhile."""
    others = ["other fields", "no fields"]
    assert differences(on_sqlite, monkeypatch, caplog, others, world=BY_FIELDS) == []
    assert differences(on_sqlite, monkeypatch, caplog, others, replaced=CROWD, world=BY_FIELDS) == []
    found = seen(on_sqlite(), "as it was", monkeypatch, caplog, world=BY_FIELDS)
    assert any(b"Which action, by field" in each[2] for each in found if isinstance(each, tuple) and len(each) == 3)


def test_that_a_share_of_raw_fields_would_be_seen(on_sqlite, monkeypatch, caplog):
    """Planted: how frequent values are is counted as people come, and not read from what was released."""
    prepare, told, ages = Stored.prepare, histories.History._summary, []

    def counted(self, arms, **given):
        ages.append(arms.get("age", 0))
        return prepare(self, arms, **given)

    def leaking(self, past):
        found = told(self, past)
        if found.segments is None:
            return found
        first, *rest = found.segments.fields
        return found._replace(segments=found.segments._replace(fields=(first._replace(error=sum(ages)), *rest)))

    monkeypatch.setattr(Stored, "prepare", counted)
    monkeypatch.setattr(histories.History, "_summary", leaking)
    tape = Tape()
    with tape.recording():
        usual = seen(on_sqlite(), "as it was", monkeypatch, caplog, world=BY_FIELDS)
    ages.clear()
    with tape.playing():
        assert seen(on_sqlite(), "other fields", monkeypatch, caplog, world=BY_FIELDS) != usual


def test_quite_other_people_change_nothing_that_readers_see(fresh, monkeypatch, caplog):
    """All but one in five, with the same noisy leaves."""
    others = ["other arms", "no reward", "late", "reported three times"]
    assert differences(fresh, monkeypatch, caplog, others, replaced=CROWD) == []


def test_that_a_difference_would_be_seen(fresh, monkeypatch, caplog):
    """One person more is public, and seen: here as a release more."""
    with pytest.raises(AssertionError, match="released more often"):
        differences(fresh, monkeypatch, caplog, ["as it was"], more=1)


def test_metrics_know_nothing_of_rewards_arms_or_the_process(tmp_path):
    app = application(tmp_path)
    ((_, _, body),) = call(app, ("/metrics", None))
    app.close()
    values = [line for line in body.decode().splitlines() if not line.startswith("#")]
    assert {line.split("{")[0] for line in values} == {
        *("reticent_choices", "reticent_entered", "reticent_version", "reticent_next_release_after", "reticent_ready"),
        *("reticent_epsilon", "reticent_epsilon_spent", "reticent_delta", "reticent_choices_left"),
    }
    assert {re.search("{.*}", line).group() for line in values} == {
        *('{bandit="messages"}', '{bandit="messages",neighbours="replace"}')
    }


# planted: each shows a little of what is raw, and is found


def count_in_the_metrics(patch):
    counting(patch)
    values = metrics.values
    patch.setattr(metrics, "values", lambda one: values(one) | {"reticent_delta": one.came})


def count_in_the_status(patch):
    counting(patch)
    status = Served.status
    patch.setattr(Served, "status", lambda self: status(self) | {"rewards": self.came})


def count_on_the_dashboard(patch):
    counting(patch)
    look = Dashboard._look

    def told(self, one, asker):
        found = look(self, one, asker)
        return found._replace(learnt=found.learnt._replace(clear=one.came))

    patch.setattr(Dashboard, "_look", told)


def counting(patch):
    write = Stored.write_group

    def counted(self, reports):
        self.came += sum(not math.isnan(opened(report.reward)) for report in reports)
        return write(self, reports)

    patch.setattr(Stored, "came", 0, raising=False)
    patch.setattr(Stored, "write_group", counted)
    patch.setattr(Served, "came", property(lambda self: self.stored.came), raising=False)


def late_ones_in_the_status(patch):
    write, status = Stored.write_group, Served.status

    def counted(self, reports):
        found = write(self, reports)
        self.late += found.count(False)
        return found

    patch.setattr(Stored, "late", 0, raising=False)
    patch.setattr(Stored, "write_group", counted)
    patch.setattr(Served, "status", lambda self: status(self) | {"late": self.stored.late})


def written_in_the_status(patch):
    status = Served.status

    def told(self):
        ((count,),) = table(self.stored, "SELECT count(*) FROM written")
        return status(self) | {"waiting": self.stored.choices - count}

    patch.setattr(Served, "status", told)


def rewards_in_the_log(patch):
    write = Choosing.write

    def logged(self, reports):
        logging.getLogger("reticent").info("%d rewards", len(reports))
        return write(self, reports)

    patch.setattr(Choosing, "write", logged)


def rewards_in_the_time(patch):
    """A step that many have answered in is visible a little later."""
    due, came = Steps._due, [0]

    def late(self, *given):
        part = due(self, *given)
        came[0] += len(part.written) if part else 0
        return part and part._replace(closed_at=part.closed_at and part.closed_at + 1e-3 * came[0])

    patch.setattr(Steps, "_due", late)


def silence_enters_later(patch):
    """As where a choice waits for its reward, and not for its deadline."""
    due = Steps._due

    def late(self, *given):
        part = due(self, *given)
        silent = part and {one.number for one in part.waiting} - part.written.keys()
        return None if silent and self._clock() < part.waiting[-1].made_at + 3 * HELD else part

    patch.setattr(Steps, "_due", late)


def rewards_in_an_event(patch):
    write = Choosing.write

    def told(self, reports):
        with self._database.transaction() as run:
            rows.event(run, self._store.uid, self._clock(), "a reward")
        return write(self, reports)

    patch.setattr(Choosing, "write", told)


def erased_choices_never_enter(patch):
    """Their numbers are missing then, which is seen as long as nobody comes after them."""

    def erase(run, uid, number, sealed):
        for name in ("waiting", "written", "choice"):
            run(f"DELETE FROM {name} WHERE bandit = ? AND number = ?", uid, number)

    patch.setattr(rows, "erase", erase)


def answers_of_their_own_length(patch):
    packed, unpacked = Answer.packed, Answer.unpacked
    patch.setattr(Answer, "packed", lambda self: packed(self) + (self.name or "").encode())
    patch.setattr(Answer, "unpacked", lambda found: unpacked(found[: ANSWER.size]))


PLANTED = {
    count_in_the_metrics: "no reward",
    count_in_the_status: "cancelled",
    count_on_the_dashboard: "no reward",
    late_ones_in_the_status: "late",
    written_in_the_status: "no reward",
    rewards_in_the_log: "no reward",
    rewards_in_the_time: "no reward",
    silence_enters_later: "no reward",
    rewards_in_an_event: "reported three times",
    answers_of_their_own_length: "other arms",
}


@pytest.mark.parametrize("leak", PLANTED, ids=lambda leak: leak.__name__)
def test_that_a_planted_leak_is_found(leak, on_sqlite, monkeypatch, caplog):
    leak(monkeypatch)
    assert differences(on_sqlite, monkeypatch, caplog, [PLANTED[leak]])


def test_that_an_erasure_which_leaves_a_gap_is_found(on_sqlite, monkeypatch, caplog):
    erased_choices_never_enter(monkeypatch)
    assert differences(on_sqlite, monkeypatch, caplog, ["erased"], replaced=LAST, world=WITH_FIELDS)
