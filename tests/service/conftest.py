from serve_tests.service.conftest import _closed, folder, on_postgres, postgres, reticent

__all__ = ["_closed", "folder", "on_postgres", "postgres", "reticent"]
