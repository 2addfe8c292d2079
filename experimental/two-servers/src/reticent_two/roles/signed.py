"""The billboard of two aggregators: task and board with the signatures of both, and the keys that shares are sealed to.

It is ASCII, in seven lines: what it is; the task; its two signatures, the leader's first; the board; its two
signatures; the leader's sealing key; the helper's. Task and board are JSON in one form (roles.task.canonical), and
what is signed is the line itself. Signatures and keys are in hexadecimal digits. In simulation they are empty.

A device knows both identities from its application. It refuses what either has not signed, a board that has expired,
and whatever is older than what it has seen. An aggregator signs one board of a version, ever: so no two devices have
different boards of one version, as long as one aggregator is honest. Withholding one can make devices use different
versions until the older one expires."""

import functools
from collections.abc import Mapping
from typing import NamedTuple

from reticent.errors import BadBillboard
from reticent_devices.roles.billboard import LONGEST, as_bytes, need, parsed
from reticent_two.roles import board as boards
from reticent_two.roles import identity, sealing
from reticent_two.roles.board import MODEL, TwoServerBoard
from reticent_two.roles.identity import SIGNATURE, Identities
from reticent_two.roles.sealing import SealingKey
from reticent_two.roles.task import FORMAT as TASK
from reticent_two.roles.task import Task, canonical

FIRST = b"reticent billboard of two aggregators 1"
UNSIGNED = b""


class BoardMark(NamedTuple):
    """What a device has seen of a task: the last board, and when its sealing keys began."""

    version: int
    board: str  # its hash
    keys: tuple[int, int]


Marks = Mapping[str, BoardMark]  # by the digest of the task, in hexadecimal digits


class Billboard(NamedTuple):
    """task, board: their lines. signatures: of the task, then of the board, two each. keys: as sealing shows them."""

    task: bytes
    task_signatures: bytes
    board: bytes
    board_signatures: bytes
    keys: tuple[bytes, bytes]

    @property
    def text(self) -> bytes:
        """As devices get it."""
        shown = [each.hex().encode() for each in (self.task_signatures, self.board_signatures, *self.keys)]
        return b"\n".join([FIRST, self.task, shown[0], self.board, *shown[1:]])


class Trusted(NamedTuple):
    """What a device may act by. marks: to be kept before it does."""

    board: TwoServerBoard
    keys: tuple[SealingKey, SealingKey]
    marks: Marks


def split(billboard: bytes) -> Billboard:
    """Its lines; BadBillboard."""
    given = as_bytes(billboard)
    need(len(given) <= LONGEST, f"at most {LONGEST} bytes")
    lines = given.split(b"\n")
    if len(lines) != 7 or lines[0] != FIRST:
        raise BadBillboard("Expected a billboard of two aggregators, got something else.")
    try:
        two, four, five, six = (bytes.fromhex(lines[at].decode("ascii")) for at in (2, 4, 5, 6))
    except ValueError:
        raise BadBillboard("Expected a billboard with signatures and keys in hexadecimal digits, got others.") from None
    return Billboard(lines[1], two, lines[3], four, (five, six))


@functools.lru_cache(maxsize=4)
def task(text: bytes) -> Task:
    """BadBillboard where the line is not exactly a task in its one form."""
    document = parsed(text, MODEL, TASK)
    need(canonical(document) == text, "a task in its one form")
    return Task.read(document)


def read(billboard: bytes) -> TwoServerBoard:
    """Its board, for simulation: nothing is verified."""
    parts = split(billboard)
    return boards.read(task(parts.task), parts.board)


def trusted(billboard: bytes, identities: Identities, now: float, marks: Marks) -> Trusted:
    """BadBillboard unless both have signed everything, nothing has expired, and nothing is older than the marks say."""
    parts = split(billboard)
    check_signatures(identities, identity.TASK, parts.task, parts.task_signatures)
    check_signatures(identities, identity.BOARD, parts.board, parts.board_signatures)
    made = task(parts.task)
    need(made.known == identities, "a task for the identities that the application has")
    board = boards.read(made, parts.board)
    digest = made.digest.hex()
    leader, helper = (
        sealing.checked(shown, made.digest, party, identities[party]) for party, shown in enumerate(parts.keys)
    )
    need(now < board.expires, "a board that has not expired")
    need(now < min(leader.until, helper.until), "sealing keys that have not expired")
    mark = BoardMark(board.version, boards.hashed(parts.board), (leader.since, helper.since))
    seen = marks.get(digest)
    if seen is not None:
        check_follows(seen, mark)
    return Trusted(board, (leader, helper), {**marks, digest: mark})


def check_follows(seen: BoardMark, mark: BoardMark) -> None:
    """BadBillboard where what a billboard has is older than what was seen, or another board of the same version."""
    need(seen.version <= mark.version, "a board that is no older than the last one")
    need(seen.version < mark.version or seen.board == mark.board, "one board of a version")
    need(all(a <= b for a, b in zip(seen.keys, mark.keys, strict=True)), "keys that are no older than the last")


def check_signatures(identities: Identities, kind: bytes, text: bytes, signatures: bytes) -> None:
    """BadBillboard unless both have signed that."""
    for at, one in enumerate(identities):
        identity.check(one, kind, text, signatures[at * SIGNATURE : (at + 1) * SIGNATURE])
    need(len(signatures) == 2 * SIGNATURE, "two signatures")
