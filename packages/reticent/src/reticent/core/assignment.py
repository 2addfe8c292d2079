"""Who plays a number: a function of the number and of a secret key, and of nothing else.

Blocks: in each block of consecutive numbers every group has its places (Holdout.groups), drawn by HMAC(key, block). How
many numbers a group has at the end of a block is public therefore, and at which places is known to nobody who lacks the
key. Coins: HMAC(key, number) alone decides. What is released is as private if the key is known (algorithms.groups): the
key is kept so that nobody can choose whom the holdout gets."""

import hashlib
import hmac
import secrets
from typing import Any

import numpy as np
from numpy.random import Generator

from reticent.core.validation import ActionSet
from reticent.data import Array, Integers
from reticent.model.holdout import HOLDOUT, ArmName, Holdout, TrialGroup

KEY = 32  # bytes
KEPT = 64  # blocks
NOT_OFFERED = "Expected the holdout's arm among those on offer in every request, got one without it."
NO_OWN = 'Expected own= in every request with holdout policy="given", the choice that the caller would make, got none.'
OWN = "Expected own= to be an arm on offer, got another."
NEEDS_GIVEN = 'Expected own= with holdout policy="given" alone, got it without.'


OVER = "Expected a holdout that goes on, got one that has ended."
NONE = "Expected a bandit in an experiment, got one without."
LOGS = "Expected no log in an experiment: its rows were played by nobody of it, got one."
RETIRED = (
    "Expected the actions of the holdout among those that are offered, got a retired one: end the experiment first."
)


def new_key(policy: Generator | None) -> bytes:
    """Random; from the caller's own generator where experiments have to be repeated."""
    return secrets.token_bytes(KEY) if policy is None else policy.bytes(KEY)


