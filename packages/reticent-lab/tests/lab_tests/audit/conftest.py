from serve_tests.store.conftest import folder, place, postgres  # noqa: F401
