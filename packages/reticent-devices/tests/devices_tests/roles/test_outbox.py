"""The outbox of a Python device: one report for every choice at a public time, and the same bytes after every crash."""

import json
import math
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from devices_tests.roles.boards import SERVERS, changed, device, published
from reticent import Budget
from reticent.errors import BadBillboard, DuplicateReport, TooManyReports
from reticent_devices import ShuffleNewton, Shuffler
from reticent_devices.roles import identity, sealed, wire
from reticent_devices.roles.account import Lifetime
from reticent_devices.roles.outbox import WEEK, Outbox, post

BOARD = published("newton")[1]
MANY = ShuffleNewton(2, Budget(1.0, 1e-6), first=2000).billboard()  # whose deltas may be added up
ARMS = {"stay": [0.6, 0.123456], "go": [0.123456, 0.9]}
WAIT, JITTER = 1000.0, 100.0


def board_of(batch):
    return changed("newton", "batch", to=batch)


class World:
    """A clock, and what a server got: its answers are given, True after that."""

    def __init__(self, path, *, now=0.0, answers=(), weekly=3, open=device, send=None, **options):
        self.now, self.sent, self.answers = now, [], list(answers)
        self.outbox = Outbox(
            path,
            open=open,
            send=send or self.send,
            wait=WAIT,
            jitter=JITTER,
            weekly=weekly,
            clock=lambda: self.now,
            **{"lifetime": Lifetime(epsilon=1e4, delta=0.5), "resident": True, "ledger": path.with_name("ledger")}
            | options,
        )

    def send(self, report):
        self.sent.append(report)
        answer = self.answers.pop(0) if self.answers else True
        if answer is None:
            raise ConnectionError
        return answer

    def at(self, now):
        self.now = now
        return self.outbox


@pytest.mark.parametrize("reward", [None, 0.0, 1.0, math.nan, 10**400, np.float32(0.5)])
def test_every_choice_sends_one_report_whatever_came(tmp_path, reward):
    world = World(tmp_path / "kept")
    ticket = world.outbox.choose(BOARD, ARMS)
    assert ticket.name == list(ARMS)[ticket.index]
    (item,) = world.outbox.shown()
    assert WAIT <= item.due < WAIT + JITTER and "0.123456" in (tmp_path / "kept").read_text()
    if reward is not None:
        world.at(500.0).reward(ticket.id, reward)
    world.at(item.due - 1e-3).flush()
    assert not world.sent
    for later in (item.due, item.due + 1, item.due + 2):
        world.at(later).flush()
    Shuffler(BOARD).add(world.sent[0])
    assert len(world.sent) == 1 and world.outbox.shown()[0].report == world.sent[0].hex()
    assert "0.123456" not in (tmp_path / "kept").read_text()  # the raw datum is forgotten
    assert stat.S_IMODE(os.stat(tmp_path / "kept").st_mode) == 0o600


def test_times_have_a_jitter_of_their_own(tmp_path):
    """Both halves of the range are met (false alarm 2^-59), and no two are alike."""
    world = World(tmp_path / "kept", weekly=60)
    for batch in range(60):
        world.outbox.choose(MANY.replace(b'"batch": 0,', b'"batch": %d,' % batch), ARMS)
    jitter = [item.due - WAIT for item in world.outbox.shown()]
    assert len(set(jitter)) == 60 and min(jitter) < JITTER / 2 < max(jitter)


def test_reports_are_sent_again_byte_for_byte_until_they_are_taken(tmp_path):
    first = World(tmp_path / "kept", answers=[None, None, None])
    first.outbox.choose(BOARD, ARMS)
    for now in (2000.0, 3000.0, 4000.0):
        first.at(now).flush()
    again = World(tmp_path / "kept")
    for now in (5000.0, 6000.0):
        again.at(now).flush()
    assert len(set(first.sent)) == 1 and again.sent == first.sent[:1] and len(first.sent) == 3


