"""Requests and rewards as the store takes them: checked before they meet a transaction, in rows of one size."""

import functools
import hashlib
import math
import secrets
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import numpy as np

from tacit.data import Array, Integers
from tacit.errors import BadState
from tacit.model.chances import Chance, Later

LONGEST_NAME = 255  # bytes
# ticket, version, index, bytes of the name or -1, the name, the propensity and its error, or NaN; early rows lack these
ANSWER = struct.Struct(f">16sqqh{LONGEST_NAME}sdd")
REWARD = struct.Struct(">d")
REFUSED = -1  # the index of no arm: a person beyond the limit
PERSON = 16  # bytes of a person's hash
TICKET = 16  # bytes (tacit.bandits.stored.tickets)


class Answer(NamedTuple):
    """What is stored for a request. RAW."""

    ticket: bytes
    version: int
    arm: int
    name: str | None
    propensity: float | None = None  # where it was asked for
    error: float = math.nan  # of the propensity; NaN: not known

    @property
    def chance(self) -> Later | None:
        return None if self.propensity is None else Later(functools.partial(Chance, self.propensity, self.error))

    def drawn(self, propensity: Callable[[], float]) -> "Answer":
        """With its propensity, computed here."""
        return self._replace(propensity=propensity(), error=getattr(propensity, "error", 0.0))

    def packed(self) -> bytes:
        text = b"" if self.name is None else self.name.encode()
        propensity = math.nan if self.propensity is None else self.propensity
        length = -1 if self.name is None else len(text)
        return ANSWER.pack(self.ticket, self.version, self.arm, length, text, propensity, self.error)

    @classmethod
    def unpacked(cls, packed: bytes) -> "Answer":
        lacking = (ANSWER.size - len(packed)) // REWARD.size
        ticket, version, arm, length, text, *chance = ANSWER.unpack(packed + REWARD.pack(math.nan) * lacking)
        name = None if length < 0 else text[:length].decode()
        propensity, error = chance
        return cls(ticket, version, arm, name, None if math.isnan(propensity) else propensity, error)


class Ask(NamedTuple):
    """One user's request. RAW. deferred: it is not known yet whether the choice will be shown."""

    request: bytes  # the hash that stands for it
    features: Array
    names: tuple[str, ...] | None
    available: Integers | None  # their indices; None if all are
    person: bytes | None
    former: tuple[bytes, ...] = ()  # what earlier releases knew the same person by
    deferred: bool = False
    ahead: Answer | None = None  # where it was drawn before
    logged: bool = False  # a row of a log: it counts for no more than the bandit learns


class Report(NamedTuple):
    """One reward, None to cancel. RAW."""

    ticket: bytes
    reward: float | None


@dataclass(frozen=True, slots=True)
class StoredChoice:
    """The arm for one user: its index, its name if the arms had names, the opaque id with which its reward is reported,
    and the version (number of releases) that it was chosen by. degraded: the database was away, so that nothing is
    learnt from it; its id is acknowledged like any other."""

    index: int
    name: str | None
    id: str
    version: int
    _propensity: Callable[[], float] = field(repr=False, compare=False)
    degraded: bool = False

    @property
    def propensity(self) -> float:
        """The probability with which this user got this arm at that version; computed when asked for. An answer that
        was given before has it if it was asked for then (`choose(..., propensity=True)`)."""
        return self._propensity()

    @property
    def propensity_error(self) -> float:
        """Its standard error: 0 where it is exact (docs/evaluation.md). NaN for an answer that an earlier version of
        this package stored without."""
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


def check_names(names: tuple[str, ...] | None) -> None:
    for name in names or ():
        try:
            short = isinstance(name, str) and len(name.encode()) <= LONGEST_NAME
        except UnicodeEncodeError:
            short = False
        if not short:
            raise ValueError(f"Expected names of arms that are text of at most {LONGEST_NAME} bytes, got another.")


def deferred(x: bytes, reward: float | None) -> bytes:
    """A choice that is not shown yet, with a reward that came before: always of the same length."""
    return x + REWARD.pack(math.nan if reward is None else reward)


def undeferred(row: bytes) -> tuple[bytes, float | None]:
    (reward,) = REWARD.unpack(row[-REWARD.size :])
    return row[: -REWARD.size], None if math.isnan(reward) else reward


def features_of(row: bytes, dim: int) -> Array:
    if len(row) != 8 * dim:
        raise BadState("Expected features of this bandit's dimension, got others.")
    return np.frombuffer(row, np.float64).copy()
