"""The databases of tests/store, one PostgreSQL for all tests of the service."""

from tests.store.conftest import folder, on_postgres, postgres

__all__ = ["folder", "on_postgres", "postgres"]
