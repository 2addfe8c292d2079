"""One shuffler hands on one batch, once: no copy, no fork and no race makes two that differ in one report."""

import copy
import pickle
import sys

import pytest

from devices_tests.roles.test_shuffle_protocol import BOARD, SERVER
from reticent.errors import BadState, DuplicateReport
from reticent_devices import Shuffler
from serve_tests.store.processes import at_once, forked


def report():
    device = SERVER.device()
    return device.randomize(device.choose([[0.6, 0.0], [0.0, 0.6]]), 1.0)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda f: f.__name__)
def test_a_shuffler_cannot_be_copied(again):
    with pytest.raises(TypeError, match="one shuffler for a batch"):
        again(Shuffler(BOARD))


def test_a_forked_copy_refuses_once_there_are_reports():
    shuffler, one = Shuffler(BOARD, minimum=1), report()
    shuffler.add(one)

    def closes():
        with pytest.raises(BadState):
            shuffler.close()

    assert forked(closes) == 0
    shuffler.close()


def test_a_retry_in_many_threads_counts_once():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(60):
            shuffler, one, refused = Shuffler(BOARD, minimum=1), report(), []

            def add(shuffler=shuffler, one=one, refused=refused):
                try:
                    shuffler.add(one)
                except DuplicateReport:
                    refused.append(1)

            at_once(*[add] * 4)
            assert shuffler.reports == 1 and len(refused) == 3
    finally:
        sys.setswitchinterval(before)
