"""From the stores of 0.6.0 and 0.7.0 to the present one: whole or not at all, without a touch on what was released, and
with all that was waiting."""

import json
import sys

import numpy as np
import pytest

from tacit import cli
from tacit.errors import BadState, Retired, RolledBack
from tacit.holders import incarnation, schema
from tests.store.earlier import BANDITS, LEAVES, RELEASES, REWARD, folders, opened, restore, rows_of
from tests.store.places import Clock, arms, dies_at, linear, play, settle, sums, table, total

VERSIONS = {"0.6.0": 4, "0.7.0": 5}


@pytest.fixture(params=RELEASES)
def release(request):
    return request.param


def migrate(place):
    return incarnation.migrate(place.where, folders(place))


@pytest.fixture
def migrated(place, release):
    """Where, and what is known of it."""
    known = restore(place, release)
    migrate(place)
    return place, known


def columns(place):
    """Every table with its columns: of the place's own schema."""
    if "://" in place.where:
        statement = (
            "SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns"
            " WHERE table_schema = current_schema()"
        )
    else:
        statement = (
            "SELECT t.name, c.name, c.type FROM sqlite_master AS t, pragma_table_info(t.name) AS c"
            " WHERE t.type = 'table'"
        )
    return sorted(rows_of(place, statement))


# versions


def test_an_old_database_is_refused_until_it_is_migrated(place, release):
    restore(place, release)
    before = rows_of(place, LEAVES)
    with pytest.raises(BadState, match="tacit migrate CONFIG"):
        opened(place, "bandit")
    assert rows_of(place, LEAVES) == before  # a refusal changes nothing
    assert migrate(place) == f"from version {VERSIONS[release]} to 7"
    assert migrate(place) == "version 7 already"
    assert rows_of(place, LEAVES) == before and len(before) == 8
    assert [version for (version,) in rows_of(place, "SELECT version FROM store_version ORDER BY version")][-1] == 7


def test_what_is_older_is_refused(place):
    """0.7.0 migrates it."""
    restore(place, "0.6.0")
    rows_of(place, "UPDATE store_version SET version = 3")
    before = columns(place)
    with pytest.raises(BadState, match="version 3: migrate it with 0.7.0 first"):
        migrate(place)
    rows_of(place, "DROP TABLE store_version")  # the first version had none
    with pytest.raises(BadState, match="version 1: migrate it with 0.7.0 first"):
        migrate(place)
    assert columns(place) == [one for one in before if one[0] != "store_version"]


def test_a_migrated_database_has_the_tables_of_a_new_one(place, release, folder):
    restore(place, release)
    migrate(place)
    found = columns(place)
    if "://" in place.where:
        for name in {name for name, *_ in found}:
            rows_of(place, f"DROP TABLE {name}")
        incarnation.connect(place.where).close()
        assert columns(place) == found
    else:
        new = place._replace(where=str(folder / "new.db"))
        incarnation.connect(new.where).close()
        assert columns(new) == found


def test_a_database_of_a_later_version_is_refused(place):
    """So do workers of 0.7.0, which accept version 6 at most: there is none."""
    place.open(linear()).close()
    assert schema.VERSION == 7 > VERSIONS["0.7.0"] + 1
    rows_of(place, "INSERT INTO store_version (version, at) VALUES (8, 0)")
    with pytest.raises(BadState, match="newer tacit"):
        place.open(linear())


@pytest.mark.parametrize("apart", [19, pytest.param(1, marks=pytest.mark.full)])
def test_a_migration_that_is_killed_has_happened_whole_or_not_at_all(place, release, apart):
    """At statements that are so many apart."""
    restore(place, release)
    before, old, number = rows_of(place, LEAVES), columns(place), 0
    keys = {path.name: path.read_bytes() for path in place.keys.iterdir()}
    while dies_at(number, place, lambda: migrate(place)):
        assert columns(place) == old
        assert {path.name: path.read_bytes() for path in place.keys.iterdir()} == keys
        number += apart
    assert number > 100 and columns(place) != old and rows_of(place, LEAVES) == before
    assert migrate(place) == "version 7 already"
    for name in BANDITS:
        opened(place, name).close()


# what was waiting


def rewarded(stored, known, choices):
    """Rewards of these choices, by ids that the earlier release gave out: whether they were in time."""
    return [stored.observe(known["ids"][str(i)], REWARD) for i in choices]


