"""Databases in memory, as tests of the store have them."""

from serve_tests.store.conftest import folder

__all__ = ["folder"]
