"""Compile ahead what choices, rewards and releases need, so that nobody waits for it in a live request: a twin with
noise of its own and made-up users plays some rounds and is thrown away. What is compiled stays on disk for every later
process."""

import dataclasses
import itertools
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from reticent.algorithms import chances
from reticent.features.schema import Schema
from reticent.privacy.noise import Secure, Simulated

LOG = logging.getLogger("reticent")
PENDING = 64
SMALL = {"first": 200, "horizon": 1000, "pending": PENDING}  # compiled code depends on kinds of numbers, not on sizes
AFTER, MOST = 60, 5000  # rounds after the first release, and in all


def warm_up(made: Any) -> float:
    """Of one whose settings are the fields of its class."""
    return timed(type(made).__name__, lambda: _play(_twin(made)))


def _twin(made: Any) -> Any:
    """One of the same kind that shares nothing with `made`: no state, no generator, no file. It takes vectors."""
    settings = {f.name: _fresh(getattr(made, f.name)) for f in dataclasses.fields(made) if f.init}
    if isinstance(settings.get("features"), Schema):
        settings["features"] = None if "dim" in settings else made.dim
    small = {name: min(settings[name], most) for name, most in SMALL.items() if isinstance(settings.get(name), int)}
    try:
        return type(made)(**settings | small)
    except ValueError:  # too small for these settings
        return type(made)(**settings)


def _fresh(value: Any) -> Any:
    if hasattr(value, "private"):  # a source of noise, also one of the caller's own
        return Secure() if value.private else Simulated(0)
    return default_rng(0) if isinstance(value, Generator) else value


def _play(twin: Any) -> None:
    bandit, first = twin._stage(), getattr(twin, "first", None) or SMALL["first"]
    play_made_up(
        bandit,
        width=bandit.dim,
        rewards=bandit.rewards,
        rounds=min(first + AFTER, MOST, bandit.horizon or MOST),
        limited=bandit.memory.validator.limited,
        one_set=bandit._one_set,
    )
    twin._compile_more()


def timed(name: str, work: Callable[[], None]) -> float:
    """The seconds that it took: many where nothing is compiled yet, less than one where all is."""
    started = time.perf_counter()
    LOG.info("%s: compiling what it needs.", name)
    work()
    seconds = time.perf_counter() - started
    LOG.info("%s: ready after %.1f seconds.", name, seconds)
    return seconds


def play_made_up(
    twin: Any,
    *,
    width: int,
    rewards: tuple[float, float],
    rounds: int,
    people: Mapping[str, Any] | None = None,
    limited: bool = False,
    one_set: bool = False,
) -> None:
    """Made-up users. people: their fields, where it takes fields. limited: each says who it is. one_set: all are
    offered the same arms."""
    rng = default_rng(0)
    low, high = (end if np.isfinite(end) else sign for end, sign in zip(rewards, (-1.0, 1.0), strict=True))
    for person, reward in zip(range(rounds), itertools.cycle((low, high)), strict=False):
        arms = rng.standard_normal((3, width))
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        if one_set:
            arms = np.eye(width)
        named = {"person": person} if limited else {}
        choice = twin.choose(arms if people is None else dict(people), **named)
        twin.observe(choice, reward)
    _ = choice.propensity, twin.privacy
    chances.chance(chances.values(np.eye(4), np.zeros(4), np.eye(4)), 0)  # as many directions as it is hardest for
