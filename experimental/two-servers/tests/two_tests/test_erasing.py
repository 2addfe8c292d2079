"""Exact sums and shares are gone once an era is over, or retired."""

import contextlib
import sqlite3

import pytest

from lab_tests.raising import raised
from reticent.errors import HorizonReached, Retired

from .parties import close, opened, reports, shut, verify


def read(place, query):
    with contextlib.closing(sqlite3.connect(place.database)) as database:
        return [value for (value,) in database.execute(query)]


def test_no_sums_are_left_after_the_last_step(folder):
    made, where, leader, helper = opened(folder, horizon=4, first=3)
    for _ in range(made.task.steps.leaves):
        leader.receive(reports(made, leader.missing))
        verify(leader, helper)
        made.observe(close(leader, helper))
    shut(leader, helper)
    for place in where:
        assert set(read(place, "SELECT share FROM steps")) == {None}
        assert not any(read(place, "SELECT open FROM state")[0])
    leader, helper = (place.open() for place in where)
    leader.receive(reports(made, 1))
    assert not leader.jobs() and helper.verify(b"") == b""
    leader.decide(b"")
    raised(HorizonReached, helper.certificate)
    shut(leader, helper)


@pytest.mark.parametrize("asked", [True, False])
def test_nothing_of_people_is_left_in_a_retired_era(folder, asked):
    """By `retire`, or where the counter file is gone at a start; another counter file does not bring it back."""
    made, where, leader, helper = opened(folder)
    leader.receive(reports(made, leader.missing))
    verify(leader, helper)
    close(leader, helper)
    leader.receive(reports(made, leader.missing))
    leader.decide(helper.verify(leader.jobs(1)))
    helper.close()
    if asked:
        raised(Retired, leader.retire)
        raised(Retired, leader.receive, b"")
    leader.close()
    if not asked:
        where[0].counter.unlink()
    raised(Retired, where[0].open)
    assert set(read(where[0], "SELECT share FROM steps")) == {None} == set(read(where[0], "SELECT open FROM state"))
    assert set(read(where[0], "SELECT job FROM reports UNION SELECT kept FROM reports")) == {None}
