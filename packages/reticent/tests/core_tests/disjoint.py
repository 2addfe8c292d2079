"""Actions that have a part of the vector each, which a schema makes; arms then are rows (z, a)."""

import numpy as np

from reticent.features import Number, Schema

EXACT = 64  # numbers of people are multiples of 1 / EXACT, which rows give back to the bit


def schema(actions, numbers=1):
    """1 + 2 `numbers` numbers for each action."""
    context = {f"x{i}": Number(-1, 1) for i in range(numbers)}
    return Schema(context=context, arms="disjoint", actions=[str(a) for a in range(actions)])


def rows(of, rng, people):
    """Of all actions, for each of so many people."""
    numbers = rng.integers(-EXACT, EXACT, (people, len(of.context)), endpoint=True) / EXACT
    return np.array([of.placed(dict(zip(of.context, own, strict=True)))[1] for own in numbers.tolist()])


def asked(bandit, arms):
    """What `choose` takes: vectors, or the fields that such rows were made of."""
    if bandit.features is None:
        return arms
    numbers = np.round(EXACT * arms[0, 1:-1:2] / arms[0, 0]) / EXACT
    return dict(zip(bandit.features.context, numbers.tolist(), strict=True))
