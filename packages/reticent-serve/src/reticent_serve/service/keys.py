"""Who may ask for what: keys by their hashes, a role for each, and how often each may come."""

import hashlib
import hmac
import math
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from reticent_serve.service.config import KeySetting, is_here
from reticent_serve.service.errors import Reply

READS = 20.0  # a second, of status and the like, and of erasures
OFTEN = ("choose", "reward", "batches")
BURST = 1.0  # seconds of its rate that a key may use at once
MAY = {  # role -> what it may ask for
    "app": frozenset({"bandits", "choose", "reward", "erase"}),
    "operator": frozenset(
        {
            "bandits",
            "certificate",
            "status",
            "estimate",
            "history",
            "segments",
            "metrics",
            "dashboard",
            "erase",
            "end-experiment",
        }
    ),
    "auditor": frozenset({"bandits", "certificate", "status", "dashboard"}),
    "shuffler": frozenset({"batches"}),  # of an analyzer
}


class Bucket:
    """So many rows a second, and some seconds' worth of them at once."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate, self._clock, self._at = rate, clock, clock()
        self._most = self._left = max(1.0, rate * BURST)

    def take(self, rows: int) -> float:
        """0 if they may come; else the seconds to wait, and none is taken. What is more than a full bucket may come
        when it is full."""
        now = self._clock()
        self._left = min(self._most, self._left + self._rate * (now - self._at))
        self._at = now
        needed = min(float(rows), self._most)
        if self._left >= needed:
            self._left -= rows
            return 0.0
        return (needed - self._left) / self._rate


class Asker(NamedTuple):
    """Whoever has a key, by its hash. Each thing to ask for has a bucket of its own: rewards, whose number is raw, hold
    up no choice. Two keys of one name, an old and a new one, are one asker: with the same buckets, and the same answers
    to requests that are sent again."""

    name: str
    may: frozenset[str]
    buckets: dict[str, Bucket]
    hash: bytes

    def take(self, what: str, rows: int) -> None:
        """Reply 429 if they have to wait."""
        wait = self.buckets[what].take(rows)
        if wait > 0:
            raise Reply(429, "Expected fewer rows a second with this key: come again.", wait)


class AccessKeys:
    """All keys; without any, whoever reaches this machine's own address may do everything."""

    def __init__(self, settings: Sequence[KeySetting], clock: Callable[[], float]) -> None:
        def asker(name: str, may: frozenset[str], rate: float) -> Asker:
            rates = {what: rate if what in OFTEN else min(rate, READS) for what in may}
            return Asker(name, may, {what: Bucket(rate, clock) for what, rate in rates.items()}, b"")

        everything: frozenset[str] = frozenset().union(*MAY.values())

        names = {key.name: asker(key.name, MAY[key.role], key.rate) for key in settings}
        self._askers = [names[key.name]._replace(hash=bytes.fromhex(key.hash)) for key in settings]
        self._anyone = None if settings else asker("", everything, math.inf)

    def check_host(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Where there are no keys: Reply 403 to a request for another name than this machine's own. A web page whose
        name points here would otherwise be let in by whoever looks at it."""
        host = next((value for name, value in headers if name == b"host"), b"localhost")
        if self._anyone is not None and not is_here(host.decode("latin-1")):
            raise Reply(403, "Expected [[keys]] for a server that is asked by another name than localhost.")

    def find(self, authorization: bytes) -> Asker | None:
        """Whose key that is (the header's text, "Bearer KEY"). All hashes are compared, each in constant time."""
        if self._anyone is not None:
            return self._anyone
        scheme, _, key = authorization.partition(b" ")
        given, found = hashlib.sha256(key.strip()).digest(), None
        for asker in self._askers:
            if hmac.compare_digest(asker.hash, given):
                found = asker
        return found if scheme.lower() == b"bearer" else None

    @property
    def needed(self) -> bool:
        return self._anyone is None

    def named(self, name: str) -> list[Asker]:
        """Whoever has a key of that name: the old one, the new one, or nobody."""
        return [asker for asker in self._askers if asker.name == name]


def make() -> tuple[str, str]:
    """A new key, and its hash: 256 random bits need no slow hash."""
    key = f"reticent_{secrets.token_urlsafe(32)}"
    return key, hashlib.sha256(key.encode()).hexdigest()
