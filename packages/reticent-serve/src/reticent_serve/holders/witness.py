"""What was shown, remembered outside of the database: one that is older was taken back in time, and going on from it
would release the same people's data again with other noise.

The witness lies in the folder of keys, which backups leave out. It is there, of no leaves, before a bandit is: one
without its witness is refused. A leaf that was drawn stays sealed until the witness has it on disk, so that no backup
without keys holds a noise that the witness does not know. It names one bandit by its uid, and a record of another is
never overwritten: only a restore puts a bandit in the place of another, whose releases stay on record. Not noticed
here: a database and its witness that are taken back together; ids that clients carry show that
(reticent_serve.holders.requests)."""

import contextlib
import fcntl
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from reticent.errors import BadState, RolledBack
from reticent_serve.holders.closed import RESTORE
from reticent_serve.holders.database import DatabaseIdentity
from reticent_serve.holders.leaf_rows import Leaf
from reticent_serve.holders.seal import sync, using


class Predecessor(NamedTuple):
    """A bandit whose place another has taken. steps: what it released by the record, None if there is none; times: 2 if
    its database was taken back in time, perhaps with its record: what it had released before is not known, then."""

    uid: str
    steps: int | None
    times: int = 1


def predecessors(found: Any) -> tuple[Predecessor, ...]:
    """From JSON."""
    return tuple(Predecessor(*one) for one in found)


@dataclass(frozen=True)
class Shown:
    """The latest that was drawn, and may be shown."""

    uid: str
    digests: list[str]  # of none, one, two, ... and all of the leaves as they were drawn; each holds those before
    system: str
    timeline: int
    used: int = 0  # leaves that choices were made by
    predecessors: tuple[Predecessor, ...] = ()
    taken_back: bool = False  # an id proved that the database was taken back in time

    @property
    def steps(self) -> int:
        return len(self.digests) - 1


class Witness:
    """The file NAME.witness, shared by all workers that have the folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.witness"

    def read(self) -> Shown | None:
        """None if there is no such file."""
        with using():
            return self._read()

    def _read(self) -> Shown | None:
        try:
            found = Shown(**json.loads(self._path.read_text()))
            if not found.digests:  # there is one of no leaves
                raise ValueError
            return replace(found, predecessors=predecessors(found.predecessors))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise BadState(
                f"Expected {self._path.name} to be readable, got a damaged file. Put it back as it was; moved "
                "elsewhere, it counts as lost."
            ) from None

    def begin(self, uid: str, identity: DatabaseIdentity) -> None:
        """That of a bandit that is about to be made; on disk when this returns. RolledBack if another is on record."""
        with self._alone():
            last = self._read()
            if last is None:
                self._write(Shown(uid, [start_digest(uid)], *identity))
            else:
                check_uid(last, uid)

    def succeed(
        self, uid: str, identity: DatabaseIdentity, charged: Callable[[Shown | None], tuple[Predecessor, ...]]
    ) -> tuple[Predecessor, ...]:
        """Puts a bandit of that uid in the place of the one on record, which can release nothing from then on; on disk
        when this returns. charged: what they are charged with, by what is on record; returned."""
        with using():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._alone():
            found = charged(self._read())
            self._write(Shown(uid, [start_digest(uid)], *identity, predecessors=found))
            return found

    def record(self, shown: Shown) -> None:
        """On disk when this returns, unless a later one is; RolledBack if another history is on record, or none."""
        with self._alone():
            last = self._read()
            if last is None:
                raise missing()
            if last.uid != shown.uid or last.taken_back or differ(last, shown.digests):
                raise older()
            if last.system != shown.system:  # it has moved since
                raise elsewhere()
            if last.steps < shown.steps or last.used < shown.used:
                digests = shown.digests + last.digests[shown.steps + 1 :]
                later = replace(shown, digests=digests, used=max(last.used, shown.used))
                self._write(replace(later, predecessors=last.predecessors))

    def move(self, uid: str, identity: DatabaseIdentity) -> None:
        """All that is on record is in that database from now on; on disk when this returns. From then on nobody can
        record of another, nor open it."""
        with self._alone():
            last = self._read()
            if last is None:
                raise missing()
            if last.uid != uid or last.taken_back:
                raise older()
            self._write(replace(last, system=identity.system, timeline=identity.timeline))

    def take_back(self, uid: str) -> None:
        """An id proved that its database was taken back in time; on disk when this returns."""
        with self._alone():
            last = self._read()
            if last is not None and last.uid == uid:
                self._write(replace(last, taken_back=True))

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
        new = self._path.with_suffix(".new")
        with open(new, "w", opener=_private) as file:
            json.dump(asdict(shown), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._path)
        sync(self._path.parent)


def check(last: Shown | None, *, uid: str, digests: list[str], identity: DatabaseIdentity) -> Shown:
    """RolledBack unless a database with these leaves (`digests[n]` is that of the first n) holds all that was drawn.
    The witness must have been read before the database was: another worker may go on meanwhile."""
    if last is None:
        raise missing()
    check_uid(last, uid)
    if last.steps >= len(digests) or last.digests[-1] != digests[last.steps]:
        raise older()
    check_place(last, identity)
    return last


def check_uid(last: Shown, uid: str) -> None:
    """RolledBack unless it is the record of that bandit."""
    if last.uid != uid:
        raise replaced() if uid in [one.uid for one in last.predecessors] else another()


def check_place(last: Shown, identity: DatabaseIdentity) -> None:
    """RolledBack unless it is in that database, which was not taken back in time."""
    if last.system != identity.system:
        raise elsewhere()
    if last.taken_back or last.timeline > identity.timeline:
        raise older()


def differ(last: Shown, digests: list[str]) -> bool:
    """Whether another leaf is on record for a step of these, where `digests[n]` is that of the first n."""
    both = min(last.steps, len(digests) - 1)
    return last.digests[both] != digests[both]


def start_digest(uid: str) -> str:
    """Of no leaves."""
    return hashlib.sha256(uid.encode()).hexdigest()


def next_digest(digest: str, leaf: Leaf) -> str:
    """Of one leaf more."""
    return hashlib.sha256(digest.encode() + leaf.noisy).hexdigest()


def digests(uid: str, leaves: list[Leaf]) -> list[str]:
    """Of none, one, two, ... and all of these leaves."""
    return list(itertools.accumulate(leaves, next_digest, initial=start_digest(uid)))


def missing() -> RolledBack:
    return RolledBack(
        "Expected the witness of what was shown beside the keys, got none: without it nobody knows whether this "
        "database is older than what was shown from it. Put the folder of keys back as it was. If it is lost: "
        f"{RESTORE}"
    )


def another() -> RolledBack:
    return RolledBack(
        "Expected the witness of this bandit beside the keys, got that of another bandit of the same name: correct "
        "`database` or `keys`."
    )


def replaced() -> RolledBack:
    return RolledBack(
        "Expected the bandit that was made by a restore, got the one before it: if that restore is not finished, run "
        "the same `reticent restore` again; else correct `database`, or put the last database back."
    )


def elsewhere() -> RolledBack:
    return RolledBack(
        "Expected the database that was served from, got another, or a copy of it in another place. Put `database` "
        "back as it was; `reticent move CONFIG --to` takes a bandit to another database. If the old one is lost: "
        "`reticent restore` with a backup."
    )


def older() -> RolledBack:
    return RolledBack(
        "Expected a database with all that was shown from it, got an older one or one of another history: going on "
        "from it would release the same people's data again. Correct `database` or `keys`, or put the last database "
        f"back. If it is lost: {RESTORE}"
    )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
