"""A person has one canonical form: 17, "17" and b"17" are one person, wherever they come from, and whatever an earlier
release has counted of them under three."""

import json
import unicodedata

import numpy as np
import polars
import pytest

from tacit import Simulated
from tacit.errors import BadState, PersonLimit
from tests.pieces import Pieces
from tests.service.servers import application, call
from tests.store.places import contribution, glm, linear, settle, total

ARM = [[1.0, 0.0, 0.0]]
SAME = (17, "17", b"17", np.int64(17), np.uint8(17), np.str_("17"))
COMPOSED, APART = "Ren\u00e9", "Rene\u0301"
WRONG = (True, np.True_, 17.0, np.float64(17), 17j, "", b"", ["17"], ("17",))


@pytest.mark.parametrize("first", SAME, ids=lambda one: type(one).__name__)
def test_all_forms_of_an_id_have_one_allowance(on_sqlite, first):
    """Of a bandit in memory, in batches, from a file, and of one on a database: else limit 1 is three rounds."""
    with on_sqlite.open(linear(max_rounds_per_person=1)) as stored:
        for bandit in (linear(max_rounds_per_person=1), stored):
            bandit.choose(ARM, person=first)
            for again in SAME:
                with pytest.raises(PersonLimit):
                    bandit.choose(ARM, person=again)
            bandit.choose(ARM, person=18)
            bandit.choose(ARM, person="017")  # another text: what else is alike is for the caller to say
    batch = linear(max_rounds_per_person=1).choose_many([ARM] * len(SAME), persons=[first, *SAME[1:-1], "17"])
    assert set(batch.refused) == set(range(1, len(SAME)))


def test_text_is_of_one_normal_form(on_sqlite):
    assert COMPOSED != APART and unicodedata.normalize("NFC", APART) == COMPOSED
    with on_sqlite.open(linear(max_rounds_per_person=1)) as stored:
        for bandit in (linear(max_rounds_per_person=1), stored):
            bandit.choose(ARM, person=APART)
            for again in (COMPOSED, APART, COMPOSED.encode(), APART.encode()):
                with pytest.raises(PersonLimit):
                    bandit.choose(ARM, person=again)
            bandit.choose(ARM, person=b"\xff\xfe")  # no text at all: taken as it is
            bandit.choose(ARM, person="\udcff")
            bandit.choose(ARM, person="ren\u00e9")


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_what_is_no_id_is_refused(on_sqlite, wrong):
    """A float would be another text: 17.0, or 1e+16. The error does not hold it."""
    with on_sqlite.open(linear(max_rounds_per_person=1)) as stored:
        for bandit in (linear(max_rounds_per_person=1), stored):
            with pytest.raises(ValueError, match="Expected person to be") as error:
                bandit.choose(ARM, person=wrong)
            assert "17" not in str(error.value)
        with pytest.raises(ValueError, match="Expected person to be"):
            stored.erase(wrong)


def test_a_log_and_http_count_the_same_person(tmp_path):
    """A column of whole numbers, a log in pieces, and text over HTTP: limit 1, one round."""
    app = application(tmp_path, max_rounds_per_person=1, on_limit="refuse")
    stored = app.served["messages"].stored
    rows = {"x0": [1.0], "x1": [0.0], "x2": [0.0], "reward": [1.0]}
    assert stored.learn_log(rows | {"person": np.array([17])}, log="numbers") == {}
    pieces = Pieces(polars.DataFrame(rows | {"person": [17]}))
    for name, log in (("texts", rows | {"person": ["17"]}), ("bytes", rows | {"person": [b"17"]})):
        assert set(stored.learn_log(log, log=name)) == {0}
    assert set(stored.learn_log(pieces, log="pieces")) == {0}
    replies = call(app, *(("choose", {"arms": ARM, "person": person}) for person in ("17", 17)))
    assert [status for status, _, _ in replies] == [409, 409]
    assert [call(app, ("choose", {"arms": ARM, "person": wrong}))[0][0] for wrong in (True, 17.5)] == [422, 422]
    app.close()
    memory = linear(max_rounds_per_person=1)
    assert memory.learn_log(rows | {"person": [17]}) == {}
    assert set(memory.learn_log(rows | {"person": ["17"]})) == {0} and set(memory.learn_log(pieces)) == {0}


def test_erasing_finds_all_forms(place):
    with place.open(glm(max_rounds_per_person=9)) as stored:
        choices = [stored.choose(ARM, person=person, request=f"{i}") for i, person in enumerate(SAME)]
        other = stored.choose(ARM, person=170)
        stored.erase("17")
        for choice in (*choices, other):
            assert stored.observe(choice, 1.0)
        settle(stored)
        assert stored.entered == 7 and np.array_equal(total(stored), contribution(glm(), ARM[0], 1.0))


def test_a_file_of_an_earlier_release_is_refused(tmp_path):
    """A bandit in memory: its file holds counts by hashes of the old kinds, under which nobody would be found again."""
    bandit = linear(max_rounds_per_person=1, source=Simulated(0))
    bandit.choose(ARM, person="17")
    bandit.save(tmp_path / "bandit.json")
    with pytest.raises(PersonLimit):
        type(bandit).load(tmp_path / "bandit.json").choose(ARM, person=17)
    document = json.loads((tmp_path / "bandit.json").read_text())
    (tmp_path / "old.json").write_text(json.dumps(document | {"version": document["version"] - 1}))
    with pytest.raises(BadState, match="another release"):
        type(bandit).load(tmp_path / "old.json")
