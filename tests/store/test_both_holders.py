"""One bandit in memory and one on a database: with the same noise, the same draws of the policy, arms and rewards they
make the same choices, by the same releases, to the last bit."""

import numpy as np
import pytest

from tacit.features import Category, Number, Schema
from tacit.holders.opening import database_at
from tacit.mechanisms.opening import opened
from tacit.privacy.noise import Secure
from tests.made import joint
from tests.store.places import BUDGET, Clock, arms, glm, settle, sums

ROUNDS = 120
SCHEMA = Schema(
    context={"age": Number(0, 100, bins=3), "plan": Category("free", "paid")}, arms="disjoint", actions=tuple("abcd")
)


def by_fields(**options):
    return joint(**{"features": SCHEMA, "budget": BUDGET, "first": 10} | options)


def around_a_rate(**options):
    return glm(base_rate=0.1, **options)


def offered(kind, rng):
    """Four arms; or a person, for whom there are four actions."""
    return {"age": rng.uniform(0, 100), "plan": "free"} if kind is by_fields else arms(rng)


class Same(Secure):
    """The same noise for whoever begins with the same seed."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(9)

    def integers(self, count, size, cells):
        return np.rint(self.rng.normal(0.0, cells, (count, size))).astype(np.int64)


def policy(seed):
    return {"policy": np.random.default_rng(seed)}


def copied(arrays):
    return [np.copy(part) for part in arrays]


def served(stored):
    """All that choices are made by."""
    return copied(stored._versions.fold.estimate.arrays)


def alike(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def same_releases(memory, stored):
    """Released sums, and the exact ones of every step."""
    found, prefix, steps = sums(stored), opened(memory._state.prefix), stored.version
    assert memory._steps == steps > 8 and len(found) == steps + 1
    assert np.array_equal(prefix.released, stored._versions.fold._released)
    assert all(np.array_equal(found[step], prefix.closed[step]) for step in range(steps))
    assert np.array_equal(found[steps], prefix.open)


def reward(rng, i):
    """None: cancelled; "never": it does not come."""
    drawn = float(rng.random() < 0.7)
    return None if i % 11 == 5 else "never" if i % 7 == 3 else drawn


def in_memory(kind, seed):
    """Rewards are observed in the order of numbers, when they would enter on a database: before the next choice. The
    bandit, and round by round the arm, its version and the estimate that it was chosen by."""
    memory, rng, seen = kind(source=Same(), **policy(seed)), np.random.default_rng(seed), []
    for i in range(ROUNDS):
        choice = memory.choose(offered(kind, rng), available=[True, True, i % 3 > 0, True])
        seen.append((choice.index, memory._steps, copied(memory._state.estimate)))
        came = reward(rng, i)
        if isinstance(came, float):
            memory.observe(choice, came)
    return memory, seen


@pytest.mark.parametrize("kind", [glm, by_fields, around_a_rate])
def test_the_same_choices_by_the_same_releases(place, kind):
    memory, seen = in_memory(kind, 4)
    source, draws, rng, clock = Same(), policy(4), np.random.default_rng(4), Clock()
    stored = place.open(kind(source=source, **draws), clock=clock)
    for i in range(ROUNDS):
        if i in (35, 90):  # a restart draws nothing
            stored.close()
            stored = place.open(kind(source=source, **draws), clock=clock)
        choice = stored.choose(offered(kind, rng), available=[True, True, i % 3 > 0, True])
        index, step, estimate = seen[i]
        assert (choice.index, choice.version, stored.version) == (index, step, step), i
        assert alike(served(stored), estimate), i
        came = reward(rng, i)
        if came != "never":
            stored.observe(choice, came)
        settle(stored)
    memory.choose(offered(kind, rng))  # in memory a step that is full ends with the next choice
    same_releases(memory, stored)
    assert {index for index, _, _ in seen} == {0, 1, 2, 3}
    stored.close()


HOLDS = 7  # later choices
APART = 10.0  # seconds between two choices


def came(i):
    """How many choices later the reward of the i-th is reported: some are late, some never come."""
    return None if i % 11 == 5 else HOLDS + 2 if i % 7 == 3 else (5 * i) % HOLDS


def rewards(bandit, choices, i):
    """Those that come after the i-th choice: whether they were in time."""
    due = [j for j in range(max(0, i - 2 * HOLDS), i + 1) if came(j) is not None and j + came(j) == i]
    return [(j, bandit.observe(choices[j], (j % 3) / 2)) for j in due]


@pytest.mark.parametrize("kind", [glm, by_fields, around_a_rate])
def test_the_same_with_a_hold(place, kind):
    """In memory a choice enters after so many later ones, on a database after the time that these take."""
    given, rng, seen, choices = {"missing_as": 0.25, "pending": 100}, np.random.default_rng(6), [], []
    memory = kind(source=Same(), hold=HOLDS, **given, **policy(6))
    for i in range(ROUNDS):
        choices.append(memory.choose(offered(kind, rng)))
        seen.append((choices[i].index, memory._steps, copied(memory._state.estimate), rewards(memory, choices, i)))
    rng, clock, choices = np.random.default_rng(6), Clock(), []
    hold = APART * (HOLDS + 0.5) - database_at(place.where).skew
    options = {"hold": hold, "missing_as": 0.25, "clock": clock}
    with place.open(kind(source=Same(), pending=100, **policy(6)), **options) as stored:
        for i in range(ROUNDS):
            clock.now += 0.1 * APART
            choices.append(stored.choose(offered(kind, rng)))
            index, step, estimate, told = seen[i]
            assert (choices[i].index, choices[i].version) == (index, step) and alike(served(stored), estimate), i
            assert rewards(stored, choices, i) == told, i
            clock.now += 0.9 * APART
            stored.tend()
        assert stored.entered == ROUNDS - HOLDS
        memory.choose(offered(kind, rng))  # what is due enters with the next choice
        same_releases(memory, stored)


def test_how_many_enter_at_once_changes_no_bit(place):
    """Each step is made at the release before it, whoever adds to its sums, and when."""
    ends = []
    for size in (1, 7, 37):
        rng, stored = np.random.default_rng(5), place.open(glm(source=Same()), name=f"by-{size}")
        for i in range(37 * 2):
            stored.observe(stored.choose(arms(rng, count=1)), float(rng.random() < 0.5))
            if (i + 1) % size == 0:
                settle(stored)
        settle(stored)
        ends.append((stored.entered, stored.version, stored.theta, sums(stored)))
        stored.close()
    for entered, version, theta, found in ends:
        assert (entered, version) == ends[0][:2] == (74, 7) and np.array_equal(theta, ends[0][2]) and theta.any()
        assert all(np.array_equal(found[step], ends[0][3][step]) for step in range(8))
