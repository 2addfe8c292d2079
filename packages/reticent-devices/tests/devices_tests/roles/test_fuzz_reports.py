"""Thousands of damaged reports and batches: each is refused by a named error and changes nothing, or it counts.

Every run has another seed; a failure names it, and RETICENT_FUZZ_SEED repeats it."""

import os
import secrets
import struct

import numpy as np
from numpy.random import default_rng

from devices_tests.roles.boards import ALL, device, fellows, is_local
from reticent.errors import ReticentError
from reticent_devices import Shuffler

SEED = int(os.environ.get("RETICENT_FUZZ_SEED", secrets.randbits(32)))
EACH = 200
WORDS = [
    *(bytes(8), b"\xff" * 8, b"\xff" * 7 + b"\x7f", bytes(7) + b"\x80"),
    *(struct.pack("<d", value) for value in (np.nan, np.inf, -np.inf, 1e300, 1.0, 5e-324)),
    *(struct.pack("<q", value) for value in (1, -1, 2**31, 2**32, 2**53, -(2**53))),
]
OTHERS = [None, 1, 1.0, "", "tR", [], bytearray(60), memoryview(b"tR" * 30), np.zeros(9)]


def damaged(good, other, rng):
    """The bytes with one place changed, cut, lengthened, mixed with another message, or something else altogether."""
    kind, at = rng.integers(9), int(rng.integers(len(good)))
    if kind < 3:
        return good[:at] + bytes([rng.integers(256)]) + good[at + 1 :]
    if kind < 6:
        word = WORDS[rng.integers(len(WORDS))][: int(rng.choice([1, 2, 4, 8]))]
        return (good[:at] + word + good[at + len(word) :])[: len(good)]
    if kind == 6:
        return good[:at] if rng.random() < 0.5 else good + good[:at]
    if kind == 7:
        return good[:at] + other[at:]
    return OTHERS[rng.integers(len(OTHERS))]


def snapshot(*parts):
    """All arrays and numbers in NamedTuples, as bytes."""
    return b"".join(
        snapshot(*part) if isinstance(part, tuple) else np.ascontiguousarray(part).tobytes() for part in parts
    )


def sent(server, count=1):
    clients, rng = [device(server.billboard()) for _ in range(count)], default_rng(1)
    return [client.randomize(client.choose(rng.uniform(-0.5, 0.5, (3, client.dim))), None) for client in clients]


def test_a_local_server_counts_a_report_or_changes_nothing(served_local):
    name, others = served_local, [each for each in fellows(served_local) if is_local(each)]
    rng, server = default_rng([SEED, others.index(name)]), ALL[name]()
    taken = 0
    for number in range(EACH):
        good, foreign = sent(server)[0], sent(ALL[others[rng.integers(len(others))]]())[0]
        bad, before = damaged(good, foreign, rng), (snapshot(server._state), len(server._seen), server.users)
        told = f"RETICENT_FUZZ_SEED={SEED}, {name}, number {number}: {bad!r}"
        try:
            server.observe(bad)
            assert server.users == before[2] + 1, told
            taken += 1
        except ReticentError:
            assert (snapshot(server._state), len(server._seen), server.users) == before, told
        except Exception as error:
            raise AssertionError(told) from error
        assert np.isfinite(server.theta).all(), told
    assert 0 < taken < EACH
    server.observe(sent(server)[0])  # it goes on


def test_a_shuffler_counts_a_report_or_changes_nothing(served_shuffled):
    name = served_shuffled
    rng, server = default_rng([SEED, list(fellows(name)).index(name)]), ALL[name]()
    board, reports = server.billboard(), sent(server, EACH)
    one, many = Shuffler(board), Shuffler(board)
    for number, good in enumerate(reports):
        bad = damaged(good, reports[number - 1], rng)
        told = f"RETICENT_FUZZ_SEED={SEED}, {name}, number {number}: {bad!r}"
        for shuffler, add in ((one, one.add), (many, many.add_many)):
            before = snapshot(shuffler._open), shuffler.reports
            try:
                refused, whole = add(bad) or {}, len(bad) // shuffler.parameters.length
                assert shuffler.reports == before[1] + whole - sum(refused.values()), told
            except ReticentError:
                assert (snapshot(shuffler._open), shuffler.reports) == before, told
            except Exception as error:
                raise AssertionError(told) from error
        assert (one._open.sums <= one.reports * one.parameters.slots).all(), told
    assert 0 < one.reports < EACH


def test_a_server_of_the_shuffle_model_takes_a_batch_or_changes_nothing(served_shuffled):
    name = served_shuffled
    rng, server = default_rng([SEED, list(fellows(name)).index(name)]), ALL[name]()
    shuffler = Shuffler(server.billboard())
    shuffler.add_many(b"".join(sent(server, 60)))
    good, taken = shuffler.close(), 0
    for number in range(EACH):
        bad, before = damaged(good, good[::-1], rng), snapshot(server._state)
        told = f"RETICENT_FUZZ_SEED={SEED}, {name}, number {number}: {bad!r}"
        try:
            server.observe(bad)
            assert server.users >= 54 and np.isfinite(server.theta).all(), told
            server, taken = ALL[name](), taken + 1
        except ReticentError:
            assert snapshot(server._state) == before, told
        except Exception as error:
            raise AssertionError(told) from error
    assert 0 < taken < EACH
    server.observe(good)
