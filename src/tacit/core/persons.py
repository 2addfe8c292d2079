"""Whose rounds teach, where the noise is made for a person's rounds together."""

import hashlib
import secrets
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit import checks
from tacit.algorithms.weeks import Weeks
from tacit.features import frames
from tacit.mechanisms.entering import HASH, NOBODY, SILENT

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
        self,
        most: int | None,
        *,
        later: bool = False,
        weeks: Weeks | None = None,
        key: bytes | None = None,
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
