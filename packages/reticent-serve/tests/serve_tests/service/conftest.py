"""PostgreSQL and folders as in tests/store, and applications that close by themselves."""

import pytest

from core_tests.cli.conftest import reticent
from serve_tests.service.servers import OPEN
from serve_tests.store.conftest import folder, on_postgres, postgres

__all__ = ["folder", "on_postgres", "postgres", "reticent"]


@pytest.fixture(autouse=True)
def _closed():
    """What a test opens is closed after it; what it found open, of its module, stays."""
    before = len(OPEN)
    yield
    while len(OPEN) > before:
        OPEN.pop().close()
