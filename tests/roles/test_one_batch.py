"""One shuffler hands on one batch, once: no copy, no fork and no race makes two that differ in one report."""

import copy
import os
import pickle
import sys
import threading

import pytest

from tacit import Shuffler
from tacit.errors import BadState, DuplicateReport
from tests.roles.test_shuffle_protocol import BOARD, SERVER


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
    child = os.fork()
    if child == 0:
        try:
            shuffler.close()
        except BadState:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
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

            threads = [threading.Thread(target=add) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert shuffler.reports == 1 and len(refused) == 3
    finally:
        sys.setswitchinterval(before)
