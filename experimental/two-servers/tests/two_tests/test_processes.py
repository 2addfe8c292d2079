"""Leader and helper as real processes: reports to boards, restarts, what is refused, and what the other sees."""

import contextlib
import hashlib
import http.client
import json
import secrets
import ssl
import threading
import time

import pytest
from numpy.random import default_rng

from devices_tests.service.roles.running import ask, until
from lab_tests.raising import raised
from reticent_two.roles import signed, wire
from reticent_two.service import files, peer
from reticent_two.service.peer import Helper, PeerRefused

from .pair import Pair


def test_reports_become_boards_and_both_restart(start, tmp_path):
    pair = Pair(start, tmp_path)
    first = pair.reports(3)
    assert pair.send(first[0])[0] == 200
    assert json.loads(pair.send(b"".join(first))[2]) == {"taken": 3}  # the first of them again: it counts once
    until(lambda: pair.status(0)["step"] == 1 and pair.status(1)["step"] == 1)
    until(lambda: signed.read(pair.billboard()).step == 1)
    for process in (pair.leader, pair.helper):
        process.kill()
    pair.start(1)
    pair.start(0)
    assert pair.send(first[1])[0] == 200  # known, and on disk
    again = pair.reports(5)
    wrong = again[0][:-1] + bytes([again[0][-1] ^ 1])
    status, _, body = pair.send(again[1][1:])
    assert status == 422 and b"whole reports" in body and pair.send(bytes(32) + again[1][32:])[0] == 422
    assert json.loads(pair.send(b"".join(again[:4]))[2]) == {"taken": 4}
    assert pair.send(wrong)[0] == 422  # the same nonce with another share
    until(lambda: pair.status(0)["step"] == 2 and pair.status(0)["users"] == 6)
    board = signed.read(pair.billboard())
    assert len(first[0]) == wire.length(board.task)
    until(lambda: signed.read(pair.billboard()).step == 2)
    for party, process in enumerate((pair.leader, pair.helper)):
        page = ask(process.port, "GET", "/dashboard")[2].decode()
        assert "nothing is left of the promise" in page and "Healthy" in page
        assert ask(process.port, "GET", "/health")[0] == 200 and b"reticent_" in ask(process.port, "GET", "/metrics")[2]
        assert pair.status(party)["epsilon"] == {"leader": 1.0, "helper": 4.0}
    assert ask(pair.helper.port, "POST", "/reports", again[0])[0] in (404, 405)
    assert ask(pair.helper.port, "GET", "/billboard")[0] == 404


def test_nobody_else_talks_to_the_helper(start, tmp_path):
    """Without the leader's certificate no connection is made, whatever is asked."""
    pair = Pair(start, tmp_path)
    pair.billboard()
    stranger = files.opened(tmp_path / "stranger")
    known = tmp_path / "helper" / "helper.identity.crt"
    own = files.opened(tmp_path / "leader" / "leader.identity")

    def ask(tls, what, body=b""):
        with contextlib.closing(Helper(pair.peer, tls)) as helper:
            return helper.ask(what, body)

    leader = peer.context(own, known, server=False)
    assert ask(leader, "key")
    for tls in (peer.context(stranger, known, server=False), peer.context(own, stranger.certificate, server=False)):
        raised((ssl.SSLError, OSError, http.client.HTTPException), ask, tls, "key")
    for what, body in (("halves", b""), ("task", bytes(200)), ("verify", b"x"), ("sign", b"{}"), ("leaf", b"")):
        with pytest.raises(PeerRefused):  # the leader itself has to keep to the rules
            ask(leader, what, body)


@pytest.mark.parametrize("times", [6, pytest.param(200, marks=pytest.mark.full)])
def test_either_is_killed_at_any_moment(start, tmp_path, times):
    """Reports come all the while. Either server is killed at any moment, and starts again: both have the same reports
    in every step, one leaf of each, and all that was acknowledged."""
    pair, rng = Pair(start, tmp_path, first=4), default_rng(secrets.randbits(32))
    taken, ended = set(), threading.Event()
    pair.billboard()
    stock = pair.reports(40 + 6 * times)

    def devices():
        for report in stock:
            while not ended.is_set():
                with contextlib.suppress(OSError, http.client.HTTPException):
                    if (status := pair.send(report)[0]) == 200:
                        taken.add(report)
                        break
                    assert status == 503, status
            time.sleep(0.01)

    sender = threading.Thread(target=devices)
    sender.start()
    try:
        for _ in range(times):
            time.sleep(float(rng.exponential(0.15)))
            party = int(rng.integers(2))
            (pair.leader, pair.helper)[party].kill()
            pair.start(party)
        sender.join(120)
        assert not sender.is_alive()
        until(lambda: pair.settled(len(stock)))
    finally:
        ended.set()
        sender.join()
    for process in (pair.leader, pair.helper):
        process.kill()
    leader, helper = (
        pair.read(party, "SELECT step, nonce FROM reports WHERE verdict = 1 ORDER BY nonce") for party in (0, 1)
    )
    counted = {nonce for _, nonce in leader}
    waiting = {nonce for (nonce,) in pair.read(0, "SELECT nonce FROM reports WHERE verdict IS NULL")}
    assert leader == helper and len(counted) == len(leader)
    assert {report[32:48] for report in taken} == counted | waiting and len(taken) == len(stock)
    leaves = [dict(pair.read(party, "SELECT step, leaf FROM steps")) for party in (0, 1)]
    released = dict(pair.read(0, "SELECT step, leaves FROM released", ".public"))
    assert len(released) >= 5 and released == {step: leaves[0][step] + leaves[1][step] for step in leaves[0]}
    for party in (0, 1):  # what each knows of the other's is what the other released
        rows = pair.read(party, "SELECT step, theirs FROM steps")
        assert all(theirs == hashlib.sha256(leaves[1 - party][step]).digest() for step, theirs in rows)


def test_the_loss_of_one_server_ends_the_era_and_a_new_one_begins(start, tmp_path):
    """A counter file that is gone, under a running helper: nothing more is answered, by neither. With new files both
    begin anew; reports of the old era are none of the new one."""
    pair = Pair(start, tmp_path)
    old, device = pair.reports(4), pair.device()
    assert pair.send(old[0])[0] == 200
    (tmp_path / "helper" / "apart" / "helper.counter").unlink()
    pair.send(b"".join(old[1:3]))
    until(lambda: ask(pair.leader.port, "GET", "/health")[0] == 503)
    until(lambda: ask(pair.leader.port, "GET", "/billboard")[0] == 410)
    assert pair.send(old[3])[0] == 410 and "Needs attention" in ask(pair.helper.port, "GET", "/dashboard")[2].decode()
    for name in ("leader", "helper"):
        assert not (tmp_path / name / "apart" / f"{name}.counter.keys").exists()
    for process in (pair.leader, pair.helper):
        process.kill()
    raised(AssertionError, pair.start, 1).match("the era is retired")
    pair.rename(".db", "-2.db")
    pair.rename(".counter", "-2.counter")
    pair.start(1)
    pair.start(0)
    again = pair.device(marks=device.marks)
    assert again.task.digest != device.task.digest and len(again.marks) == 2 and again.version == 0
    assert pair.send(old[3])[0] == 422 and json.loads(pair.send(b"".join(pair.reports(3)))[2]) == {"taken": 3}
    until(lambda: pair.status(0)["step"] == 1)
