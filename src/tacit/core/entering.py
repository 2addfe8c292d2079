"""How a choice enters: once, in the order of numbers, at its deadline, with what was written of it by then.

A choice that was cancelled, not shown, erased, refused, or that is beyond a person's rounds enters as nothing; so does
a number that no choice has. Where contexts are public, a choice's own enters whatever was written of it: whether a
reward came is private.

Work. How long it takes should not tell how many rewards came, since others may wait for it: a row that adds nothing is
as much work as one that adds (mechanisms.leaves.Sums)."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tacit.data import Array
from tacit.protocols import Adder, Algorithm

NOBODY = bytes(16)  # in the place of a person's hash


class Entry(NamedTuple):
    """RAW. What is known of a choice at its deadline."""

    row: Array  # what was kept of it
    person: bytes  # whose it is, where that is counted now; NOBODY where it is not
    teaches: bool  # False: beyond the limit already when it was made
    shown: bool
    reward: float | None  # that was written in time; NaN: it was cancelled


def deadline(wait: str, missing_as: float | None) -> str:
    """For the certificate: when a choice enters, and with what."""
    silence = "as nothing" if missing_as is None else f"as {missing_as:g}"
    return f"each choice enters once, {wait}, with the reward that came by then or, without one, {silence}"


def value(entry: Entry, missing_as: float | None) -> float:
    """The reward that it enters with; NaN for none."""
    if not entry.shown:
        return math.nan
    if entry.reward is None:
        return math.nan if missing_as is None else missing_as
    return entry.reward


def enter(
    entries: Sequence[Entry],
    *,
    algorithm: Algorithm[Any],
    estimate: Any,
    missing_as: float | None,
    once_more: Callable[[bytes], bool],
    add: Callable[[Array, Array, Adder], None],
    contexts: Array,
) -> None:
    """These entries join the sums of the open step, and the sums of its public contexts, at the estimate of the release
    before. once_more: counts one round more of a person, or says that all are used. add:
    adds rows with their rewards, NaN for nothing, to the sums."""
    public = bool(contexts.size)
    rows, rewards = np.zeros((len(entries), algorithm.plan.row)), np.full(len(entries), math.nan)
    for i, entry in enumerate(entries):
        reward = value(entry, missing_as)
        counts = entry.teaches and (public or not math.isnan(reward))
        if counts and entry.person != NOBODY:
            counts = once_more(entry.person)
        if counts:
            rows[i] = algorithm.count(estimate, entry.row, contexts) if public else entry.row
            rewards[i] = reward
    add(rows, rewards, algorithm.adder(estimate))
