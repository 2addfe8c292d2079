"""The device's own account: when reports leave, by which id, what they add up to in a life, and what people see."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import LifetimeSpent
from tacit.roles.account import Account, certainty
from tacit.roles.ledger import Charge, Lifetime, Spent, charged, composed
from tacit.roles.outbox import WEEK
from tacit.roles.outbox_state import OutboxState
from tests.roles.test_ledger import board
from tests.roles.test_outbox import ARMS, BOARD, JITTER, WAIT, World


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


def test_ids_follow_from_the_devices_key_the_task_and_the_choice():
    """A copy of the file makes the same id; another task, choice or device another one, which nobody can link."""
    state = OutboxState.read("")
    first = state.report_id(bytes(32), bytes(16))
    copy = OutboxState.read(state.text())
    ids = {copy.report_id(bytes([task] * 32), bytes([choice] * 16)) for task in range(4) for choice in range(4)}
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


def told(task, mu, count=1):
    return Charge("two", "report", None, 1.0, 1e-6, count, task=task, parties=["a", "b"], mu=mu)


ENTRIES = st.lists(
    st.tuples(st.sampled_from("abc"), st.floats(0.01, 3), st.floats(0.01, 3), st.integers(1, 30)), max_size=8
)


@given(ENTRIES)
def test_reports_to_one_task_add_up_and_tasks_by_squares(given):
    """The worse of both aggregators counts, in each task. No less than what k equal reports move one release by, and
    no less than what independent releases of all tasks tell together."""
    entries = [told(task, [one, other], count) for task, one, other, count in given]
    tasks = [sum(k * max(one, other) for name, one, other, k in given if name == task) for task in "abc"]
    assert composed(entries).mu == pytest.approx(math.hypot(*tasks)) and composed(entries).epsilon == 0


def test_k_reports_to_one_task_move_what_is_released_by_k_times_as_much():
    """The same person in k steps of a continual release, whose encoder has columns of norm 1 at most: the shift of all
    releases is nearly k mu where the columns are nearly alike, and never more. By squares it would be sqrt k mu."""
    rng = np.random.default_rng(0)
    columns = np.ones((40, 8)) + 0.05 * rng.standard_normal((40, 8))
    columns /= np.linalg.norm(columns, axis=0)
    shift = np.linalg.norm(columns.sum(axis=1))
    assert 0.98 * 8 < shift <= 8 and composed([told("a", [1.0, 1.0], 8)]).mu == 8


@pytest.mark.parametrize("tasks", [1, 520])
def test_twenty_reports_a_week_for_ten_years_stop_at_the_cap(tasks):
    """To one task of all ten years, or to a new one each week."""
    mu, cap, entries, taken = 0.27, Lifetime(mu=12.0), [], 0
    for number in range(20 * 520):
        task = str(number // 20 if tasks > 1 else 0)
        try:
            entries = charged(entries, [told(task, [mu, mu / 2])], cap)
        except LifetimeSpent:
            break
        taken += 1
    assert composed(entries).mu <= cap.mu * (1 + 1e-6) < composed([*entries, told(task, [mu, mu])]).mu
    assert taken == (44 if tasks == 1 else 20 * 4 + 19)  # 4 (20 mu)^2 + (19 mu)^2 <= 144
    with pytest.raises(LifetimeSpent, match="mu at most 12 in this device's lifetime"):
        charged(entries, [told(task, [mu, mu])], cap)


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


def test_kinds_have_limits_of_their_own():
    local = Charge("local", "report", None, 1.0, 0.0)
    with pytest.raises(LifetimeSpent, match="mu at most 0"):
        charged([], [told("a", [0.1, 0.1])], Lifetime(epsilon=9.0, delta=0.1))
    with pytest.raises(LifetimeSpent, match="epsilon at most 0"):
        charged([], [local], Lifetime(mu=9.0))
    assert len(charged([], [local, told("a", [0.1, 0.1])], Lifetime(epsilon=1.0, mu=0.1))) == 2
    for wrong in ({"mu": -1.0}, {"epsilon": math.nan}, {"delta": 1.0}, {"mu": math.inf}):
        with pytest.raises(ValueError, match="Expected"):
            Lifetime(**wrong)


# what the person sees


@pytest.mark.parametrize(("epsilon", "mu"), [(0.0, 1.0), (1.0, 0.0), (0.7, 0.9), (3.0, 0.4), (0.2, 4.0), (0.0, 0.0)])
def test_how_sure_somebody_can_be_is_what_the_best_test_attains(epsilon, mu):
    """Two data; a bit that is right with odds e^epsilon, and a Gaussian number mu apart: the total variation of the
    two, summed over both bits and a fine grid."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    x = np.linspace(-12, 12 + mu, 400_001)
    one, other = (np.exp(-((x - m) ** 2) / 2) for m in (0, mu))
    apart = sum(np.abs(a * one - b * other).sum() / 2 for a, b in ((p, 1 - p), (1 - p, p))) / one.sum()
    assert certainty(Spent(epsilon, 0.0, mu, [])) == pytest.approx((1 + apart) / 2, abs=1e-5)
    assert certainty(Spent(epsilon, 0.1, mu, [])) == pytest.approx(0.1 + 0.9 * (1 + apart) / 2, abs=1e-5)


def test_a_person_reads_what_left_what_it_adds_up_to_and_what_is_left(tmp_path):
    world = World(tmp_path / "kept", lifetime=Lifetime(epsilon=10.0, delta=1e-3, mu=5.0))
    for _ in range(2):
        world.outbox.choose(board(3.0), ARMS)
    text = " ".join(world.outbox.account().lines)
    assert "2 reports left this device or will leave it, 2 of them waiting" in text
    assert "epsilon = 6 of at most 10" in text and "Left: epsilon = 4." in text
    assert "99.8 % of the time" in text and "everything is fetched ahead" in text
    floor = World(tmp_path / "kept", floor=0.5, lifetime=Lifetime(epsilon=10.0))
    floor.outbox.choose(board(1.0), ARMS)
    assert "drawn at random with probability 0.5" in " ".join(floor.outbox.account().lines)
    account = Account(composed([told("a", [3.0, 1.0])]), Lifetime(mu=5.0), 0.0, 0)
    assert account.left == Lifetime(mu=4.0)
    assert "mu = 3 of at most 5. Left for a new task: 4." in " ".join(account.lines)
    assert "two aggregators that work together nothing" in " ".join(account.lines)
