"""Bandits for tests, by settings of one name each (reticent.flat)."""

import dataclasses

from reticent import Bandit, JointGLM, Person
from reticent.core.live import Distributed
from reticent.flat import named


def algorithm(*, rounds=None, per=None, **settings):
    """rounds, per: of a person, whom the budget is for then."""
    if rounds is not None:
        settings["budget"] = dataclasses.replace(settings["budget"], unit=Person(rounds, per))
    return named(**settings)


def joint(*, seed=None, source=None, policy=None, pending=100_000, kind=Bandit, **settings):
    """In memory."""
    return kind(algorithm(**settings), seed, source=source, policy=policy, pending=pending)


def any_kind(kind, *, features, range=None, rounds=None, **settings):
    """In memory, of any class of bandits or servers: published bandits have other names for these."""
    if issubclass(kind, Distributed):
        return kind.named(features=features, **given(range=range), **settings)
    if issubclass(kind, Bandit | JointGLM):
        return joint(features=features, **given(range=range, rounds=rounds), **settings)
    return kind(dim=features, **given(rewards=range, max_rounds_per_person=rounds), **settings)


def given(**settings):
    """Those that are not None."""
    return {name: value for name, value in settings.items() if value is not None}
