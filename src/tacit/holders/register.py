"""Which bandits have ever been opened on a population's people, and what each of them costs a person: for ever,
whatever is retired, deleted or taken out of a configuration later.

Kept twice, and only added to: in rows of the database, and in a file that outlives it. The file lies in the folder of
keys that was given, or beside an SQLite file whose keys are beside it, too. Not known: bandits that share neither a
database nor a folder with this one, nor were ever served together with it."""

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tacit.errors import BadState
from tacit.holders.database import Database, Run
from tacit.holders.seal import sync, using
from tacit.privacy import relations
from tacit.privacy.ledger import Release

FILE = "tacit-populations.jsonl"


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One bandit of a population up to an incarnation. line: the first incarnation's uid; a name that was deleted and
    made anew is another line. releases: what all incarnations so far cost one person with so many `rounds` at most, at
    any delta; that of the claim is `delta`. rounds: None where the bandit has no limit; then it is the cost of one
    round."""

    population: str
    line: str
    name: str
    uid: str
    incarnation: int
    delta: float
    releases: tuple[Release, ...]
    rounds: int | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        return self.population, self.line, self.incarnation


class Register:
    """Of one database and one folder."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database, self._path = database, folder / FILE

    def members(self) -> list[Member]:
        """All of them, by population and in the order of lines."""
        with self._database.transaction() as run:
            found = recorded(run)
        return sorted({member.key: member for member in [*found, *self._in_file()]}.values(), key=lambda m: m.key)

    def add(self, members: Iterable[Member]) -> None:
        """On disk in both places when this returns."""
        wanted = {member.key: member for member in [*self.members(), *members]}
        with self._database.transaction() as run:
            record(run, wanted.values())
        with using():
            self._append(wanted)

    def _append(self, wanted: dict[tuple[str, str, int], Member]) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            known = {member.key for member in self._in_file()}
            new = [msgspec.json.encode(member) + b"\n" for key, member in wanted.items() if key not in known]
            if not new:
                return
            file.seek(file.read().rfind(b"\n") + 1)  # over a line that was not finished
            file.truncate()
            file.write(b"".join(new))
            file.flush()
            os.fsync(file.fileno())
        sync(self._path.parent)

    def _in_file(self) -> list[Member]:
        try:
            *whole, _ = self._path.read_bytes().split(b"\n")  # what has no end of line was not finished
        except FileNotFoundError:
            return []
        return [_read(record) for record in whole]


def recorded(run: Run) -> list[Member]:
    """In the database alone."""
    return [_read(str(record).encode()) for (record,) in run("SELECT record FROM member")]


def record(run: Run, members: Iterable[Member]) -> None:
    known = {member.key for member in recorded(run)}
    for member in members:
        if member.key not in known:
            run(
                "INSERT INTO member (population, line, incarnation, record) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                *member.key,
                msgspec.json.encode(member).decode(),
            )


def _read(record: bytes) -> Member:
    try:
        found = msgspec.json.decode(record)
        for release in found["releases"]:
            if release["type"] == "gaussian":  # before 0.5.0 all of these were for replacing users, and none said so
                release.setdefault("relation", relations.REPLACE)
        return msgspec.convert(found, Member)
    except (KeyError, TypeError, AttributeError, msgspec.MsgspecError):
        raise BadState("Expected a register of populations as it was written, got a damaged one.") from None
