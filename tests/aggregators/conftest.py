"""Stores in memory: what is written is synced, and nobody waits for a disc."""

from tests.store.conftest import folder as folder
