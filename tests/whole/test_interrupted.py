"""A release that is interrupted, wherever that is, and made again counts everybody once: the state is that of a run
which nothing interrupted, to the bit."""

import numpy as np
import pytest

from tacit import Budget, JointGLM
from tacit.mechanisms.discounted import Discounted
from tacit.mechanisms.grid import on_grid
from tacit.mechanisms.recursive import Recursive
from tacit.mechanisms.recursive_grid import on_integers
from tacit.mechanisms.tree import Tree
from tests.interrupts import interruptions
from tests.mechanisms.test_grid import Given

# An interrupt that falls into a finaliser is swallowed by Python, which says so: it interrupts nothing.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
STEPS = 6


class Known(Given):
    """Noise of the same numbers at each release, floats too."""

    def __init__(self):
        super().__init__(lambda count, size: np.full((count, size), 7, np.int64))

    def rows(self, count, size, law):
        return np.full((count, size), 7.0)


def arrays(state):
    return [state] if isinstance(state, np.ndarray) else [array for part in state for array in arrays(part)]


def copies(state):
    return [array.copy() for array in arrays(state)]


def put(state, kept):
    for array, old in zip(arrays(state), kept, strict=True):
        array[...] = old


def same(state, expected):
    return all(np.array_equal(*pair) for pair in zip(arrays(state), expected, strict=True))


def check(state, act, again):
    """`act` changes the state; interrupted anywhere and finished by `again`, it does what it does at once."""
    before = copies(state)
    act()
    expected = copies(state)
    put(state, before)
    count = 0
    for count, _ in enumerate(interruptions(act), 1):
        again()
        assert same(state, expected), count
        put(state, before)
    assert count > 20 and same(state, expected)  # the last was not interrupted


SHAPE = {"leaves": 40, "size": 3, "sigma": 0.0}
MADE = {
    "tree": lambda: on_grid(Tree(**SHAPE), sensitivity=2.0, mu=1.0),
    "consistent": lambda: on_grid(Tree(**SHAPE, consistent=True), sensitivity=2.0, mu=1.0),
    "window": lambda: on_grid(Discounted(**SHAPE, discount=0.05), sensitivity=2.0, mu=1.0),
    "ten sums": lambda: on_integers(Recursive(**SHAPE, discount=0.95), sensitivity=2.0, mu=1.0),
    "floats": lambda: Recursive(**SHAPE, discount=0.95),
}


@pytest.mark.parametrize("name", MADE)
def test_a_step_closes_once(name):
    mechanism, source = MADE[name](), Known()
    state = mechanism.init(source)
    for step in range(STEPS):
        state.open[:] = [step + 1, 10 * step + 1, -5]

        def finish(step=step):
            if state.noise.step[0] == step:
                mechanism.release(state, source)

        check(state, lambda: mechanism.release(state, source), finish)
    assert state.noise.step[0] == STEPS


def test_a_releaser_of_a_store_takes_each_step_once():
    mechanism = MADE["ten sums"]()
    state = mechanism.init(Known())
    for step in range(STEPS):
        x = np.array([step + 1, 10 * step + 1, -5])

        def close(step=step, x=x):
            if state.noise.step[0] == step:
                mechanism.close(state, step, x)

        check(state, close, close)


@pytest.mark.parametrize("settings", [{}, {"contexts": "public"}])
def test_a_bandit_counts_everybody_once(settings):
    """Sums, boundary and estimate: the next choice goes on where the interrupted one was."""
    bandit = JointGLM(dim=2, budget=Budget(4.0, 1e-2), first=2, source=Known(), pending=10, **settings)
    rng, releases = np.random.default_rng(0), 0
    while releases < 3:
        bandit.observe(bandit.choose(rng.uniform(-0.7, 0.7, (3, 2))), float(rng.integers(2)))
        if bandit._due:
            releases += 1
            check(bandit._state, bandit._step, bandit._step)
    assert bandit._steps == releases
