"""The device's own account: when reports leave, by which id, what they add up to in a life, and what people see."""

import math

import pytest

from devices_tests.roles.test_ledger import board
from devices_tests.roles.test_outbox import ARMS, BOARD, JITTER, WAIT, World
from reticent.errors import LifetimeSpent
from reticent_devices.roles.account import Lifetime, Spent, certainty
from reticent_devices.roles.outbox import WEEK
from reticent_devices.roles.outbox_state import OutboxState


@pytest.mark.parametrize("reward", [None, 1.0])
def test_a_report_leaves_in_the_first_visit_that_begins_after_its_time(tmp_path, reward):
    """Whoever clicks leaves the page, and whoever does not may stay until the deadline: a report that left in this
    visit would tell that there was no click. Rewarded or not, it leaves in the same visit."""
    path = tmp_path / "kept"
    first = visit(path, 0.0)
    ticket = first.outbox.choose(BOARD, ARMS)
    early = visit(path, WAIT / 2)  # another tab, before the deadline
    if reward is not None:
        early.outbox.reward(ticket.id, reward)
    for now in (WAIT + JITTER, 10 * WAIT, WEEK - 1):
        first.at(now).flush()
        early.at(now).flush()
    assert not first.sent and not early.sent
    later = visit(path, WAIT + JITTER)
    later.outbox.flush()
    assert len(later.sent) == 1
    first.at(20 * WAIT).flush()
    assert not first.sent and first.outbox.shown()[0].taken


def visit(path, now, **options):
    """A page that is opened at that time."""
    return World(path, now=now, resident=False, **options)


def test_bytes_that_were_made_are_sent_once_in_every_visit(tmp_path):
    """A server that answers "later" on purpose would see from a second try whether the person is still there."""
    visit(tmp_path / "kept", 0.0).outbox.choose(BOARD, ARMS)
    sent = []
    for number, answers in ((2, [None]), (4, [None]), (6, [True]), (8, [])):
        one = visit(tmp_path / "kept", number * WAIT, answers=answers)
        one.outbox.flush()
        one.at((number + 1) * WAIT).flush()
        sent.append(one.sent)
    assert [len(each) for each in sent] == [1, 1, 1, 0] and sent[0] == sent[1] == sent[2]


def test_ids_follow_from_the_devices_key_the_billboard_and_the_choice():
    """A copy of the file makes the same id; another billboard, choice or device another one, which nobody can link."""
    state = OutboxState.read("")
    first, copy = state.report_id(bytes(32), bytes(16)), OutboxState.read(state.text())
    ids = {copy.report_id(bytes([board] * 32), bytes([choice] * 16)) for board in range(4) for choice in range(4)}
    assert copy.report_id(bytes(32), bytes(16)) == first and len(first) == 16 and len(ids) == 16
    assert OutboxState.read("").report_id(bytes(32), bytes(16)) != first


def test_a_lost_outbox_counts_nothing_twice(tmp_path):
    """The report had left, and nobody had acknowledged it, when the file was lost. Nothing of that choice leaves again,
    also if its reward comes; and what is chosen later has other ids."""
    path = tmp_path / "kept"
    before = World(path, answers=[None])
    ticket = before.outbox.choose(BOARD, ARMS)
    before.at(2 * WAIT).flush()
    path.unlink()
    after = World(path)
    after.outbox.reward(ticket.id, 1.0)
    after.at(3 * WAIT).flush()
    assert len(before.sent) == 1 and not after.sent
    assert after.outbox.account().reports == 1  # its ledger is elsewhere


def test_the_limit_is_asked_before_anything_of_the_person_is_read(tmp_path):
    world = World(tmp_path / "kept", lifetime=Lifetime(epsilon=3.0))
    with pytest.raises(LifetimeSpent):
        world.outbox.choose(board(4.0), "no arms at all")
    with pytest.raises(ValueError, match="arms|numbers"):
        World(tmp_path / "kept").outbox.choose(board(4.0), "no arms at all")
    assert world.outbox.shown() == [] and world.outbox.account().reports == 0


# what adds up


def test_ten_years_of_choices_stop_at_the_cap_and_stay_stopped(tmp_path):
    """Through the outbox, in the local model: 20 a week at epsilon 1, of which 30 are allowed."""
    taken = refused = 0
    world = World(tmp_path / "kept", weekly=20, lifetime=Lifetime(epsilon=30.0))
    shown = board(1.0)
    for week in (0, 1, 2, 260, 519):
        for _ in range(20):
            try:
                world.at(week * WEEK).choose(shown, ARMS)
                taken += 1
            except LifetimeSpent:
                refused += 1
        world.at(week * WEEK + 2 * WAIT).flush()
    assert taken == len(world.sent) == 30 and refused == 70
    assert world.outbox.account().left.epsilon == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("wrong", [{"epsilon": -1.0}, {"epsilon": math.nan}, {"delta": 1.0}, {"epsilon": math.inf}])
def test_a_limit_is_a_number(wrong):
    with pytest.raises(ValueError, match="Expected"):
        Lifetime(**wrong)


# what the person sees


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 3.0])
def test_how_sure_somebody_can_be_is_what_the_best_test_attains(epsilon):
    """Two data, and a bit that is right with odds e^epsilon: its total variation."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    apart = p - (1 - p)
    assert certainty(Spent(epsilon, 0.0, [])) == pytest.approx((1 + apart) / 2, rel=1e-12)
    assert certainty(Spent(epsilon, 0.1, [])) == pytest.approx(0.1 + 0.9 * (1 + apart) / 2, rel=1e-12)


def test_a_person_reads_what_left_what_it_adds_up_to_and_what_is_left(tmp_path):
    world = World(tmp_path / "kept", lifetime=Lifetime(epsilon=10.0, delta=1e-3))
    for _ in range(2):
        world.outbox.choose(board(3.0), ARMS)
    text = " ".join(world.outbox.account().lines)
    assert "2 reports left this device or will leave it, 2 of them waiting" in text
    assert "epsilon = 6 of at most 10" in text and "Left: epsilon = 4." in text
    assert "99.8 % of the time" in text and "everything is fetched ahead" in text
    floor = World(tmp_path / "kept", floor=0.5, lifetime=Lifetime(epsilon=10.0))
    floor.outbox.choose(board(1.0), ARMS)
    assert "drawn at random with probability 0.5" in " ".join(floor.outbox.account().lines)
