"""What a device has told in its life: every report at the epsilon that the device checked, and every arm that was
displayed with a floor, added up on the device, after restarts too."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from devices_tests.roles.boards import device, document, is_local, published
from devices_tests.roles.test_outbox import ARMS, World
from reticent import Budget, Reward
from reticent.errors import LifetimeSpent, TooManyReports
from reticent_devices import LocalIRLS
from reticent_devices.roles.account import Charge, Lifetime
from reticent_devices.roles.outbox import WEEK
from reticent_devices.roles.outbox_state import File


def board(epsilon):
    return LocalIRLS(2, Budget(epsilon, 0.0), Reward(radius=3.0)).billboard()


def test_a_later_billboard_makes_nothing_that_left_smaller(tmp_path):
    """Five choices at epsilon 4 and one at .1 are 20.1, whatever the last billboard says; to two servers of one
    device, and after the week in which reports are shown. (A server's noise gives 1e-9 less than its budget.)"""
    first = World(tmp_path / "kept", weekly=9, name="one")
    for _ in range(5):
        first.outbox.choose(board(4.0), ARMS)
    World(tmp_path / "kept", name="other").outbox.choose(board(0.1), ARMS)
    first.at(2000.0).flush()
    later = World(tmp_path / "kept", name="one")
    later.at(3 * WEEK).flush()
    spent = later.outbox.spent()
    assert spent.epsilon == pytest.approx(20, rel=1e-6)  # the other's report was never made: nobody flushed it
    World(tmp_path / "kept", name="other").at(3 * WEEK).choose(board(0.1), ARMS)
    spent = later.outbox.spent()
    assert spent.epsilon == pytest.approx(20.1, rel=1e-6) and spent.delta == 0 and later.outbox.shown() == []
    costs = [device(board(epsilon)).cost.epsilon for epsilon in (4.0, 0.1)]
    assert spent.entries == [
        Charge("one", "report", None, costs[0], 0.0, 5),
        Charge("other", "report", None, costs[1], 0.0, 1),
    ]


def test_one_limit_holds_for_all_outboxes_of_a_person(tmp_path, monkeypatch):
    """Three servers, each with a file of its own: a limit of 8 is 8, and not 8 for each file. Where nobody says, the
    ledger is that of the system's user; a program for several people has one for each."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    limit = Lifetime(epsilon=8.0)
    boxes = [World(tmp_path / name, name=name, lifetime=limit, ledger=None).outbox for name in ("a", "b", "c")]
    told = 0
    for box in boxes:
        try:
            for _ in range(2):
                box.choose(board(4.0), ARMS)
                told += 1
        except LifetimeSpent:
            assert box.shown() == []
    assert told == 2 and {box.account().reports for box in boxes} == {2}
    (kept,) = (path for path in (tmp_path / "state").rglob("*") if path.is_file() and path.suffix != ".lock")
    assert kept.stat().st_mode & 0o077 == 0 and kept.parent.stat().st_mode & 0o077 == 0
    World(tmp_path / "d", lifetime=limit, ledger=tmp_path / "of another").outbox.choose(board(4.0), ARMS)
    monkeypatch.chdir(tmp_path)
    for same in (tmp_path / "e", Path("e")):
        with pytest.raises(ValueError, match="two files"):
            World(tmp_path / "e", ledger=same)


class Stopped(Exception):
    """As the program, in the middle of a write."""


@pytest.mark.parametrize("what", ["store", "ledger"])
def test_a_program_that_ends_between_two_writes_has_counted_no_less_than_it_told(tmp_path, monkeypatch, what):
    """A choice is charged before it is kept; what was never made is taken back after it is gone."""
    World(tmp_path / "kept").outbox.choose(board(4.0), ARMS)
    write, left = File.write, []

    def stopping(self, text):
        if self._path.name == ("kept" if what == "store" else "ledger"):
            raise Stopped
        left.append(self._path.name)
        write(self, text)

    for now in (0.0, 9 * WEEK):  # another choice; the first one is dropped, and taken back
        with monkeypatch.context() as patch:
            patch.setattr(File, "write", stopping)
            with pytest.raises(Stopped):
                World(tmp_path / "kept", now=now).outbox.choose(board(4.0), ARMS)
        last = World(tmp_path / "kept", now=now)
        assert last.outbox.account().reports >= len([item for item in last.outbox.shown() if item.x is not None])


def test_batches_and_deltas_are_in_the_ledger(tmp_path):
    world = World(tmp_path / "kept")
    for number in (0, 1, 1):
        world.outbox.choose(published("newton")[number], ARMS)
    spent = world.outbox.spent()
    assert [(entry.batch, entry.count) for entry in spent.entries] == [(0, 1), (1, 1)]  # one report to a batch
    each = [device(published("newton")[number]).cost for number in (0, 1)]
    assert spent.epsilon == pytest.approx(sum(cost.epsilon for cost in each), rel=1e-12)
    assert spent.delta == pytest.approx(sum(cost.delta for cost in each), rel=1e-12) and 0 < spent.delta < 1


def test_every_device_says_what_a_report_costs(served):
    made = device(published(served)[1])
    cost = made.cost
    assert 0 < cost.epsilon <= 1.0 + 1e-6 or served == "irls-rare-cap"
    assert 0 <= cost.delta < 1 and (made.batch is None) == is_local(served)


def test_the_lifetime_is_a_limit_of_all_servers_together(tmp_path):
    """Also after a restart, and after the person had everything deleted. What is refused was not chosen."""
    limit = Lifetime(epsilon=10.0)
    world = World(tmp_path / "kept", lifetime=limit)
    for name in ("one", "other"):
        World(tmp_path / "kept", lifetime=limit, name=name).outbox.choose(board(4.0), ARMS)
    with pytest.raises(LifetimeSpent, match="epsilon at most 10 in this device's lifetime, got 12"):
        world.outbox.choose(board(4.0), ARMS)
    world.outbox.choose(board(2.0), ARMS)  # exactly what is left
    world.at(2000.0).flush()
    world.outbox.forget()
    again = World(tmp_path / "kept", lifetime=limit)
    with pytest.raises(TooManyReports):
        again.at(2000.0).choose(board(0.01), ARMS)
    assert again.outbox.spent().epsilon == pytest.approx(10, rel=1e-6) and again.outbox.shown() == []
    with pytest.raises(LifetimeSpent):
        World(tmp_path / "new", lifetime=limit).outbox.choose(published("irls-gaussian")[0], ARMS)
    with pytest.raises(ValueError, match="lifetime to be a Lifetime, got NoneType"):
        World(tmp_path / "new", lifetime=None)


def test_what_is_displayed_with_a_floor_is_counted(tmp_path):
    world = World(tmp_path / "kept", floor=0.2)
    world.outbox.choose(board(4.0), ARMS)
    (report, display) = world.outbox.spent().entries
    assert (report.what, display.what, display.delta) == ("report", "display", 0.0)
    assert display.epsilon == pytest.approx(math.log(1 + 0.8 * 2 / 0.2), rel=1e-12)
    world.outbox.forget()
    assert world.outbox.spent().entries == [display]  # its report was never made, but the arm was displayed


def test_a_floor_bounds_what_a_billboard_reads_from_the_arm_that_is_displayed():
    """A person's own billboard with a chosen theta: without a floor the arm tells on which side of it a feature lies,
    choice by choice. With a floor of .3 the likelihood ratio of the better of two arms is (1 - g + g / 2) / (g / 2) =
    5.67 in both worlds. 4 000 choices each; false alarm below 1e-6 (5 standard errors of the log ratio)."""
    client = device(json.dumps(document("newton-greedy") | {"theta": [1.0, -1.0]}).encode())
    worlds = [[0.51, 0.5], [0.0, 0.0]], [[0.49, 0.5], [0.0, 0.0]]
    sure = [np.mean([client.choose(arms).index for _ in range(100)]) for arms in worlds]
    assert sure == [0.0, 1.0]  # what the attack reads
    runs = 4000
    hits = [np.sum([client.choose(arms, floor=0.3).index == 0 for _ in range(runs)]) for arms in worlds]
    choice = client.choose(worlds[0], floor=0.3)
    assert choice.displayed == pytest.approx(math.log(0.85 / 0.15))
    assert choice.propensity == pytest.approx(0.85 if choice.index == 0 else 0.15)
    error = math.sqrt(sum(1 / count - 1 / runs for count in hits))
    assert abs(math.log(hits[0] / hits[1]) - choice.displayed) < 5 * error
    assert client.choose(worlds[0], floor=1).displayed == 0.0 and client.choose(worlds[0]).displayed is None
    for wrong in (-0.1, 1.1, math.nan, "0.5"):
        with pytest.raises(ValueError, match=r"floor in \[0, 1\]"):
            client.choose(worlds[0], floor=wrong)
