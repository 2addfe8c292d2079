"""One bandit in memory and one on a database: with the same noise, the same draws of the policy, arms and rewards they
make the same choices, by the same releases, to the last bit."""

import numpy as np
import pytest

from tacit.privacy.noise import Secure
from tests.store.places import arms, glm, linear, settle, sums

ROUNDS = 200


class Same(Secure):
    """The same noise for whoever begins with the same seed."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(9)

    def integers(self, count, size, cells):
        return np.rint(self.rng.normal(0.0, cells, (count, size))).astype(np.int64)


def policy(kind, seed):
    return {"policy": np.random.default_rng(seed)} if kind is glm else {}


def numbers(state):
    """All that choices are made by: of a state in memory, or of an estimate on a database."""
    found = next(getattr(state, name) for name in ("posterior", "ridge", "estimate") if hasattr(state, name))
    return [np.copy(part) for part in found]


def reward(rng, i):
    """None: cancelled; "never": it does not come."""
    drawn = float(rng.random() < 0.7)
    return None if i % 11 == 5 else "never" if i % 7 == 3 else drawn


def in_memory(kind, seed):
    """Rewards are observed in the order of numbers, when they would enter on a database: before the next choice. The
    bandit, and round by round the arm, its version and the estimate that it was chosen by."""
    memory, rng, seen = kind(source=Same(), **policy(kind, seed)), np.random.default_rng(seed), []
    for i in range(ROUNDS):
        choice = memory.choose(arms(rng), available=[True, True, i % 3 > 0, True])
        seen.append((choice.index, memory._steps, numbers(memory._state)))
        came = reward(rng, i)
        if isinstance(came, float):
            memory.observe(choice, came)
    return memory, seen


@pytest.mark.parametrize("kind", [glm, linear])
def test_the_same_choices_by_the_same_releases(place, kind):
    memory, seen = in_memory(kind, 4)
    source, draws, rng = Same(), policy(kind, 4), np.random.default_rng(4)
    stored, released = place.open(kind(source=source, **draws)), 0
    for i in range(ROUNDS):
        if i in (35, 150):  # a restart draws nothing
            stored.close()
            stored = place.open(kind(source=source, **draws))
        choice = stored.choose(arms(rng), available=[True, True, i % 3 > 0, True])
        index, step, estimate = seen[i]
        assert (choice.index, choice.version, stored.version) == (index, step, step), i
        now = numbers(stored._versions.fold.estimate)
        assert all(np.array_equal(a, b) for a, b in zip(now, estimate, strict=True)), i
        came = reward(rng, i)
        if came != "never":
            stored.observe(choice, came)
        settle(stored)
        released = max(released, stored.version)
    # In memory a step that is full ends with the next choice.
    memory.choose(arms(rng))
    assert memory._steps == stored.version == released > 8
    assert np.array_equal(memory._state.prefix.released, stored._versions.fold._released)
    found, prefix = sums(stored), memory._state.prefix
    assert len(found) == released + 1 and all(np.array_equal(found[s], prefix.closed[s]) for s in range(released))
    assert np.array_equal(found[released], prefix.open)
    assert {index for index, _, _ in seen} == {0, 1, 2, 3}
    stored.close()


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
