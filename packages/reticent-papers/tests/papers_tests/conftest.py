"""Fixtures of the core's tests that tests of roles use here, too."""

from devices_tests.service.roles.conftest import nursery, start

__all__ = ["nursery", "start"]
