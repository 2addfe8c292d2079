"""Bandits for tests, by settings of one name each (tacit.flat)."""

import dataclasses

from tacit import Bandit, Person
from tacit.flat import named


def algorithm(*, rounds=None, per=None, **settings):
    """rounds, per: of a person, whom the budget is for then."""
    if rounds is not None:
        settings["budget"] = dataclasses.replace(settings["budget"], unit=Person(rounds, per))
    return named(**settings)


def joint(*, seed=None, source=None, policy=None, pending=100_000, kind=Bandit, **settings):
    """In memory."""
    return kind(algorithm(**settings), seed, source=source, policy=policy, pending=pending)
