"""What was shown, remembered outside of the database: one that is older was taken back in time, and going on from it
would release the same people's data again with other noise.

The witness lies in the folder of keys, which backups leave out. It is there, of no leaves, before a bandit is: one
without its witness is refused. A leaf that was drawn stays sealed until the witness has it on disk, so that no backup
without keys holds a noise that the witness does not know. It holds the incarnation, how many leaves were drawn, a
digest of them, how many of them were used, which database it was, what is counted twice and whether an id has proved
that the database was taken back in time, which a restore would forget; digests of each shorter history lie beside it,
so that workers of the first version can read the file. Not noticed here: a database and its
witness that are taken back together; ids that clients carry show that (tacit.holders.tickets)."""

import contextlib
import fcntl
import hashlib
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tacit.errors import BadState, RolledBack
from tacit.holders.database import DatabaseIdentity
from tacit.holders.leaf_rows import Leaf
from tacit.holders.seal import sync, using

UNKNOWN = ""


class Shown(NamedTuple):
    """The latest that was drawn, and may be shown."""

    incarnation: int
    digests: list[str]  # of none, one, two, ... and all of the leaves as they were drawn; each holds those before
    system: str
    timeline: int
    used: int = 0  # leaves that choices were made by
    twice: int = 0  # earlier incarnations that are counted twice: a restore does not forget them
    disputed: bool = False  # an id proved that the database was taken back in time

    @property
    def steps(self) -> int:
        return len(self.digests) - 1


class Witness:
    """The file NAME.witness, shared by all workers that have the folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path, self._past = folder / f"{name}.witness", folder / f"{name}.shown"

    def read(self) -> Shown | None:
        """None if there is no such file."""
        with using():
            return self._read()

    def _read(self) -> Shown | None:
        try:
            found = json.loads(self._path.read_text())
            digests = self._digests(found["steps"], found["digest"])
            used = found.get("used", found["steps"])  # early versions wrote what was used, and nothing else
            late = found.get("twice", 0), found.get("disputed", False)
            return Shown(found["incarnation"], digests, found["system"], found["timeline"], used, *late)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError):
            raise BadState(f"Expected {self._path.name} to be readable, got a damaged file.") from None

    def _digests(self, steps: int, last: str) -> list[str]:
        """Up to the last one; where a worker of the first version was the last to write, the others are unknown."""
        past = json.loads(self._past.read_text()) if self._past.exists() else []
        return past[: steps + 1] if past[steps : steps + 1] == [last] else [UNKNOWN] * steps + [last]

    def begin(self, shown: Shown) -> None:
        """That of an incarnation that is about to be made; on disk when this returns. Where leaves of it, or of a later
        one, are on record, that stays, and what is made is refused; RolledBack if it is in another database."""
        with self._alone():
            last = self._read()
            if last is not None and last.incarnation == shown.incarnation and last.system != shown.system:
                raise elsewhere()
            if last is None or last.incarnation < shown.incarnation or (last[0], last.steps) == (shown[0], 0):
                self._write(shown)

    def record(self, shown: Shown) -> None:
        """On disk when this returns, unless a later one is; RolledBack if another history is on record, or none."""
        with self._alone():
            last = self._read()
            if last is None:
                raise missing()
            if last.incarnation != shown.incarnation or last.disputed or differ(last, shown.digests):
                raise older()
            if last.system != shown.system:  # it has moved since
                raise elsewhere()
            if last.steps < shown.steps or last.used < shown.used:
                digests = shown.digests + last.digests[shown.steps + 1 :]
                self._write(shown._replace(digests=digests, used=max(last.used, shown.used), twice=last.twice))

    def move(self, incarnation: int, identity: DatabaseIdentity) -> None:
        """All that is on record is in that database from now on; on disk when this returns. From then on nobody can
        record of another, nor open it."""
        with self._alone():
            last = self._read()
            if last is None:
                raise missing()
            if last.incarnation != incarnation or last.disputed:
                raise older()
            self._write(last._replace(system=identity.system, timeline=identity.timeline))

    def dispute(self, incarnation: int) -> None:
        """An id proved that its database was taken back in time; on disk when this returns."""
        with self._alone():
            last = self._read()
            if last is not None and last.incarnation == incarnation:
                self._write(last._replace(disputed=True))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other worker writes meanwhile."""
        with using():
            descriptor = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                os.close(descriptor)

    def _write(self, shown: Shown) -> None:
        self._replace(self._past, shown.digests)
        document = {"incarnation": shown.incarnation, "steps": shown.steps, "digest": shown.digests[-1]}
        document |= {"system": shown.system, "timeline": shown.timeline, "used": shown.used, "twice": shown.twice}
        document |= {"disputed": shown.disputed}
        self._replace(self._path, document)
        sync(self._path.parent)

    def _replace(self, path: Path, what: object) -> None:
        new = path.with_suffix(".new")
        with open(new, "w", opener=_private) as file:
            json.dump(what, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)


def check(last: Shown | None, *, incarnation: int, digests: list[str], identity: DatabaseIdentity) -> Shown:
    """RolledBack unless a database with these leaves (`digests[n]` is that of the first n) holds all that was drawn.
    The witness must have been read before the database was: another worker may go on meanwhile."""
    if last is None or last.incarnation < incarnation:
        raise missing()
    if last.incarnation > incarnation or last.steps >= len(digests) or last.digests[-1] != digests[last.steps]:
        raise older()
    if last.system != identity.system:
        raise elsewhere()
    if last.disputed or last.timeline > identity.timeline:
        raise older()
    return last


def differ(last: Shown, digests: list[str]) -> bool:
    """Whether another leaf is on record for a step of these, where `digests[n]` is that of the first n."""
    both = min(last.steps, len(digests) - 1)
    return last.digests[both] not in (UNKNOWN, digests[both])


def alike(last: Shown, digests: list[str]) -> int:
    """How many leaves are those that were shown, where `digests[n]` is that of the first n, as far as that is known; -1
    for another bandit's."""
    if digests[last.steps : last.steps + 1] == last.digests[-1:]:
        return last.steps
    pairs = zip(last.digests, digests, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)) - 1


def start_digest(uid: str) -> str:
    """Of no leaves."""
    return hashlib.sha256(uid.encode()).hexdigest()


def next_digest(digest: str, leaf: Leaf) -> str:
    """Of one leaf more, with what its step's public contexts sum to."""
    return hashlib.sha256(digest.encode() + leaf.content).hexdigest()


def digests(uid: str, leaves: list[Leaf]) -> list[str]:
    """Of none, one, two, ... and all of these leaves."""
    return list(itertools.accumulate(leaves, next_digest, initial=start_digest(uid)))


def missing() -> RolledBack:
    return RolledBack(
        "Expected the witness of what was shown beside the keys, got none: without it nobody knows whether this "
        "database is older than what was shown from it. Put the folder of keys back as it was; or stop all servers, "
        "then `tacit recover CONFIG NAME`."
    )


def elsewhere() -> RolledBack:
    return RolledBack(
        "Expected the database that was served from, got another, or a copy of it in another place. Put `durable` back "
        "as it was; `tacit move CONFIG --to` takes a bandit to another database. If the old one is lost: `tacit "
        "restore` with a backup, or `tacit recover CONFIG NAME` with a copy."
    )


def older() -> RolledBack:
    return RolledBack(
        "Expected a database with all that was shown from it, got an older one or one of another history: going on "
        "from it would release the same people's data again. Stop all servers, then `tacit recover CONFIG NAME`."
    )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
