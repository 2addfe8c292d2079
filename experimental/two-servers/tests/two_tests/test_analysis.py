"""What the analyzer keeps in the leader's process: nothing is ahead of its disk."""

import contextlib
import time

import pytest

from reticent.errors import BadReport, Unavailable
from reticent_two.roles.board import NOTHING
from reticent_two.service.analysis import Analysis

from .parties import close, reports, server, verify


@contextlib.contextmanager
def full(analysis):
    """A disk that takes no transaction."""
    transaction = analysis._database.transaction

    @contextlib.contextmanager
    def failing():
        with transaction() as run:
            yield run
            raise Unavailable("Expected room on the disk, got none.")

    analysis._database.transaction = failing
    with pytest.raises(Unavailable):
        yield
    del analysis._database.transaction


def test_a_transaction_that_fails_leaves_nothing_behind(both, folder):
    made, leader, helper = both
    given = {"era": made.task.era}
    analysis = Analysis(server(**given), made.task, folder / "leader.public", 3600)
    now = time.time()
    with full(analysis):
        analysis.board(now, (NOTHING, NOTHING))
    assert analysis.shown() is None
    first = analysis.board(now + 1, (NOTHING, NOTHING))
    analysis.signed(first, b"both")
    leader.receive(reports(made, leader.missing))
    verify(leader, helper)
    leaves = close(leader, helper)
    with full(analysis):
        analysis.take(leaves)
    assert analysis.step == 0
    with pytest.raises(BadReport):
        analysis.take(leaves[:-1])
    analysis.take(leaves)
    analysis.close()
    again = Analysis(server(**given), made.task, folder / "leader.public", 3600)
    assert again.step == 1 and again.shown().text == first.text
    again.close()
