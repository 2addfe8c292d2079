"""One bandit is one uid, one database and one witness: else it is refused, and nothing is written, not a file."""

import json
from pathlib import Path

import apsw
import pytest

from reticent.errors import BadState, RolledBack, WrongKeys
from reticent_serve import move, retire
from reticent_serve.holders.database import DatabaseIdentity
from reticent_serve.holders.opening import database_at
from reticent_serve.holders.retirement import erase_at
from reticent_serve.holders.witness import Witness
from serve_tests.store.places import glm, linear, lived, table


def files(*folders):
    """With what is in them."""
    found = [path for folder in folders if folder.exists() for path in folder.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in found}


@pytest.mark.parametrize("format", [7, 9])
def test_a_database_of_another_format_is_refused(place, format):
    with place.open(linear()) as stored:
        table(stored, "UPDATE store_version SET version = ?", format)
    with pytest.raises(BadState, match=f"Expected a database of format 8, got format {format}"):
        place.open(linear())


@pytest.mark.parametrize("releases", [True, False])
def test_a_mistyped_name_of_the_database_is_refused(on_sqlite, on_postgres, folder, releases):
    """Before anything was released, too: the witness of the real bandit was overwritten then."""
    lived(on_sqlite, 12 if releases else 3)
    before, typo = files(folder), on_sqlite._replace(where=str(folder / "bandti.db"))
    for other in (typo, on_postgres._replace(keys=on_sqlite.keys)):
        for window in ("10 seconds", None):
            with pytest.raises(RolledBack) as error:
                other.open(glm(window=window))
            assert str(on_sqlite.keys) in str(error.value) and "Nothing was written" in str(error.value)
            assert "reticent move CONFIG --to" in str(error.value)
            assert other is not typo or str(folder / "bandti.db") in str(error.value)
    assert files(folder) == before
    empty = database_at(on_postgres.where)
    with empty.transaction() as run:
        assert not run(empty.finding, "bandit")
    empty.close()
    on_sqlite.open(glm()).close()


def test_a_record_of_another_uid_is_never_overwritten(folder):
    """Also where two that are new begin at once: neither database has a bandit yet, and no step was released."""
    witness = Witness(folder, "bandit")
    witness.begin("one", DatabaseIdentity("system", 0))
    before = files(folder)
    with pytest.raises(RolledBack):
        witness.begin("other", DatabaseIdentity("another", 0))
    assert files(folder) == before
    (folder / "bandit.witness").write_text('{"uid": "one", "digests": [], "system": "system", "timeline": 0}')
    with pytest.raises(BadState, match="damaged file"):
        witness.begin("one", DatabaseIdentity("system", 0))


def test_a_database_that_has_another_bandit_of_that_name_is_refused(place, folder):
    """It has lived as long as the real one, and with its folder of keys it goes on."""
    place.open(glm()).close()
    other = place._replace(where=str(folder / "other.db"), keys=folder / "other keys")
    lived(other)
    before, wrong = files(place.keys, other.keys), other._replace(keys=place.keys)
    content = Path(other.where).read_bytes()
    for work in (
        lambda: wrong.open(glm(), reward={"window": "99 seconds"}),
        lambda: retire(wrong.where, keys=wrong.keys),
        lambda: move(wrong.where, str(folder / "third.db"), keys=wrong.keys),
    ):
        with pytest.raises(BadState):
            work()
    assert files(place.keys, other.keys) == before and Path(other.where).read_bytes() == content
    assert not (folder / "third.db").exists()
    with other.open(glm(), reward={"window": None}) as stored:
        assert stored.version == 1 and stored.window == 10.0


def test_a_mistyped_folder_of_keys_is_refused(place, folder):
    place.open(glm()).close()
    with pytest.raises(WrongKeys, match=str(folder / "kesy")):
        place._replace(keys=folder / "kesy").open(glm())
    assert not (folder / "kesy").exists()


def test_commands_make_no_database_where_there_is_none(folder):
    for work in (retire, lambda where: move(where, str(folder / "to.db")), lambda where: erase_at(where, "ada")):
        with pytest.raises(BadState, match=f"{folder}/none.db, got none"):
            work(str(folder / "none.db"))
    assert files(folder) == {} and list(folder.iterdir()) == []


def test_another_application_s_database_stays_as_it_is(on_sqlite, folder):
    on_sqlite.open(glm()).close()
    other = folder / "other.db"
    connection = apsw.Connection(str(other))
    connection.execute("CREATE TABLE shop (item TEXT)").fetchall()
    connection.close()
    before = other.read_bytes()
    with pytest.raises(RolledBack):
        on_sqlite._replace(where=str(other)).open(glm())
    assert other.read_bytes() == before


def test_every_database_has_an_identity_of_its_own(place, folder):
    """Which a copy has, too, and a move alone changes on record."""
    with place.open(glm()) as stored:
        one = stored._database.identity()
    with place._replace(where=str(folder / "other.db"), keys=folder / "other keys").open(glm()) as stored:
        assert stored._database.identity().system != one.system
    with place.open(glm()) as stored:
        assert stored._database.identity() == one
    witness = json.loads((place.keys / "bandit.witness").read_text())
    assert witness["system"] == one.system and witness["timeline"] == one.timeline
