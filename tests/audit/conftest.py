"""Databases in memory, as tests of the store have them."""

from tests.store.conftest import folder

__all__ = ["folder"]
