from serve_tests.store.conftest import folder, on_postgres, on_sqlite, place, postgres

__all__ = ["folder", "on_postgres", "on_sqlite", "place", "postgres"]
