"""Whose rounds teach, where the noise is made for a person's rounds together."""

import hashlib
import math
import secrets
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reticent import checks
from reticent.algorithms.schedules import Weeks
from reticent.core import actions
from reticent.core.actions import Declared
from reticent.core.onepass import OnePass
from reticent.core.reward import reward_problem
from reticent.data import Array, Integers, Raw
from reticent.features import frames
from reticent.features.schema import Schema
from reticent.mechanisms.entering import HASH, NOBODY, SILENT
from reticent.model import arms as arm_sets
from reticent.model.arms import check_mask

PersonId = str | bytes | int | np.integer[Any]


def check_named(person: object, *, limited: bool) -> None:
    """ValueError for a choice of nobody, where there is a limit: each has to say whose it is."""
    if limited and person is None:
        raise ValueError("Expected a person with every choice, as the budget is for a person, got none.")


def canonical(person: PersonId) -> bytes:
    """The one form of an id, whatever its type: 17, "17" and b"17" are one person. A whole number is its decimal
    digits; text, and bytes that are text in UTF-8, are in Unicode's normal form C; other bytes are as they are.
    ValueError for what is no id: a float may be rounded, and is another text than the number it stands for."""
    if isinstance(person, bool) or not isinstance(person, str | bytes | int | np.integer) or person in ("", b""):
        raise ValueError(f"Expected person to be a string, bytes or a whole number, got {type(person).__name__}.")
    if isinstance(person, bytes):
        try:
            text = person.decode()
        except UnicodeDecodeError:
            return person
    else:
        text = person if isinstance(person, str) else str(int(person))
    return unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")


def digest(person: PersonId, key: bytes) -> bytes:
    """What a person is known by."""
    return hashlib.blake2b(b"s" + canonical(person), key=key, digest_size=HASH).digest()


def hashed(person: PersonId | None, key: bytes, *, limited: bool) -> bytes | None:
    """That of whoever chooses; ValueError for what is no id, and where there is a limit and no person, or the other way
    round."""
    check_named(person, limited=limited)
    if person is None:
        return None
    found = digest(person, key)
    if not limited:
        raise ValueError("Expected a budget for a person where choices have person=, got one for a round.")
    return found


class Persons:
    """Counts of rounds by person. RAW.

    An id is taken in its `canonical` form: the caller has authenticated it (who can pass any id uses up others'
    rounds) and normalised the rest ("Ada@" and "ada@" are two people here).
    Ids are kept as keyed hashes only (BLAKE2b, 16 bytes, a random key of this bandit), so they cannot be looked up
    without the key; whoever has the saved file has the key too and can test guesses, which is why that file is raw.
    Memory: one entry a person, some 100 bytes, for ever: a cap that forgot would not hold, and one that is shared
    between people (a sketch of bounded size) would silence one person because of others.

    Beyond `most` rounds a person is served, and teaches nothing. later: rounds count when they enter, with a reward,
    and not when they are chosen. weeks: a person has so many rounds in each of them."""

    def __init__(
        self, most: int | None, *, later: bool = False, weeks: Weeks | None = None, key: bytes | None = None
    ) -> None:
        if most is not None:
            checks.positive_int(max_rounds_per_person=most)
        self.most, self._later = most, later
        self.key = key or secrets.token_bytes(32)
        self.counts: Counter[bytes] = Counter()  # where there are weeks: of this week
        self._weeks, self._week = weeks, 0

    def digest(self, person: PersonId | None) -> bytes | None:
        """The person's hash, whatever their rounds; ValueError for what cannot be one."""
        return hashed(person, self.key, limited=self.most is not None)

    def count(self, digest: bytes | None) -> bytes:
        """A choice of that person. Returns its mark: NOBODY or SILENT, or the person's hash where rounds are counted
        when they enter."""
        if digest is None:
            return NOBODY
        if self._later:
            return digest
        return NOBODY if self._once_more(digest) else SILENT

    def teaches(self, mark: bytes, step: int) -> bool:
        """Whether a choice with that mark teaches, which enters that step. It is counted now, if it was not before."""
        if not mark.strip(b"\0"):
            return True
        return mark != SILENT and self.enters(mark, step)

    def enters(self, digest: bytes, step: int) -> bool:
        """Whether a choice of that person teaches that enters that step. It is counted."""
        self.move(step)
        return self._once_more(digest)

    def move(self, step: int) -> None:
        """That step is open now: what was counted in an earlier week is dropped."""
        week = 0 if self._weeks is None else self._weeks.of(step)
        if week != self._week:
            self._week = week
            self.counts.clear()

    def _once_more(self, digest: bytes) -> bool:
        if self.most is not None and self.counts[digest] >= self.most:
            return False
        self.counts[digest] += 1
        return True

    def check_batch(self, persons: Sequence[PersonId | None] | None, count: int) -> Sequence[PersonId | None]:
        if persons is None:
            check_named(None, limited=self.most is not None)
            return [None] * count
        if isinstance(persons, str | bytes) or len(persons) != count:
            raise ValueError(f"Expected one person for each of {count} rows, got another number of them.")
        return frames.values(persons)

    def document(self) -> dict[str, Any]:
        """For the saved file."""
        rounds = {digest.hex(): count for digest, count in self.counts.items() if count}
        return {"key": self.key.hex(), "rounds": rounds, "week": self._week}

    def restore(self, document: dict[str, Any]) -> None:
        self.key = bytes.fromhex(document["key"])
        self.counts = Counter({bytes.fromhex(digest): count for digest, count in document["rounds"].items()})
        self._week = document["week"]

    def __repr__(self) -> str:
        return f"Persons(most={self.most})"


