"""Stores in memory, so that nobody waits for a disc. Aggregators that are processes come from one nursery."""

import sys
from pathlib import Path

import pytest

from devices_tests.service.roles import conftest as roles
from devices_tests.service.roles.conftest import start as start
from serve_tests.store.conftest import folder as folder

from .parties import opened, shut


@pytest.fixture(scope="session")
def nursery():
    yield from roles.bred([sys.executable, Path(__file__).with_name("nursery.py")])


@pytest.fixture
def both(folder):
    """A server, leader and helper."""
    made, _, *parties = opened(folder)
    yield made, *parties
    shut(*parties)
