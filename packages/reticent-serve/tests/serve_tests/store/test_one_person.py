"""A person has one canonical form: 17, "17" and b"17" are one person, wherever they come from, and whatever an earlier
release has counted of them under three."""

import json
import unicodedata

import numpy as np
import pytest

from reticent import Bandit
from reticent.errors import BadState
from reticent_serve import Stored
from serve_tests.service.servers import application, call
from serve_tests.store.places import contribution, glm, linear, settle, table, total

ARM = [[1.0, 0.0, 0.0]]
SAME = (17, "17", b"17", np.int64(17), np.uint8(17), np.str_("17"))
COMPOSED, APART = "Ren\u00e9", "Rene\u0301"
WRONG = (True, np.True_, 17.0, np.float64(17), 17j, "", b"", ["17"], ("17",))


def in_memory(rounds, **options):
    return Bandit(linear(rounds=rounds, window=None), **options)


def counts(bandit):
    """Rounds of each person, of a bandit in memory or on a database."""
    if isinstance(bandit, Stored):
        settle(bandit)
        return sorted(rounds for (rounds,) in table(bandit, "SELECT rounds FROM person"))
    return sorted(bandit.memory.persons.counts.values())


@pytest.mark.parametrize("first", SAME, ids=lambda one: type(one).__name__)
def test_all_forms_of_an_id_have_one_allowance(on_sqlite, first):
    """Of a bandit in memory, in batches, from a file, and of one on a database: else limit 2 is six rounds."""
    with on_sqlite.open(linear(rounds=2)) as stored:
        for bandit in (in_memory(2), stored):
            for person in (first, *SAME, 18, "017"):  # another text: what else is alike is for the caller to say
                bandit.observe(bandit.choose(ARM, person=person), 1.0)
            assert counts(bandit) == [1, 1, 2]
    bandit = in_memory(2)
    batch = bandit.choose_many([ARM] * len(SAME), persons=[first, *SAME[1:-1], "17"])
    assert bandit.observe_many(batch, [1.0] * len(SAME)) == {} and counts(bandit) == [2]


def test_text_is_of_one_normal_form(on_sqlite):
    assert COMPOSED != APART and unicodedata.normalize("NFC", APART) == COMPOSED
    with on_sqlite.open(linear(rounds=9)) as stored:
        for bandit in (in_memory(9), stored):
            for person in (COMPOSED, APART, COMPOSED.encode(), APART.encode()):
                bandit.observe(bandit.choose(ARM, person=person), 1.0)
            for person in (b"\xff\xfe", "\udcff", "ren\u00e9"):  # no text at all: taken as it is
                bandit.observe(bandit.choose(ARM, person=person), 1.0)
            assert counts(bandit) == [1, 1, 1, 4]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_what_is_no_id_is_refused(on_sqlite, wrong):
    """A float would be another text: 17.0, or 1e+16. The error does not hold it."""
    with on_sqlite.open(linear(rounds=1)) as stored:
        for bandit in (in_memory(1), stored):
            with pytest.raises(ValueError, match="Expected person to be") as error:
                bandit.choose(ARM, person=wrong)
            assert "17" not in str(error.value)
            with pytest.raises(ValueError, match="Expected a person with every choice"):
                bandit.choose(ARM)
        with pytest.raises(ValueError, match="Expected person to be"):
            stored.erase(wrong)


def test_a_log_and_http_count_the_same_person(tmp_path):
    """A column of whole numbers, of texts or of bytes, and text over HTTP: limit 2, two rounds."""
    app = application(tmp_path, budget={"epsilon": 1.0, "delta": 1e-5, "unit": {"rounds": 2}})
    stored, memory = app.served["messages"].stored, in_memory(2)
    rows = {"x0": [1.0], "x1": [0.0], "x2": [0.0], "reward": [1.0]}
    for name, person in (("numbers", np.array([17])), ("texts", ["17"]), ("bytes", [b"17"])):
        assert stored.learn_log(rows | {"person": person}, log=name) == {}
        assert memory.learn_log(rows | {"person": person}) == {}
    for status, _, body in call(app, *(("choose", {"arms": ARM, "person": person}) for person in ("17", 17))):
        assert status == 200 and call(app, ("reward", {"id": json.loads(body)["id"], "reward": 1.0}))[0][0] == 200
    assert [call(app, ("choose", {"arms": ARM, "person": wrong}))[0][0] for wrong in (True, 17.5)] == [422, 422]
    assert counts(stored) == counts(memory) == [2]
    app.close()


def test_erasing_finds_all_forms(place):
    with place.open(glm(rounds=9)) as stored:
        choices = [stored.choose(ARM, person=person, request=f"{i}") for i, person in enumerate(SAME)]
        other = stored.choose(ARM, person=170)
        stored.erase("17")
        for choice in (*choices, other):
            assert stored.observe(choice, 1.0)
        settle(stored)
        assert stored.entered == 7 and np.array_equal(total(stored), contribution(glm(), ARM[0], 1.0))


def test_a_file_of_an_earlier_release_is_refused(tmp_path):
    """A bandit in memory: its file holds counts by hashes of the old kinds, under which nobody would be found again."""
    bandit = in_memory(1, seed=0)
    bandit.observe(bandit.choose(ARM, person="17"), 1.0)
    bandit.save(tmp_path / "bandit.json")
    again = type(bandit).load(tmp_path / "bandit.json")
    again.observe(again.choose(ARM, person=17), 1.0)
    assert counts(again) == [1]
    document = json.loads((tmp_path / "bandit.json").read_text())
    (tmp_path / "old.json").write_text(json.dumps(document | {"version": document["version"] - 1}))
    with pytest.raises(BadState, match="another release"):
        type(bandit).load(tmp_path / "old.json")
