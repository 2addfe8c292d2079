"""The secure source: the default, refusals, numbers drawn ahead, fork."""

import inspect
import os
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from core_tests.made import joint
from reticent import Bandit, Budget, JointGLM, Secure, cli, environments
from reticent.errors import BadState, NotSecure
from reticent.privacy import noise

BUDGET = Budget(1.0, 1e-6)
ARMS = np.eye(2)


def test_secure_is_the_default_and_has_no_seed():
    bandit = Bandit(JointGLM(2, BUDGET, horizon=100))
    assert isinstance(bandit.source, Secure) and bandit.privacy.private and not bandit.privacy.caveats
    assert "people's data" in str(bandit.privacy) and "grid" in str(bandit.privacy)
    assert "2 rounds: epsilon" in str(bandit.privacy) and not inspect.signature(Secure).parameters
    for _ in range(40):
        bandit.observe(bandit.choose(ARMS), 1.0)
    assert 0 < bandit.privacy.spent <= 1 + 1e-9


class Silent:
    """No noise, whatever it says of itself."""

    private, description, distance = True, Secure.description, 0.0

    def expect(self, need, cells):
        pass

    def integers(self, count, size, cells):
        return np.zeros((count, size), np.int64)


class Inherited(Silent, Secure):
    pass


@pytest.mark.parametrize("source", [Silent, Inherited])
def test_only_our_own_sources_are_believed(source, tmp_path):
    bandit = joint(features=2, budget=BUDGET, source=source())
    told = bandit.privacy
    assert not told.private and told.distance is None and told.source != Secure.description
    assert "not one of reticent's sources" in told.caveats[0] and "exact" not in str(told)
    with pytest.raises(ValueError, match=f"source of what is saved, got {source.__name__}"):
        bandit.save(tmp_path / "bandit.json")


def test_a_policy_of_the_callers_is_said_and_draws_for_every_row(tmp_path):
    """The position in the policy's stream does not depend on which rows of a batch were good."""
    assert not joint(features=2, budget=BUDGET).privacy.caveats
    good, after = [[0.1, 0.0], [0.0, 0.1]], []
    for first in (good, [[np.nan, 0.0]], "bad", [[0.1, 0.1]]):
        bandit = joint(features=2, budget=BUDGET, policy=np.random.default_rng(3))
        after.append(bandit.choose_many([first] + [good] * 30).index[1:].tolist())
        assert "generator that the caller gave" in str(bandit.privacy)
    assert all(one == after[0] for one in after) and len(set(after[0])) == 2
    for given in (None, np.random.default_rng(0)):
        bandit = joint(features=2, budget=BUDGET, policy=given)
        bandit.save(tmp_path / f"{given is None}.json")
        assert Bandit.load(tmp_path / f"{given is None}.json").privacy == bandit.privacy


def test_two_bandits_never_have_the_same_noise():
    released = []
    for _ in range(2):
        bandit = joint(features=2, horizon=100, budget=BUDGET, first=15)
        for _ in range(16):
            bandit.choose(ARMS)
        released.append(bandit.sums.released.copy())  # of noise alone an estimate is 0 one time in seven
    assert not np.array_equal(*released)


def wait(source, count):
    """Until so many numbers are drawn ahead, or more."""
    end = time.monotonic() + 60
    while sum(map(len, source._pools.values())) < count and time.monotonic() < end:
        time.sleep(0.001)
    assert sum(map(len, source._pools.values())) >= count


def test_numbers_are_drawn_ahead_and_leave_once():
    source = Secure()
    source.expect(5000, 1000.0)
    wait(source, 20_000)
    pool = source._pools[1000.0]
    waiting = pool.tolist()
    assert len(waiting) == 20_000
    first = source.integers(1, 5000, 1000.0)[0]
    assert first.tolist() == waiting[:5000]  # what was drawn ahead, and nothing was drawn meanwhile
    assert not pool.any()  # what it was drawn into is wiped
    assert source.integers(1, 5000, 1000.0)[0].tolist() == waiting[5000:10_000]


def test_more_than_was_drawn_ahead_is_drawn_at_once():
    source = Secure()
    source.expect(10, 50.0)
    assert source.integers(3, 100, 50.0).shape == (3, 100) and source.integers(0, 7, 50.0).shape == (0, 7)