class Assignment:
    """Of one bandit. ended: the last number with a group; None while the holdout goes on."""

    def __init__(self, holdout: Holdout, key: bytes, *, ended: int | None = None) -> None:
        self.holdout, self.ended, self._key = holdout, ended, key
        self._kept: dict[int, tuple[int, ...]] = {}  # blocks that were drawn; with the key, it goes when this does
        self._tossed = [np.zeros(len(holdout.groups), np.int64)]  # coins: numbers of each group, up to each number

    def __repr__(self) -> str:
        return f"Assignment({self.holdout!r})"

    @property
    def named(self) -> set[ArmName]:
        """Arms that have to be on offer as long as it goes on."""
        return {arm for arm in (self.holdout.action, *self.holdout.actions) if arm is not None}

    @property
    def countable(self) -> bool:
        """Whether counts are known: those of coins are not once the key is destroyed."""
        return bool(self._key) or self.holdout.assign == "blocks"

    @property
    def key(self) -> bytes:
        """SECRET: for files and folders of keys alone."""
        return self._key

    # groups

    def group(self, number: int) -> int:
        """Of a choice, by its number from 1 on: its place in `Holdout.groups`."""
        if self.ended is not None and number > self.ended:
            return 0
        if self.holdout.assign == "coins":
            return self._toss(number)
        block, place = divmod(number - 1, self.holdout.block)
        return self._drawn(block)[place]

    def groups(self, numbers: range) -> Integers:
        return np.array([self.group(number) for number in numbers], np.int64)

    def counts(self, people: int) -> tuple[int, ...]:
        """How many of the first numbers each group has. Public; with blocks at the end of a block."""
        with_groups = people if self.ended is None else min(people, self.ended)
        if self.holdout.assign == "coins":
            while len(self._tossed) <= with_groups:
                more = np.bincount([self._toss(len(self._tossed))], minlength=len(self.holdout.groups))
                self._tossed.append(self._tossed[-1] + more)
            found = [int(count) for count in self._tossed[with_groups]]
        else:
            found = [group.places * (with_groups // self.holdout.block) for group in self.holdout.groups]
        return people - sum(found[1:]), *found[1:]

    def end_after(self, choices: int) -> int:
        """The last number with a group, if the holdout ends after so many choices: the last of their block."""
        block = 1 if self.holdout.assign == "coins" else self.holdout.block
        return -(-choices // block) * block

    def _drawn(self, block: int) -> tuple[int, ...]:
        """The groups of its places."""
        found = self._kept.get(block)
        if found is None:
            if len(self._kept) >= KEPT:
                self._kept = {}
            found = self._kept[block] = self._draw(block)
        return found

    def _draw(self, block: int) -> tuple[int, ...]:
        """Places of others than the bandit are drawn one after the other."""
        places, out = list(range(self.holdout.block)), [0] * self.holdout.block
        wanted = [i for i, group in enumerate(self.holdout.groups) if i for _ in range(group.places)]
        for j, group in enumerate(wanted):
            at = self._number("place", block, j) % len(places)
            out[places.pop(at)] = group
        return tuple(out)

    def _toss(self, number: int) -> int:
        u, passed = self._number("coin", number, 0) / 2.0**128, 0.0
        for i, group in enumerate(self.holdout.groups[1:], 1):
            passed += group.chance
            if u < passed:
                return i
        return 0

    def _number(self, what: str, number: int, more: int) -> int:
        """Of 128 bits: a remainder by a block is uniform but for 2^-100."""
        return int.from_bytes(hmac.digest(self._key, f"{what} {number} {more}".encode(), hashlib.sha256)[:16], "big")

    # arms

    def own(self, offer: ActionSet, own: object) -> int | None:
        """The caller's choice among the arms that may be chosen; ValueError for a request that the holdout could not be
        played in, whichever group it is in."""
        if self.holdout.policy != "given" and own is not None:
            raise ValueError(NEEDS_GIVEN)
        known = isinstance(own, str | int | np.integer) and not isinstance(own, bool)
        found = self._place(offer, own) if known else None
        if self.ended is not None:  # what was asked for may be asked for still, and its last block is played
            return found
        if self.holdout.action is not None and self._place(offer, self.holdout.action) is None:
            raise ValueError(NOT_OFFERED)
        if self.holdout.policy != "given":
            return None
        if own is None:
            raise ValueError(NO_OWN)
        if found is None:
            raise ValueError(OWN)
        return found

    def played(self, number: int, offer: ActionSet, own: int | None, picked: int) -> int:
        """Which arm of those that may be chosen that number gets; picked: by the bandit."""
        group = self.holdout.groups[self.group(number)]
        if self._at_random(group):
            return self._number("arm", number, 0) % len(offer.arms)
        found = self._always(group, offer, own)
        return picked if found is None else found

    def mixture(self, number: int, offer: ActionSet, own: int | None) -> tuple[float, Array]:
        """With which probability the bandit's choice is played, and in addition each arm that may be chosen: over all
        groups that the number may be in, so that it does not tell the group."""
        bandits, fixed = 0.0, np.zeros(len(offer.arms))
        if self.ended is not None and number > self.ended:
            return 1.0, fixed
        for group in self.holdout.groups:
            place = self._always(group, offer, own)
            if self._at_random(group):
                fixed += group.chance / len(fixed)
            elif place is None:
                bandits += group.chance
            else:
                fixed[place] += group.chance
        return bandits, fixed

    def _at_random(self, group: TrialGroup) -> bool:
        return group.name == HOLDOUT and self.holdout.policy == "uniform"

    def _always(self, group: TrialGroup, offer: ActionSet, own: int | None) -> int | None:
        """The arm that a group plays whatever the bandit picks; None if there is none."""
        if group.arm is not None:
            return self._place(offer, group.arm)
        return own if group.name == HOLDOUT else None

    def _place(self, offer: ActionSet, arm: Any) -> int | None:
        """Of that arm, a name or a place in the request, among those that may be chosen; None if it is not on offer."""
        if isinstance(arm, str):
            found = [offer.names.index(arm)] if offer.names is not None and arm in offer.names else []
        else:
            found = [int(arm)] if 0 <= arm < len(offer.features) else []
        if offer.available is not None:
            found = np.flatnonzero(np.isin(offer.available, found)).tolist()
        return found[0] if found else None
