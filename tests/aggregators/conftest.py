"""Stores in memory: what is written is synced, and nobody waits for a disc."""

import pytest

from tests.aggregators.parties import places, server
from tests.store.conftest import folder as folder


@pytest.fixture
def both(folder):
    """A server, leader and helper."""
    made = server()
    opened = [place.open() for place in places(folder, made.task)]
    yield made, *opened
    for one in opened:
        one.close()