class ActionSet(NamedTuple):
    """RAW. One person's arms: their features, their names if they have any, and the indices of those that are
    available; None if all are."""

    features: Array
    names: tuple[str, ...] | None
    available: Integers | None

    def __repr__(self) -> str:
        return "<raw>"

    @property
    def arms(self) -> Array:
        """Those that may be chosen."""
        return self.features if self.available is None else self.features[self.available]

    def place(self, picked: int) -> int:
        """Of an arm that was picked among them, in the request."""
        return picked if self.available is None else int(self.available[picked])

    def name(self, place: int) -> str | None:
        return self.names[place] if self.names else None


@dataclass(frozen=True, kw_only=True)
class Validator:
    """What one bandit takes, with the actions that are declared now. limited: persons are counted."""

    dim: int
    blocks: int
    rewards: tuple[float, float]
    schema: Schema | None
    limited: bool
    declared: tuple[Declared, ...] = ()

    @classmethod
    def of(cls, algorithm: OnePass, declared: tuple[Declared, ...] = ()) -> "Validator":
        plan = algorithm.plan
        schema = plan.features
        if schema is not None and declared:
            schema = actions.schema_of(schema, declared)
        return cls(
            dim=plan.dim,
            blocks=plan.blocks,
            rewards=plan.reward.range,
            schema=schema,
            limited=plan.limits.most is not None,
            declared=declared,
        )

    @property
    def width(self) -> int:
        """Numbers of an arm."""
        return arm_sets.width(self.dim, self.blocks)

    @property
    def names(self) -> tuple[str, ...]:
        """Of declared actions."""
        return () if self.schema is None else self.schema.actions

    def arms(self, arms: Any, given: Any = None) -> ActionSet:
        """Arms as vectors, or a person's fields with `given` actions; ValueError for bad ones. Nobody asks for a choice
        among them."""
        return ActionSet(*arm_sets.asked(self.schema, self.dim, arms, given, self.blocks), None)

    def offer(self, arms: Any, available: npt.ArrayLike | None = None, given: Any = None) -> ActionSet:
        """The same for a request; ValueError for a bad one."""
        found = self.arms(arms, given)
        return found._replace(available=check_mask(available, len(found.features)))

    def batch(self, arms: Any, given: Any = None) -> tuple[list[Array], list[str | None], tuple[str, ...] | None]:
        """Of many users at once: the features of each, what is wrong with them, and the names of arms if they have any.
        ValueError for what is no batch."""
        names: tuple[str, ...] | None = None
        if self.schema is None:
            arm_sets.without_actions(given)
            if frames.is_frame(arms):
                table = frames.columns(arms)
                if "arms" not in table:
                    raise ValueError(
                        "Expected a column arms, or a bandit with a schema for a frame of fields, got neither."
                    )
                arms = frames.values(table["arms"])
            rows, problems = arm_sets.rows(arms, self.dim)
        else:
            rows, problems = self.schema.batch(arms, given, placed=self.blocks > 1)
            names = self.schema.offered if given is None else tuple(given)
        return rows, problems, names

    def played(self, arms: Any, given: Any = None, place: int = 0) -> Array | None:
        """RAW. The features of an arm that was played elsewhere; None where they are wrong."""
        try:
            x: Array = self.arms(arms, given).features[place]
            return x if math.isfinite(float(x.sum())) else None
        except (ValueError, TypeError, KeyError, IndexError, OverflowError):
            return None

    def check(self, reward: object) -> Raw[float]:
        """A reward in its range, or ValueError."""
        problem = reward_problem(reward, *self.rewards)
        if problem:
            raise ValueError(problem)
        value: Any = reward  # a number
        return Raw(float(value))

    def retired(self, offer: ActionSet) -> bool:
        """Whether it offers an action that was retired since it was checked."""
        gone = {one.name for one in self.declared if one.until is not None}
        if not gone or offer.names is None:
            return False
        offered = offer.names if offer.available is None else [offer.names[int(i)] for i in offer.available]
        return not gone.isdisjoint(offered)


def nothing(width: int) -> Raw[Array]:
    """What is kept of a choice that teaches nothing: as many numbers as of any other."""
    return Raw(np.zeros(width))
