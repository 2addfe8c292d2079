"""A child that is forked at a bad moment works: a server that makes its bandit first and forks its workers then."""

import os
import subprocess
import sys
import textwrap
import warnings

import pytest

from core_tests.made import joint
from core_tests.privacy.test_secure import in_a_child, wait
from reticent import Budget, Secure
from reticent.core import file_witness as witness

LIMIT = 240.0  # seconds for a script below; it needs a few, or a minute where kernels are compiled first

START = """
import os, sys, threading, time
from core_tests.made import joint

def fork(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    return child

def wait(children):
    return all([os.waitpid(child, 0)[1] == 0 for child in children])
"""


def script(work):
    """What the script prints, or a failure if it does not come to its end. It is the leader of a session, so that what
    it forked and hangs is killed with it."""
    code = START + textwrap.dedent(work)
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen([sys.executable, "-W", "ignore::DeprecationWarning", "-c", code], **options) as process:
        try:
            out, error = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            pytest.fail(f"Expected the children to end, got one that hangs after {LIMIT:g} s.")
    assert process.returncode == 0, error
    return out


def test_a_child_forked_just_after_construction_comes_to_its_first_release():
    """Six processes make their first bandit, which is when a thread starts to draw, and fork at once and up to 60 ms
    later."""
    out = script(
        """
        import numpy as np
        from reticent import Budget, Simulated

        def play(bandit):
            for _ in range(6):
                bandit.observe(bandit.choose(np.eye(2)), 1.0)
            assert bandit.sums.steps >= 1

        def server():
            bandit = joint(**settings)
            children = []
            for pause in (0.0, 0.002, 0.005, 0.013, 0.04):
                time.sleep(pause)
                children.append(fork(lambda: play(bandit)))
            assert wait(children)
            play(bandit)

        settings = {"features": 2, "budget": Budget(1.0, 1e-6), "first": 2}
        play(joint(**settings, source=Simulated(0)))  # kernels are there
        assert wait([fork(server) for _ in range(6)])
        print("done")
        """
    )
    assert out == "done\n"


def test_a_child_forked_while_numbers_are_drawn_draws_its_own():
    """The thread of the parent is busy all the time: forty forks, each draws at once."""
    out = script(
        """
        from reticent import Secure

        source, stop = Secure(), threading.Event()

        def busy():
            while not stop.is_set():
                source.integers(1, 400, 1000.0)

        threads = [threading.Thread(target=busy) for _ in range(2)]
        for thread in threads:
            thread.start()
        longest = 0.0
        for _ in range(40):
            start = time.perf_counter()
            child = fork(lambda: source.integers(1, 8, 1000.0))
            longest = max(longest, time.perf_counter() - start)
            assert wait([child])
        stop.set()
        print(longest)
        """
    )
    assert float(out) < 5  # forks wait for a few milliseconds of work, not for all of it


def test_a_child_forked_while_a_thread_compiles_can_compile():
    out = script(
        """
        import numba
        import numpy as np
        import reticent.kernels.compile

        started, forked = threading.Event(), []

        def compile_slowly():
            started.set()
            numba.njit(lambda x: np.sort(x).sum())(np.ones(3))

        numba.njit(lambda x: x[0])(np.ones(3))
        thread = threading.Thread(target=compile_slowly)
        thread.start()
        started.wait()
        while thread.is_alive() and len(forked) < 4:
            time.sleep(0.05)
            forked.append(fork(lambda: numba.njit(lambda x: x + 1)(1.0)))
        assert forked and wait(forked)
        print("done")
        """
    )
    assert out == "done\n"


def test_a_child_does_not_keep_a_file_that_was_locked_when_it_was_forked(tmp_path):
    with witness.alone(tmp_path / "b.json"):
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn where threads have run
            child = os.fork()
        if child == 0:
            os.read(read, 1)
            os._exit(0)
        assert witness.locked(tmp_path / "b.json") is None
    free = witness.locked(tmp_path / "b.json")
    os.write(write, b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for descriptor in (free, read, write):
        os.close(descriptor)


def test_a_fork_that_python_is_not_told_of_shares_no_numbers(monkeypatch):
    """Some servers fork by themselves: the process number is all there is to see it by."""
    source = Secure()
    source.expect(8, 2.0**40)
    wait(source, 32)
    ahead = list(source._pools[2.0**40])
    source._lock.acquire()  # as if a thread of the parent had held it
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert not set(source.integers(1, 8, 2.0**40)[0].tolist()) & set(ahead)


def test_a_child_with_its_parents_number_is_another_process():
    """In a namespace of its own a child may have the number that its parent has: the pools must not be shared."""
    source, number = Secure(), os.getpid()
    source.expect(50, 100.0)
    source.integers(1, 50, 100.0)  # the rest is drawn ahead

    def drawn():
        os.getpid = lambda: number
        return source.integers(1, 8, 100.0).tolist()

    assert in_a_child(drawn) not in ("", str(source.integers(1, 8, 100.0).tolist()))


def test_workers_forked_from_an_unused_bandit_draw_for_themselves():
    """The first users get random arms: workers with one stream would all give the same."""
    bandit = joint(features=2, budget=Budget(1.0, 1e-6), first=100)
    arms = [[0.1 * i, 0.0] for i in range(10)]
    seen = {in_a_child(lambda: [bandit.choose(arms).index for _ in range(40)]) for _ in range(2)}
    assert len(seen) == 2 and all(len(each) >= 40 for each in seen)
