"""Device, shuffler, analyzer: what is sent, what is forgotten, what is refused."""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from reticent import Budget
from reticent.errors import BadReport, BatchTooSmall, DuplicateReport, LateReport, WrongBatch
from reticent.privacy.randomness import Seeded, System
from reticent_devices import ShuffleNewton
from reticent_devices.roles import wire
from reticent_devices.roles.shuffle import ShuffleClient
from reticent_devices.roles.shuffler import Shuffler

SERVER = ShuffleNewton(2, Budget(1.0, 1e-2), first=60)
BOARD = SERVER.billboard()


def reports(count, board=BOARD):
    clients = [ShuffleClient(board) for _ in range(count)]
    return [client.randomize(client.choose([[0.3, 0.4]]), 1.0) for client in clients]


def test_one_by_one_and_as_a_stream_are_the_same():
    sent = reports(100)
    one, many = Shuffler(BOARD), Shuffler(BOARD)
    for report in sent:
        one.add(report)
    assert many.add_many(b"".join(sent[:70])) == {}
    assert many.add_many(b"".join([*sent[60:], sent[99]])) == {"duplicate": 11}
    assert one.close() == many.close() and one.reports == 100


def test_the_order_of_reports_leaves_no_trace():
    sent, messages = reports(80), set()
    for seed in range(3):
        shuffler = Shuffler(BOARD)
        for i in default_rng(seed).permutation(80):
            shuffler.add(sent[i])
        messages.add(shuffler.close())
    assert len(messages) == 1


def test_a_retry_counts_once():
    shuffler = Shuffler(BOARD)
    for report in reports(60):
        shuffler.add(report)
        with pytest.raises(DuplicateReport):
            shuffler.add(report)
    assert shuffler.reports == 60


def test_bad_reports_are_named_and_change_nothing():
    good, other = reports(1)[0], ShuffleNewton(2, Budget(2.0, 1e-2), first=60).billboard()
    shuffler = Shuffler(BOARD)
    for bad, error in (
        *((b"", BadReport), (good[:20], BadReport), (good[:-1], BadReport), (good + b"x", BadReport)),
        *((b"xx" + good[2:], BadReport), (good[:2] + b"\x09" + good[3:], BadReport)),
        *((good[:-1] + b"\xff", BadReport), (good[:4] + b"\x07" + good[5:], WrongBatch)),
        (reports(1, other)[0], WrongBatch),
    ):
        with pytest.raises(error, match="Expected"):
            shuffler.add(bad)
        assert shuffler.reports == 0 and not shuffler._open.sums.any()
    stream = b"".join([good, good[:2] + b"\x09" + good[3:], good[:-1] + b"\xff", good[:4] + b"\x07" + good[5:], good])
    assert shuffler.add_many(stream) == {"version": 1, "wrong batch": 1, "out of range": 1, "duplicate": 1}
    assert shuffler.reports == 1
    with pytest.raises(BadReport, match="whole reports"):
        shuffler.add_many(good[:-1])


def test_a_report_for_an_earlier_batch_is_late():
    server = ShuffleNewton(2, Budget(1.0, 1e-2), first=60)
    shuffler, early = Shuffler(BOARD), reports(61)
    for report in early[:60]:
        shuffler.add(report)
    server.observe(shuffler.close())
    following = Shuffler(server.billboard())
    with pytest.raises(LateReport, match="earlier batch"):
        following.add(early[60])
    assert following.reports == 0


def test_too_few_reports_are_not_handed_on_and_not_lost():
    shuffler, sent = Shuffler(BOARD), reports(60)
    for report in sent[:59]:
        shuffler.add(report)
    with pytest.raises(BatchTooSmall):
        shuffler.close()
    shuffler.add(sent[59])
    message = shuffler.close()
    with pytest.raises(LateReport):
        shuffler.add(reports(1)[0])
    with pytest.raises(LateReport):
        shuffler.add_many(reports(1)[0])
    assert shuffler.close() == message


@pytest.mark.parametrize("source", [System(), Seeded(default_rng(3))], ids=["system", "seeded"])
def test_the_sum_is_unbiased_and_its_noise_has_the_law(source):
    """Mean and variance of the noise over 4000 reports of one vector: 5 standard errors; 2/3 and 3/2 of the standard
    deviation are rejected."""
    client = ShuffleClient(BOARD, noise=source)
    vector = client.contribution(np.array([0.6, -0.5]), 1.0)
    plan, n = SERVER.analyzer.plan(0), 4000
    counts = np.array([client.counts(vector) for _ in range(n)])
    assert counts.min() >= 0 and counts.max() <= client.parameters.slots
    noise = counts - plan.reach - plan.trials / 2 - vector * plan.scale
    fractions = vector * plan.scale - np.floor(vector * plan.scale)
    variance = plan.trials / 4 + fractions * (1 - fractions)
    assert (np.abs(noise.mean(axis=0)) < 5 * np.sqrt(variance / n)).all()
    ratio = noise.var() / variance.mean()
    assert abs(ratio - 1) < 5 * math.sqrt(2 / noise.size)
    assert abs(ratio * 4 / 9 - 1) > 5 * math.sqrt(2 / noise.size) < abs(ratio * 9 / 4 - 1)


def test_rounding_never_leaves_the_slots():
    client = ShuffleClient(BOARD)
    big = np.full(client.parameters.size, 100.0)
    assert (client.counts(big) <= client.parameters.slots).all() and (client.counts(-big) >= 0).all()
    for x in (np.array([1.0, 0.0]), np.array([0.0, -1.0]), np.zeros(2)):
        assert np.linalg.norm(client.contribution(x, 1.0)) <= SERVER.contribution.norm + 1e-12


def test_a_wide_report_uses_wider_numbers():
    silent = ShuffleNewton(2, Budget(math.inf, 1e-2), first=10).billboard()
    client = ShuffleClient(silent, noise=Seeded(default_rng(0)))
    report = client.randomize(client.choose([[0.3, 0.4]]), 1.0)
    assert len(report) == wire.REPORT.size + 4 * 5 and Shuffler(silent).add_many(report) == {}