def test_noise_without_room_is_an_error():
    """At 2^62 a third of the draws are beyond it."""
    with pytest.raises(NotSecure, match="below 2\\^62"):
        Secure().integers(1, 200, 2.0**62)
    assert abs(Secure().integers(1, 200, 2.0**57)).max() < 2**61


@pytest.mark.parametrize("options", [{"first": 5}, {"first": 5, "model": "scores"}], ids=str)
def test_plans_leave_room_for_their_noise(options):
    """Tiny budgets: larger cells, accounted for; and a refusal where even those do not do."""
    plan = {"features": 2, "horizon": 50, **options}
    for budget, rounds in ((Budget(0.01, 1e-9), 10**6), (Budget(1.0, 1e-6), 10**8), (Budget(1e-8, 1e-12), None)):
        bandit = joint(budget=budget, rounds=rounds, **plan)
        grid = bandit.plan.mechanism
        assert 12 * grid.cells <= 2.0**61 and bandit.privacy.epsilon == pytest.approx(budget.epsilon, rel=1e-9)
        assert grid.cell * np.sqrt(grid.size) <= bandit.one_pass.learnt.sums.sensitivity / 16
        for person in range(12):
            bandit.observe(bandit.choose(ARMS, person=person if rounds else None), 1.0)
    with pytest.raises(NotSecure, match="room in 64 bits"):
        joint(budget=Budget(1e-8, 1e-12), rounds=10**9, **plan)


def test_a_source_that_fails_does_not_stop_the_worker():
    broken, source = Secure(), Secure()
    broken.expect(1, float("nan"))
    source.expect(10, 50.0)
    wait(source, 40)
    assert noise._worker._thread.is_alive()
    noise._worker._thread = threading.Thread()  # one that is not alive
    source = Secure()
    source.expect(10, 50.0)
    wait(source, 40)
    with pytest.raises(NotSecure, match="scale"):
        broken.integers(1, 1, float("nan"))


def in_a_child(work):
    """What `work` returns in a forked process, as text."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn where threads have run
        child = os.fork()
    if child == 0:
        try:
            os.write(write, str(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(child, 0)
    return text


def test_a_fork_shares_no_noise():
    """Numbers drawn ahead are dropped in the child, and it draws its own."""
    source = Secure()
    source.expect(8, 2.0**40)
    wait(source, 32)
    theirs = in_a_child(lambda: source.integers(1, 8, 2.0**40).tolist())
    more = in_a_child(lambda: source.integers(1, 8, 2.0**40).tolist())
    assert len({theirs, more, *[str(source.integers(1, 8, 2.0**40).tolist()) for _ in range(2)]}) == 4


def test_a_forked_copy_of_a_used_bandit_is_refused():
    def attempt(number=None):
        """With that process number: in a namespace of its own a child may have its parent's."""
        os.getpid = os.getpid if number is None else lambda: number
        try:
            return bandit.choose(ARMS).id
        except BadState as error:
            return error

    number = os.getpid()
    bandit = joint(features=2, budget=BUDGET)
    wait(bandit.source, 4 * bandit.one_pass.learnt.sums.size)
    assert in_a_child(attempt) == "1"  # nothing had been learnt yet: a bandit of its own
    bandit.choose(ARMS)
    assert all("forked copy" in in_a_child(work) for work in (attempt, lambda: attempt(number)))
    assert bandit.choose(ARMS).id == 2


def test_a_fork_does_not_wait_for_a_thread_of_its_parent():
    bandit = joint(features=2, budget=BUDGET)
    wait(bandit.source, 4 * bandit.one_pass.learnt.sums.size)
    taken, done = threading.Event(), threading.Event()

    def hold():
        with bandit._lock:
            taken.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    assert in_a_child(lambda: bandit.choose(ARMS).id) == "1"
    done.set()
    thread.join()
    assert bandit.choose(ARMS).id == 1


def test_a_block_of_simulated_rounds_needs_simulated_noise():
    world = environments.ball(dim=2, arms=3)
    block = world.block(10)
    world.start(np.random.default_rng(0), 10).fill(block)
    with pytest.raises(ValueError, match="Expected simulated noise"):
        joint(features=2, horizon=100, budget=BUDGET).play(block)


def test_the_command_line_shows_grid_and_distance(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["reticent", "privacy", "joint-glm", "--epsilon", "1"])
    with pytest.raises(SystemExit):
        cli.main()
    text = capsys.readouterr().out
    assert "multiples of 2^-" in text and "none: exact; the grid costs less than 1e-15 of delta" in text
    assert "people's data" in text