@pytest.mark.parametrize("name", ["bandit", "curved"])
def test_a_step_under_way_ends_by_the_old_rule(migrated, name):
    """What was added stays. Choices that were not answered, also of steps that are released, enter it with rewards that
    come before their deadlines, or that came before they were shown: the sums of the earlier release, to the bit."""
    place, known = migrated[0], migrated[1][name]
    before = rows_of(place, LEAVES)
    with opened(place, name) as stored:
        assert (stored.version, stored.choices, stored.entered) == (2, 8, 1)
        assert np.array_equal(stored.history[-1].estimate, known["estimate"])
        assert (stored.privacy.epsilon, stored.privacy.spent) == (known["epsilon"], known["spent"])
        assert {step: one.tolist() for step, one in sums(stored).items()} == {
            int(step): one for step, one in known["sums"].items()
        }
        assert all(rewarded(stored, known, (2, 6, 8)))
        assert all(stored.activate(known["ids"][i]) for i in "78")  # 7 has a reward; 5 is never shown
        assert rewarded(stored, known, (1, 3, 4)) == [False] * 3  # they were answered, and entered
        settle(stored)
        assert stored.entered == 8 and stored.version == 2
        assert sums(stored)[2].tolist() == known["after"]["2"] != known["sums"]["2"]
        assert not any(rewarded(stored, known, range(1, 9)))  # late
        stored.choose(arms(np.random.default_rng(0), count=2))  # the last choice of the step
        settle(stored)
        assert stored.version == 3 and stored.entered == 9
        for _ in range(3):
            stored.choose(arms(np.random.default_rng(1), count=2))
        settle(stored)
        assert stored.version == 4
    found = [row for row in rows_of(place, LEAVES) if row in before]
    assert found == before


def test_silence_counts_for_what_was_waiting(on_sqlite, release):
    """hold= is what after= was, unless told."""
    restore(on_sqlite, release)
    migrate(on_sqlite)
    with opened(on_sqlite, "bandit", hold=None, missing_as=0.25) as stored:
        before = total(stored)
        assert stored.hold == 60.0
        settle(stored)
        added = total(stored) - before
        assert stored.entered == 8 and np.trace(unpacked(added)) > 0  # 2 and 6; others are deferred


def unpacked(sums):
    """The matrix of a linear bandit's sums of dimension 3, but for its scale."""
    out, (i, j) = np.zeros((3, 3)), np.triu_indices(3)
    out[i, j] = sums[:6]
    return out


def test_whose_round_of_a_week_it_is_stays_known(migrated, release):
    """Ada has one round of a week, bob has had his. 0.6.0 knew people by ids that had no one form: what waits of those
    who are named teaches nothing, as with 0.7.0."""
    place, known = migrated[0], migrated[1]["week"]
    with opened(place, "week") as stored:
        assert all(rewarded(stored, known, (1, 2, 4, 5))) and stored.activate(known["ids"]["6"])
        settle(stored)
        assert stored.entered == 6 and sums(stored)[1].tolist() == known["after"]["1"]
        assert known["after"]["1"] != known["sums"]["1"]
        taught = total(stored)
        stored.observe(stored.choose(np.eye(3)[:2], person="ada"), 1.0)
        settle(stored)
        assert np.array_equal(total(stored), taught) == (release == "0.7.0")  # in the same week


def test_public_contexts_of_what_waits_are_in_sums_already(migrated):
    place, known = migrated[0], migrated[1]["public"]
    with opened(place, "public") as stored:
        before, exact = rows_of_contexts(stored), total(stored)
        assert (stored.version, stored.choices, stored.entered) == (1, 5, 5)
        rewarded(stored, known, (2, 4))
        stored.activate(known["ids"]["5"])
        settle(stored)
        assert rows_of_contexts(stored) == before and np.array_equal(total(stored), exact)
        play(stored, np.random.default_rng(2), 1)
        assert stored.version == 2 and rows_of_contexts(stored)[0] == before[0]


def rows_of_contexts(stored):
    found = table(stored, "SELECT sums FROM context_sum WHERE bandit = ? ORDER BY step", stored._vault.uid)
    return [bytes(sums) for (sums,) in found]


def test_a_step_that_is_full_is_released(migrated):
    """All of its choices were made and answered: in the earlier release the next choice would have closed it."""
    place = migrated[0]
    with opened(place, "full") as stored:
        assert (stored.version, stored.choices) == (0, 2)
        settle(stored)
        assert stored.version == 1 and sums(stored)[0].tolist() == migrated[1]["full"]["sums"]["0"]
        play(stored, np.random.default_rng(3), 2)
        assert stored.version == 2
    with opened(place, "again") as stored:  # both of its choices wait
        assert (stored.incarnation, stored.version, stored.entered) == (2, 0, 0)
        assert all(rewarded(stored, migrated[1]["again"], (1, 2)))
        settle(stored)
        assert stored.version == 1 and sums(stored)[0].tolist() == migrated[1]["again"]["after"]["0"]


def test_one_that_has_ended_stays_so(on_sqlite, release):
    known = restore(on_sqlite, release)["ended"]
    migrate(on_sqlite)
    with opened(on_sqlite, "ended") as stored:
        assert stored.retired and np.array_equal(stored.history[-1].estimate, known["estimate"])
        with pytest.raises(Retired):
            stored.choose(np.eye(3))


def test_a_choice_that_is_asked_for_again_has_its_answer(on_sqlite, release):
    known = restore(on_sqlite, release)["bandit"]
    migrate(on_sqlite)
    with opened(on_sqlite, "bandit") as stored:
        for i in "128":
            assert stored.choose(np.eye(3), request=i).id == known["ids"][i]
        assert stored.choices == 8


