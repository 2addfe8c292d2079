"""The ids that clients carry. An id holds the number of its choice, sealed and authenticated under a key of the
incarnation, which is made with it and destroyed when it is recovered from.

So what clients send back is a witness that no restore takes back: a number that the database has not reached, or has
given to another choice, proves that it lost choices which were answered from it, even where the folder of keys was
taken back with it. An id of an incarnation that was replaced is unknown, and proves nothing.

The number is one block of AES with four random bytes and zeros, so that the ticket looks random; what authenticates it
is as early versions wrote it, whose tickets are random and hold no number. The zeros tell them apart: one of 2 ** 48
random tickets has them. An answer that nobody saw committed has no number either."""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

from tacit import extras
from tacit.bandits.stored.asks import TICKET, StoredChoice
from tacit.errors import UnknownChoice

NUMBER, SALT, CHECK = 6, 4, 8  # bytes
ZEROS = bytes(TICKET - NUMBER - SALT)


class Tickets:
    """Of one incarnation, by its key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        ciphers: Any = extras.load("cryptography.hazmat.primitives.ciphers", "ids of choices", extra="store")
        own = hashlib.blake2b(key=key, digest_size=32, person=b"number").digest()
        self._block = ciphers.Cipher(ciphers.algorithms.AES(own), ciphers.modes.ECB())  # of one block

    def made(self, number: int) -> bytes:
        """A new ticket of the choice with that number."""
        text = number.to_bytes(NUMBER, "big") + secrets.token_bytes(SALT) + ZEROS
        ticket: bytes = self._block.encryptor().update(text)
        return ticket

    def numbers(self, tickets: Sequence[bytes]) -> list[int | None]:
        """None for one that holds none."""
        text: bytes = self._block.decryptor().update(b"".join(tickets))
        blocks = [text[i : i + TICKET] for i in range(0, len(text), TICKET)]
        return [int.from_bytes(block[:NUMBER], "big") if block.endswith(ZEROS) else None for block in blocks]

    def written(self, ticket: bytes) -> str:
        """The id that a ticket is known by."""
        return (ticket + self._check(ticket)).hex()

    def read(self, given: object) -> bytes:
        """The ticket of an id; ValueError for what cannot be one, UnknownChoice for one that this incarnation never
        gave out."""
        if isinstance(given, StoredChoice):
            given = given.id
        if not isinstance(given, str):
            raise ValueError(f"Expected a choice or its id, a string, got {type(given).__name__}.")
        try:
            whole = bytes.fromhex(given)
        except ValueError:
            whole = b""
        ticket = whole[:TICKET]
        if len(whole) != TICKET + CHECK or not secrets.compare_digest(self._check(ticket), whole[TICKET:]):
            raise UnknownChoice("Expected the id of a choice that this bandit made, got an unknown one.")
        return ticket

    def _check(self, ticket: bytes) -> bytes:
        return hashlib.blake2b(ticket, key=self._key, digest_size=CHECK).digest()