def test_refused_reports_are_not_sent_again_and_late_rewards_are_dropped(tmp_path):
    world = World(tmp_path / "kept", answers=[False])
    ticket = world.outbox.choose(BOARD, ARMS)
    world.at(999.0).reward(ticket.id, 1.0)
    world.at(1000.0).reward(ticket.id, 0.0)
    world.outbox.reward("unknown", 1.0)
    assert json.loads((tmp_path / "kept").read_text())["items"][0]["reward"] == 1.0
    world.at(2000.0).flush()
    world.at(2000.0).flush()
    assert len(world.sent) == 1 and world.outbox.shown()[0].taken is False
    with pytest.raises(ValueError, match="a number, got str"):
        world.outbox.reward(ticket.id, "1")


def test_a_device_has_a_budget_of_its_own(tmp_path):
    world = World(tmp_path / "kept")
    for batch in range(3):
        world.outbox.choose(board_of(batch), ARMS)
    with pytest.raises(TooManyReports, match="at most 3 reports in a week"):
        World(tmp_path / "kept").outbox.choose(board_of(3), ARMS)
    world.at(5000.0).flush()
    world.at(WEEK + 1).choose(board_of(3), ARMS)
    assert len(world.outbox.shown()) == 1


@pytest.mark.parametrize("name", ["newton", "irls-public"])
def test_copies_of_the_file_are_one_report(tmp_path, name):
    """Fifty copies that were taken before the report was made: each draws noise of its own, and all have the id that
    was drawn with the choice. With an id that is drawn with the report fifty are counted."""
    server = SERVERS[name]()
    board = server.billboard()
    World(tmp_path / "kept").outbox.choose(board, ARMS)
    sent = []
    for number in range(50):
        shutil.copy(tmp_path / "kept", tmp_path / str(number))
        world = World(tmp_path / str(number))
        world.at(2000.0).flush()
        sent += world.sent
    counts = Shuffler(board).add if name == "newton" else server.observe
    counts(sent[0])
    for report in sent[1:]:
        with pytest.raises(DuplicateReport):
            counts(report)
    assert len(sent) == 50 and len(set(sent)) > 1


def test_a_server_that_answers_nobody_stops_no_device(tmp_path):
    """503 for ever: reports are sent again for a week, and then given up; meanwhile the limit is of choices in a week.
    A device that waits for every answer makes no choice ever again."""
    world = World(tmp_path / "kept", answers=[None] * 100)
    for batch in range(3):
        world.outbox.choose(board_of(batch), ARMS)
    for day in range(1, 8):
        world.at(day * WEEK / 7).flush()
    assert len(world.sent) == 21 and len(set(world.sent)) == 3
    world.at(WEEK + 1).choose(board_of(3), ARMS)
    world.at(2 * WEEK).flush()
    assert len(world.sent) == 22 and len(world.outbox.shown()) == 1
    world.at(4 * WEEK).flush()
    assert len(world.sent) == 22 and world.outbox.shown() == [] and len(world.outbox.spent().entries) == 4


@pytest.mark.parametrize("way", ["open", "sealed"])
def test_an_answer_that_is_no_http_stops_no_report(tmp_path, way):
    """As of a relay, to a report or to who asks for a batch's key. If `flush` failed for it, the reports behind the
    first one would never leave."""
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def relay():
            while len(asked) < 2:
                with server.accept()[0] as connection:
                    asked.append(connection.recv(65536))
                    connection.sendall(b"no HTTP at all\r\n\r\n")

        thread = threading.Thread(target=relay, daemon=True)
        thread.start()
        url, pinned = f"http://127.0.0.1:{server.getsockname()[1]}", identity.public(identity.drawn())
        send = post(url) if way == "open" else sealed.sealing(pinned, sealed.get(url), bool)
        world = World(tmp_path / "kept", send=send)
        for batch in range(2):
            world.outbox.choose(board_of(batch), ARMS)
        world.at(WAIT + JITTER).flush()
        thread.join(60)
    assert len(asked) == 2 and [item.taken for item in world.outbox.shown()] == [None, None]