def test_damaged_rows_are_left_alone(on_sqlite, release):
    """One row that cannot be read stops no migration, and enters as nothing."""
    place = on_sqlite
    known = restore(place, release)["bandit"]
    uid = rows_of(place, "SELECT uid FROM bandit WHERE name = ?", "bandit")[0][0]
    rows_of(place, "UPDATE waiting SET sealed = ? WHERE bandit = ? AND number = 2", b"?" * 90, uid)
    migrate(place)
    with opened(place, "bandit") as stored:
        before = sums(stored)[2]
        rewarded(stored, known, (2,))
        settle(stored)
        assert stored.entered == 8 and np.array_equal(sums(stored)[2], before)


# steps


def test_a_step_that_is_closed_and_not_released_is_refused(place, release):
    """Only the earlier release knows how it ends."""
    restore(place, release, "closed")
    before, kept = columns(place), sorted(path.name for path in place.keys.iterdir())
    with pytest.raises(BadState, match="start the earlier release once more"):
        incarnation.migrate(place.where, {"bandit": place.keys})
    assert columns(place) == before
    assert sorted(path.name for path in place.keys.iterdir()) == kept  # no witness, which 0.6.0 writes later


def test_a_leaf_that_was_drawn_is_shown_as_it_was(place):
    restore(place, "0.7.0", "drawn")
    ((noisy, at),) = rows_of(place, "SELECT noisy, visible_at FROM drawn")
    incarnation.migrate(place.where, {"bandit": place.keys})
    assert rows_of(place, "SELECT noisy, visible_at FROM drawn") == [(noisy, at)]
    clock = Clock()
    clock.now = 2000.0
    with place.open(linear(first=2, pending=4), clock=clock) as stored:
        uid = stored._vault.uid
        opened = stored._vault.seal.open("sums", incarnation.place(uid, 0, "noisy"), noisy)
        stored.tend()
        assert stored.version == 1 and rows_shown(stored) == [(0, opened)]
        assert not table(stored, "SELECT * FROM drawn")


def rows_shown(stored):
    return [(step, bytes(noisy)) for step, noisy in table(stored, "SELECT step, noisy FROM leaf")]


# witnesses


def test_a_bandit_that_has_no_witness_gets_one_when_it_is_migrated_and_never_after(place):
    """0.6.0 wrote it with the first release that was shown. It is of what the database has then."""
    restore(place, "0.6.0")
    names, folder = ("full", "bandit"), place.keys
    assert [(folder / f"{name}.witness").exists() for name in names] == [False, True]
    kept = json.loads((folder / "bandit.witness").read_text())
    migrate(place)
    assert json.loads((folder / "bandit.witness").read_text()) == kept
    assert json.loads((folder / "full.witness").read_text())["steps"] == 0
    for name in names:
        opened(place, name).close()
        (folder / f"{name}.witness").unlink()
    migrate(place)
    for name in names:
        with pytest.raises(RolledBack, match="witness"):
            opened(place, name)


def test_no_witness_is_made_for_what_0_7_0_left_without(place):
    restore(place, "0.7.0")
    (place.keys / "bandit.witness").unlink()
    migrate(place)
    with pytest.raises(RolledBack, match="witness"):
        opened(place, "bandit")


# settings


@pytest.mark.parametrize(
    ("setting", "other"), [("noise", "wishart"), ("calibration", "loose"), ("release", "tree"), ("shift", 3.0)]
)
def test_settings_that_are_gone_open_at_their_usual_values(on_sqlite, release, setting, other):
    restore(on_sqlite, release)
    (text,) = rows_of(on_sqlite, "SELECT plan FROM bandit WHERE name = ?", "full")[0]
    assert setting in json.loads(text)
    migrate(on_sqlite)
    opened(on_sqlite, "full").close()
    changed = json.dumps(json.loads(text) | {setting: other})
    rows_of(on_sqlite, "UPDATE bandit SET plan = ? WHERE name = ?", changed, "full")
    with pytest.raises(BadState, match=f"got another {setting}"):
        opened(on_sqlite, "full")


def test_a_database_alone_does_not_say_where_its_keys_are(on_sqlite, release):
    place = on_sqlite
    restore(place, release)
    with pytest.raises(BadState, match="TOML file"):
        incarnation.migrate(place.where)
    with pytest.raises(BadState, match="none for again"):
        incarnation.migrate(place.where, {"bandit": place.keys})
    with pytest.raises(BadState, match="tacit migrate CONFIG"):
        opened(place, "bandit")


def test_the_command_says_what_it_did(on_sqlite, folder, monkeypatch, capsys):
    restore(on_sqlite, "0.7.0", "drawn")
    text = """
[bandits.{}]
kind = "joint-lin-ucb"
dim = 3
horizon = 2000
budget = {{epsilon = 1.0, delta = 1e-5}}
durable = "{}.db"
keys = "keys"
hold = 60
"""
    (folder / "serve.toml").write_text(text.format("bandit", "bandit") + text.format("new", "nothing"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["tacit", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 0
        return capsys.readouterr().out

    assert run("migrate", str(folder / "serve.toml")) == "bandit: from version 5 to 7.\nnew: nothing is there yet.\n"
    assert not (folder / "nothing.db").exists()
    assert run("migrate", on_sqlite.where) == "the database: version 7 already.\n"
