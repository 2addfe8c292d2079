"""The ids that clients carry. An id holds the number of its choice and when it was made, sealed and authenticated under
a key of the bandit, which is made with it and destroyed when it is retired.

So whoever takes a reward knows its deadline without a look at the database, and what clients send back is a witness
that no restore takes back: a number that the database has not reached, or has given to another choice, proves that it
lost choices which were answered from it, even where the folder of keys was taken back with it. An id of a bandit in
whose place this one came proves nothing, and its reward is not counted.

Number, time and zeros are one block of AES, so that the ticket looks random; a keyed hash behind it authenticates
it."""

import hashlib
import math
import secrets
from collections.abc import Sequence
from typing import Any

from tacit import extras
from tacit.errors import UnknownChoice
from tacit.holders.requests import PASSED, TICKET, StoredChoice, Ticket

NUMBER, TIME, CHECK = 6, 6, 8  # bytes; times are in milliseconds
ZEROS = bytes(TICKET - NUMBER - TIME)
MILLI = 1000.0


class Tickets:
    """Of one bandit, by its key. former: the keys of bandits in whose place it came."""

    def __init__(self, key: bytes, former: Sequence[bytes] = ()) -> None:
        self._key, self._former = key, former
        ciphers: Any = extras.load("cryptography.hazmat.primitives.ciphers", "ids of choices", extra="store")
        own = hashlib.blake2b(key=key, digest_size=32, person=b"number and time").digest()
        self._block: Any = ciphers.Cipher(ciphers.algorithms.AES(own), ciphers.modes.ECB())  # of one block

    def made(self, number: int, at: float) -> bytes:
        """The ticket of the choice with that number, which is made at that time, a whole number of
        milliseconds."""
        text = number.to_bytes(NUMBER, "big") + round(at * MILLI).to_bytes(TIME, "big") + ZEROS
        ticket: bytes = self._block.encryptor().update(text)
        return ticket

    def written(self, ticket: bytes) -> str:
        """The id that a ticket is known by."""
        return (ticket + _check(self._key, ticket)).hex()

    def read(self, given: object) -> Ticket:
        """The ticket of an id, of number PASSED if it is of a bandit in whose place this one came; ValueError for what
        cannot be one, UnknownChoice for one that was never given out."""
        if isinstance(given, StoredChoice):
            given = given.id
        if not isinstance(given, str):
            raise ValueError(f"Expected a choice or its id, a string, got {type(given).__name__}.")
        try:
            whole = bytes.fromhex(given)
        except ValueError:
            whole = b""
        ticket = whole[:TICKET]
        if len(whole) == TICKET + CHECK and any(_check(key, ticket) == whole[TICKET:] for key in self._former):
            return Ticket(ticket, PASSED, -math.inf)
        if len(whole) != TICKET + CHECK or not secrets.compare_digest(_check(self._key, ticket), whole[TICKET:]):
            raise UnknownChoice("Expected the id of a choice that this bandit made, got an unknown one.")
        text: bytes = self._block.decryptor().update(ticket)
        when = int.from_bytes(text[NUMBER : NUMBER + TIME], "big") / MILLI
        return Ticket(ticket, int.from_bytes(text[:NUMBER], "big"), when)


def _check(key: bytes, ticket: bytes) -> bytes:
    return hashlib.blake2b(ticket, key=key, digest_size=CHECK).digest()
