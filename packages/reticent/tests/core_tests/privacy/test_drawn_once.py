"""Numbers that are drawn ahead leave once: with many requests, many sources and many threads, none is seen twice.

At 2^55 cells two of n independent draws are equal with probability below n^2 / 2^57: 10^-8 for all of these."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from core_tests.privacy.test_secure import wait
from reticent import Secure

CELLS = 2.0**55


def all_different(numbers):
    return len(np.unique(numbers)) == len(numbers)


def test_no_number_leaves_twice():
    """Requests of every size against what is drawn ahead: nothing of it, a part, all of it and more."""
    rng, source, taken = np.random.default_rng(0), Secure(), []
    for turn in range(300):
        if turn % 3 == 0:
            source.expect(int(rng.integers(1, 40)), CELLS)
        if turn % 5 == 0:
            wait(source, int(rng.integers(1, 60)))
        taken.append(source.integers(int(rng.integers(1, 4)), int(rng.integers(1, 30)), CELLS).ravel())
    assert all_different(np.concatenate(taken)) and not np.isin(source._pools[CELLS], np.concatenate(taken)).any()


def test_no_number_leaves_twice_whoever_asks():
    """Threads that share sources, while more is drawn ahead by hand."""
    sources, taken = [Secure(), Secure()], []

    def ask(source):
        for size in range(1, 40):
            taken.append(source.integers(1, size, CELLS).ravel())
            if size % 7 == 0:
                source.fill()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, sources * 3))
    assert all_different(np.concatenate(taken))
