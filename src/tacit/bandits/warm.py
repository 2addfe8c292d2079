"""Compile ahead what a bandit needs to choose, observe and release, so that nobody waits for it in a live request.

A twin with the same kinds of settings, noise of its own and made-up users plays some rounds and is thrown away: of the
bandit itself nothing is used, changed or spent. What is compiled stays on disk for every later process."""

import dataclasses
import itertools
import logging
import time
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from tacit.algorithms import chances
from tacit.bandits.base import Bandit
from tacit.bandits.embedded import Embedded
from tacit.bandits.server import Server
from tacit.model.control import Control
from tacit.privacy.noise import Secure, Simulated

LOG = logging.getLogger("tacit")
SMALL = {
    "first": 200,
    "horizon": 1000,
    "pending": 64,
    "hold": 8,
}  # compiled code depends on kinds of numbers, not on their size
AFTER, MOST = 60, 5000  # rounds after the first release, and in all


def warm_up(made: Any) -> float:
    """The seconds that it took: many where nothing is compiled yet, less than one where all is."""
    name, started = type(made).__name__, time.perf_counter()
    LOG.info("%s: compiling what it needs.", name)
    twin = twin_of(made)
    rehearse(Embedded(twin, pending=SMALL["pending"]) if isinstance(twin, Server) else twin)
    twin._rehearse()
    seconds = time.perf_counter() - started
    LOG.info("%s: ready after %.1f seconds.", name, seconds)
    return seconds


def twin_of(made: Any) -> Any:
    """One of the same kind that shares nothing with `made`: no state, no generator, no file. It takes vectors, but for
    sums by fields, which are made by the schema."""
    left_out = () if getattr(getattr(made, "algorithm", None), "by_fields", False) else ("features",)
    names = [f.name for f in dataclasses.fields(made) if f.init and f.name not in left_out]
    settings = {name: _fresh(getattr(made, name)) for name in names}
    if settings.get("control") is not None:
        settings |= {"hold": SMALL["hold"], "missing_as": made.rewards[0]}  # on a database these are not the bandit's
    small = {name: min(settings[name], most) for name, most in SMALL.items() if isinstance(settings.get(name), int)}
    try:
        return type(made)(**settings | small)
    except ValueError:  # too small for these settings
        return type(made)(**settings)


def _fresh(value: Any) -> Any:
    if hasattr(value, "private"):  # a source of noise, also one of the caller's own
        return Secure() if value.private else Simulated(0)
    if isinstance(value, Control):
        return Control(policy="uniform", share=0.5)
    return default_rng(0) if isinstance(value, Generator) else value


def rehearse(bandit: Bandit) -> None:
    """Made-up users, until some time after the first release."""
    rng, schema = default_rng(0), getattr(bandit, "features", None)
    low, high = (end if np.isfinite(end) else sign for end, sign in zip(bandit.rewards, (-1.0, 1.0), strict=True))
    rounds = min(getattr(bandit, "first", SMALL["first"]) + AFTER, MOST, bandit.horizon or MOST)
    for person, reward in zip(range(rounds), itertools.cycle((low, high)), strict=False):
        arms = rng.standard_normal((3, bandit._width))
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        if bandit._one_set:
            arms = np.eye(bandit._width)
        named = {} if bandit._persons.most is None else {"person": person}
        choice = bandit.choose(arms if schema is None else dict.fromkeys(schema.context), **named)
        bandit.observe(choice, reward)
    _ = choice.propensity, bandit.privacy
    chances.chance(chances.values(np.eye(4), np.zeros(4), np.eye(4)), 0)  # as many directions as it is hardest for
