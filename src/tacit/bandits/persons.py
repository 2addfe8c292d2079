"""Whose rounds teach, where the noise is made for a person's rounds together."""

import hashlib
import secrets
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit import checks
from tacit.errors import PersonLimit
from tacit.privacy.persons import many

Person = str | bytes | int | np.integer[Any]
MODES = ("refuse", "serve")  # what a person beyond the limit gets
HASH = 16  # bytes that a person is known by
LEARNS, SILENT = bytes(HASH), b"\xff" * HASH  # marks of choices that teach, and that do not, whoever made them


def beyond(most: int) -> PersonLimit:
    return PersonLimit(f"Expected at most {many(most, 'round')} of one person, got one more.")


class Persons:
    """Counts of rounds by person. RAW.

    An id is taken as it is: the caller has authenticated it (who can pass any id learns by PersonLimit who came how
    often, and uses up others' rounds) and normalised it ("Ada@" and "ada@" are two people here).
    Ids are kept as keyed hashes only (BLAKE2b, 16 bytes, a random key of this bandit), so they cannot be looked up
    without the key; whoever has the saved file has the key too and can test guesses, which is why that file is raw.
    Memory: one entry a person, some 100 bytes, for ever: a cap that forgot would not hold, and one that is shared
    between people (a sketch of bounded size) would refuse one person because of others.

    serve: beyond `most` rounds a person is served, and teaches nothing; else PersonLimit. later: rounds are counted
    when their answers come, and not here."""

    def __init__(
        self,
        most: int | None,
        *,
        serve: bool = False,
        later: bool = False,
        key: bytes | None = None,
    ) -> None:
        if most is not None:
            checks.positive_int(max_rounds_per_person=most)
        self.most, self.serve, self.later = most, serve, later
        self.key = key or secrets.token_bytes(32)
        self.counts: Counter[bytes] = Counter()
        self.unnamed = 0

    def admit(self, person: Person | None) -> bytes | None:
        """The person's hash, or an error: PersonLimit if all rounds are used. Changes nothing."""
        if person is None:
            return None
        if self.most is None:
            raise ValueError("Expected max_rounds_per_person for choices with person=, got a bandit without it.")
        digest = self.hash(person, self.key)
        if not self.serve and self.counts[digest] >= self.most:
            raise beyond(self.most)
        return digest

    @staticmethod
    def hash(person: Person, key: bytes) -> bytes:
        """What a person is known by; ValueError for what is no id."""
        if isinstance(person, bool) or not isinstance(person, str | bytes | int | np.integer) or person in ("", b""):
            raise ValueError(f"Expected person to be a string, bytes or a whole number, got {type(person).__name__}.")
        kind = b"b" if isinstance(person, bytes) else b"s" if isinstance(person, str) else b"i"
        text = person if isinstance(person, bytes) else str(person).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(kind + text, key=key, digest_size=HASH).digest()

    def count(self, digest: bytes | None) -> bytes:
        """One round of that person. Returns the choice's mark: LEARNS or SILENT, or the person's hash where that is
        seen when the answer comes."""
        if digest is None:
            self.unnamed += 1
            return LEARNS
        if self.later:
            return digest
        if self.most is not None and self.counts[digest] >= self.most:
            return SILENT
        self.counts[digest] += 1
        return LEARNS

    def check_batch(self, persons: Sequence[Person | None] | None, count: int) -> Sequence[Person | None]:
        if persons is None:
            return [None] * count
        if isinstance(persons, str | bytes) or len(persons) != count:
            raise ValueError(f"Expected one person for each of {count} rows, got another number of them.")
        return persons

    def document(self) -> dict[str, Any]:
        """For the saved file."""
        counts = {digest.hex(): count for digest, count in self.counts.items() if count}
        return {"key": self.key.hex(), "counts": counts, "unnamed": self.unnamed}

    def restore(self, document: dict[str, Any]) -> None:
        self.key = bytes.fromhex(document["key"])
        self.counts = Counter({bytes.fromhex(digest): count for digest, count in document["counts"].items()})
        self.unnamed = document["unnamed"]

    def __repr__(self) -> str:
        return f"Persons(most={self.most})"
