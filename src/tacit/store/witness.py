"""What was shown, remembered outside of the database: one that is older was taken back in time, and going on from it
would release the same people's data again with other noise.

The witness lies in the folder of keys, which backups leave out, and is on disk before a version is served. It holds the
incarnation, a digest of each history of leaves that was shown, and which database it was. Not noticed: a database and
its witness that are taken back together."""

import fcntl
import hashlib
import itertools
import json
import os
from pathlib import Path
from typing import NamedTuple

from tacit.errors import BadState, RolledBack
from tacit.store.database import Identity
from tacit.store.seal import sync, writing


class Shown(NamedTuple):
    """The latest that was shown."""

    incarnation: int
    digests: list[str]  # of none, one, two, ... and all of the leaves as they were shown
    system: str
    timeline: int

    @property
    def steps(self) -> int:
        return len(self.digests) - 1


class Witness:
    """The file NAME.witness, shared by all workers that have the folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.witness"

    def read(self) -> Shown | None:
        """None if nothing was shown yet."""
        try:
            return Shown(**json.loads(self._path.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise BadState(f"Expected {self._path.name} to be readable, got a damaged file.") from None

    def record(self, shown: Shown) -> None:
        """On disk when this returns, unless a later one is; RolledBack if another history was shown."""
        with writing():
            self._record(shown)

    def _record(self, shown: Shown) -> None:
        descriptor = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            last = self.read()
            if last is not None and last.incarnation >= shown.incarnation:
                if last.incarnation > shown.incarnation or alike(last, shown.digests) < min(last.steps, shown.steps):
                    raise older()
                if last.steps >= shown.steps:
                    return
            new = self._path.with_suffix(".new")
            with open(new, "w", opener=_private) as file:
                json.dump(shown._asdict(), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self._path)
            sync(self._path.parent)
        finally:
            os.close(descriptor)


def check(last: Shown | None, *, incarnation: int, digests: list[str], identity: Identity) -> None:
    """RolledBack unless a database with these leaves (`digests[n]` is that of the first n) holds all that was shown.
    The witness must have been read before the database was: another worker may go on meanwhile."""
    if last is None or last.incarnation < incarnation:
        return
    if last.incarnation > incarnation or alike(last, digests) < last.steps:
        raise older()
    if last.system != identity.system:
        raise RolledBack("Expected the database that was served from, got a copy of it in another place: recover.")
    if last.timeline > identity.timeline:
        raise older()


def alike(last: Shown, digests: list[str]) -> int:
    """How many leaves are those that were shown, where `digests[n]` is that of the first n; -1 for another bandit's."""
    pairs = zip(last.digests, digests, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)) - 1


def start_digest(uid: str) -> str:
    """Of no leaves."""
    return hashlib.sha256(uid.encode()).hexdigest()


def next_digest(digest: str, noisy: bytes) -> str:
    """Of one leaf more."""
    return hashlib.sha256(digest.encode() + noisy).hexdigest()


def digests(uid: str, noisy: list[bytes]) -> list[str]:
    """Of none, one, two, ... and all of these leaves."""
    return list(itertools.accumulate(noisy, next_digest, initial=start_digest(uid)))


def older() -> RolledBack:
    return RolledBack(
        "Expected a database with all that was shown from it, got an older one or one of another history: going on "
        "from it would release the same people's data again. Recover."
    )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
