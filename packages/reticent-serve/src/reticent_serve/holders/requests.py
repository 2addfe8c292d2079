"""Requests and rewards as a database takes them: checked before they meet a transaction, in rows of one size."""

import functools
import hashlib
import importlib
import math
import secrets
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from reticent.data import Raw
from reticent.errors import BadState, UnknownChoice
from reticent.model.chances import Chance, Later

LONGEST_NAME = 255  # bytes
# ticket, version, index, bytes of the name or -1, the name, the propensity and its error, or NaN
ANSWER = struct.Struct(f">16sqqh{LONGEST_NAME}sdd")
WRONG = -1  # the index of no arm: a bad request that keeps its number
TICKET = 16  # bytes (reticent_serve.holders.requests)
PASSED = -1  # the number of no choice of this bandit


class Ticket(NamedTuple):
    """What a choice is known by (reticent_serve.holders.requests). number: PASSED: a choice of a bandit in whose place
    this one came, which counts for nothing."""

    text: bytes
    number: int
    made_at: float


class Answer(NamedTuple):
    """What is stored for a request. RAW."""

    ticket: bytes
    version: int
    arm: int
    name: str | None
    propensity: float | None = None  # where it was asked for
    error: float = math.nan  # of the propensity; NaN: not known

    def __repr__(self) -> str:
        return "<raw>"

    @property
    def chance(self) -> Later | None:
        return None if self.propensity is None else Later(functools.partial(Chance, self.propensity, self.error))

    def packed(self) -> bytes:
        text = b"" if self.name is None else self.name.encode()
        propensity = math.nan if self.propensity is None else self.propensity
        length = -1 if self.name is None else len(text)
        return ANSWER.pack(self.ticket, self.version, self.arm, length, text, propensity, self.error)

    @classmethod
    def unpacked(cls, packed: bytes) -> "Answer":
        ticket, version, arm, length, text, propensity, error = ANSWER.unpack(packed)
        chance_or_none = None if math.isnan(propensity) else propensity
        name = None if length < 0 else text[:length].decode()
        return cls(ticket, version, arm, name, chance_or_none, error)


class Report(NamedTuple):
    """What is to be written of a choice. reward: NaN: it is cancelled."""

    ticket: Ticket
    reward: Raw[float]


@dataclass(frozen=True, slots=True)
class StoredChoice:
    """The arm for one user: its index, its name if the arms had names, the opaque id with which its reward is reported,
    and the version (number of releases) that it was chosen by."""

    index: int
    name: str | None
    id: str
    version: int
    _propensity: Callable[[], float] = field(repr=False, compare=False)

    @property
    def propensity(self) -> float:
        """The probability with which this user got this arm at that version; computed when asked for. An answer that
        was given before has it if it was asked for then (`choose(..., propensity=True)`)."""
        return self._propensity()

    @property
    def propensity_error(self) -> float:
        """Its standard error: 0 where it is exact (docs/evaluation.md)."""
        self._propensity()
        return getattr(self._propensity, "error", 0.0)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Expected the id of a choice, got pickle or copy: what computes its propensity is raw data.")


def request_hash(request: str | bytes | None, asker: str, key: bytes) -> bytes:
    """What stands for a request of that asker; a random one for None. Others who use the same words ask for another."""
    if request is None:
        return secrets.token_bytes(16)
    if not isinstance(request, str | bytes) or not request:
        raise ValueError(f"Expected request to be a string or bytes, got {type(request).__name__}.")
    text = request if isinstance(request, bytes) else request.encode("utf-8", "surrogatepass")
    who = hashlib.blake2b(asker.encode("utf-8", "surrogatepass"), key=key, digest_size=32).digest()
    return hashlib.blake2b(who + text, key=key, digest_size=16).digest()


def another_answer() -> NoReturn:
    raise BadState("Expected the propensity to be asked for with the first answer to a request, got a repeated one.")


def check_names(names: tuple[str, ...] | None) -> None:
    for name in names or ():
        try:
            short = isinstance(name, str) and len(name.encode()) <= LONGEST_NAME
        except UnicodeEncodeError:
            short = False
        if not short:
            raise ValueError(f"Expected names of arms that are text of at most {LONGEST_NAME} bytes, got another.")


NUMBER, TIME, CHECK = 6, 6, 8  # bytes; times are in milliseconds
ZEROS = bytes(TICKET - NUMBER - TIME)
MILLI = 1000.0


class Tickets:
    """Of one bandit, by its key. former: the keys of bandits in whose place it came."""

    def __init__(self, key: bytes, former: Sequence[bytes] = ()) -> None:
        self._key, self._former = key, former
        ciphers: Any = importlib.import_module("cryptography.hazmat.primitives.ciphers")
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
