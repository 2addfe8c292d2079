"""A release that is interrupted anywhere and made again leaves the state of an uninterrupted one, to the bit."""

import numpy as np
import pytest

from core_tests.interrupts import interruptions
from core_tests.made import joint
from core_tests.mechanisms.test_grid import Given
from reticent import Budget
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.grid import on_grid
from reticent.mechanisms.recursive import Recursive
from reticent.mechanisms.recursive_grid import on_integers
from reticent.mechanisms.saving import arrays

# An interrupt that falls into a finaliser is swallowed by Python, which says so: it interrupts nothing.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
STEPS = 6


class Known(Given):
    """Noise of the same numbers at each release, floats too."""

    def __init__(self):
        super().__init__(lambda count, size: np.full((count, size), 7, np.int64))

    def rows(self, count, size, law):
        return np.full((count, size), 7.0)


def copies(state):
    return [array.copy() for array in arrays(state)]


def put(state, kept):
    for array, old in zip(arrays(state), kept, strict=True):
        array[...] = old


def same(state, expected):
    return all(np.array_equal(*pair, equal_nan=True) for pair in zip(arrays(state), expected, strict=True))


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


HELD = {"window": 4, "pending": 12}


@pytest.mark.parametrize("settings", [{}, {"model": "scores"}, HELD, HELD | {"default": 0.0}], ids=str)
def test_a_bandit_counts_everybody_once(settings):
    """Sums, boundary, estimate and who waits: the next choice goes on where the interrupted one was."""
    options = {"features": 2, "budget": Budget(4.0, 1e-2), "first": 2, "source": Known(), "pending": 10} | settings
    bandit, rng = joint(**options), np.random.default_rng(0)
    for size in (2, 3, 2, 4, 1, 4):  # with a window: of several that enter at once some fill a step
        batch = bandit.choose_many(rng.uniform(-0.7, 0.7, (size, 3, 2)))
        assert not bandit.observe_many(batch.id[::2], rng.integers(2.0, size=len(batch.id[::2])))
        if bandit.choices > 10 and (bandit.memory.window or bandit.sums.due):
            check_bandit(bandit, every=1 if not settings else 7)
    assert bandit.sums.steps > 2


def test_nobodys_round_is_counted_too_rarely():
    """A person's rounds, where they count when they enter: at most one interruption's more than were used."""
    options = {"rounds": 3, "first": 40} | HELD
    bandit = joint(features=2, budget=Budget(4.0, 1e-2), source=Known(), **options)
    for _ in range(6):
        bandit.observe(bandit.choose([[0.5, 0.5]], person="ada"), 1.0)
    assert bandit.sums.counts[2] == 1 and list(bandit.memory.persons.counts.values()) == [1]
    for count in check_bandit(bandit, every=1):
        assert 2 <= count <= 3


def check_bandit(bandit, *, every):
    """`check` for its next step. Returns, for each interruption, how often somebody was counted in the end."""
    sums, memory = bandit.sums, bandit.memory
    known, estimator, counts = dict(vars(sums)), dict(vars(sums.estimator)), memory.persons.counts.copy()
    before, out = copies((sums.state, memory.tickets)), []

    def back():
        vars(sums).update(known)
        vars(sums.estimator).update(estimator)
        memory.persons.counts = counts.copy()
        put((sums.state, memory.tickets), before)

    bandit.tend()
    expected = copies((sums.state, memory.tickets))
    back()
    for _ in interruptions(bandit.tend, every):
        bandit.tend()
        assert same((sums.state, memory.tickets), expected), len(out)
        out.append(max(memory.persons.counts.values(), default=0))
        back()
    bandit.tend()
    assert len(out) > 20 and same((sums.state, memory.tickets), expected)
    return out
