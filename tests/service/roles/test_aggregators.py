"""Leader and helper as real processes: reports to boards, restarts, what is refused, and what the other sees."""

import json

from tacit.roles.two import signed, wire
from tests.service.roles.pair import Pair
from tests.service.roles.running import ask, until


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
    assert status == 422 and b"whole reports" in body
    assert pair.send(bytes(32) + again[1][32:])[0] == 422
    assert json.loads(pair.send(b"".join(again[:4]))[2]) == {"taken": 4}
    assert pair.send(wrong)[0] == 422  # the same nonce with another share
    until(lambda: pair.status(0)["step"] == 2 and pair.status(0)["users"] == 6)
    board = signed.read(pair.billboard())
    assert len(first[0]) == wire.length(board.task)
    until(lambda: signed.read(pair.billboard()).step == 2)
    for party, process in enumerate((pair.leader, pair.helper)):
        page = ask(process.port, "GET", "/dashboard")[2].decode()
        assert "nothing is left of the promise" in page and "Healthy" in page
        assert ask(process.port, "GET", "/health")[0] == 200 and b"tacit_" in ask(process.port, "GET", "/metrics")[2]
        assert pair.status(party)["epsilon"] == {"leader": 1.0, "helper": 4.0}
    assert ask(pair.helper.port, "POST", "/reports", again[0])[0] in (404, 405)
    assert ask(pair.helper.port, "GET", "/billboard")[0] == 404