def test_what_was_never_made_costs_nothing_and_is_deleted(tmp_path):
    """A program that is not started for weeks: its raw datum goes, unsent, and so does the cost of its report."""
    World(tmp_path / "kept").outbox.choose(BOARD, ARMS)
    late = World(tmp_path / "kept")
    late.at(WEEK + WAIT + JITTER).flush()
    assert not late.sent and late.outbox.spent().entries == [] and "0.123456" not in (tmp_path / "kept").read_text()


def test_billboards_are_kept_once_and_go_with_the_last_choice_that_needs_them(tmp_path):
    """At 95 features a billboard has 400 kB. Kept with every choice, twenty of them are 8 MB."""
    board = ShuffleNewton(95, Budget(1.0, 1e-6), first=200_000).billboard()
    world = World(tmp_path / "kept", weekly=20)
    for _ in range(20):
        world.outbox.choose(board, [np.eye(95)[0].tolist()])
    assert len(board) < (tmp_path / "kept").stat().st_size < len(board) + 20 * 2000 + 2**16
    world.outbox.forget()
    assert (tmp_path / "kept").stat().st_size < 200 and world.outbox.shown() == []


def test_what_is_refused_is_not_kept(tmp_path):
    world = World(tmp_path / "kept")
    with pytest.raises(BadBillboard):
        world.outbox.choose(changed("newton", "plan", "trials", to=0), ARMS)
    with pytest.raises(ValueError, match="norm at most 1"):
        world.outbox.choose(BOARD, {"long": [2.0, 0.0]})
    assert world.outbox.shown() == []


def test_an_application_with_stricter_limits_sends_nothing_by_old_billboards(tmp_path):
    World(tmp_path / "kept").outbox.choose(BOARD, ARMS)
    strict = World(tmp_path / "kept", open=lambda board: device(board, rewards=(0.0, 2.0)))
    strict.at(2000.0).flush()
    assert not strict.sent and strict.outbox.shown()[0].taken is False


PROGRAM = """
import sys
import time
from pathlib import Path
from reticent_devices.roles.account import Lifetime
from reticent_devices.roles.outbox import Outbox
from reticent_devices.roles.shuffle import ShuffleClient

kept, board, log = Path(sys.argv[1]), Path(sys.argv[2]).read_bytes(), open(sys.argv[3], "a", buffering=1)

def send(report):
    log.write(report.hex() + "\\n")
    return True

most = Lifetime(epsilon=1e6, delta=0.9)
own = {"lifetime": most, "resident": True, "ledger": kept.with_name("ledger")}
outbox = Outbox(kept, open=ShuffleClient, send=send, wait=1e-6, jitter=1e-6, weekly=100_000, **own)

def one():
    of_batch = board.replace(b'"batch": 0,', b'"batch": %d,' % time.time_ns())
    outbox.reward(outbox.choose(of_batch, [[0.6, 0.1], [0.1, 0.9]]).id, 1.0)
    outbox.flush()

one()
print("ready", flush=True)
while True:
    one()
"""


def test_a_program_that_is_killed_at_random_moments_reports_every_choice_once(tmp_path):
    """kill -9 in the middle of whatever it does; every report that was ever sent for a choice is the same bytes."""
    (tmp_path / "board").write_bytes(MANY)
    command = [sys.executable, "-c", PROGRAM, *(str(tmp_path / name) for name in ("kept", "board", "log"))]
    for _ in range(4):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout.readline() == "ready\n"
            time.sleep(random.uniform(0.05, 0.25))
            program.send_signal(signal.SIGKILL)
    sent = [bytes.fromhex(line) for line in (tmp_path / "log").read_text().split()]
    last = World(tmp_path / "kept", weekly=100_000, lifetime=Lifetime(epsilon=1e6, delta=0.9))
    last.at(time.time() + 60).flush()
    kept = last.outbox.shown()
    reports = {bytes.fromhex(item.report) for item in kept}
    assert len(reports) == len(kept) >= 4 and {*sent, *last.sent} == reports
    assert len({report[wire.ID_AT :][:8] for report in reports}) == len(kept)  # each of them is another choice
