"""The batches of a shuffler, one after the other: in memory as on disk. One thread at a time."""

import contextlib
import hashlib
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from reticent.errors import BadReport, BadState, LateReport, ReticentError, Unavailable
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import sealed, wire
from reticent_devices.roles.shuffler import DUPLICATE, NEW, REASONS, Intake, Shuffler
from reticent_devices.roles.wire import Parameters
from reticent_devices.servers.journal import OPEN, Batch, Journal
from reticent_devices.servers.role import Board
from reticent_devices.servers.sealing import Identity, Opening, pieces
from reticent_devices.servers.settings import Between

Answer = list[str] | ReticentError  # for each report "" or why it is refused; or why all of them are
SAID = tuple("" if verdict in (NEW, DUPLICATE) else reason for verdict, reason in enumerate(REASONS))


class Batches:
    """`last`: the latest batch; `open`: its shuffler, `board` its billboard and, where reports are sealed, `opening`
    what opens them, while it is open. `confirmed`: whether the open batch is known not to have been closed before,
    which an older copy of the database does not know. closed, dropped: called with the number of a batch that was."""

    def __init__(self, setting: Between, closed: Callable[[int], None], dropped: Callable[[int], None]) -> None:
        self._setting, self._closed, self._dropped = setting, closed, dropped
        self._budget = setting.budget
        self.journal = Journal(setting.database, setting.keys, setting.witness, part=setting.part is not None)
        self.identity: Identity | None = None
        self.last: Batch | None = None
        self.open: Shuffler | None = None
        self.board: Board | None = None
        self.opening: Opening | None = None
        self.confirmed = False
        self._length = 0  # where it was needed
        self._parts: dict[str, bytes] = {}  # that have come: name -> digest
        self._place, self._sure = 0, False  # rows of the journal; whether memory is what is on disk

    def start(self) -> None:
        if self._setting.sealed is not None:
            self.identity = Identity(Path(self._setting.sealed))
        self.journal.open()
        self.recover()

    # reports

    def commit(self, bodies: Sequence[bytes]) -> list[Answer]:
        """Reports that are good are counted once, and on disk when this returns. Each bad one is refused alone."""
        shuffler = self._present()
        if shuffler is None:
            return [self.between(body, wire.number_in) for body in bodies]
        of = shuffler.parameters
        refused = [_misfit(body, of) for body in bodies]
        stream = b"".join(body for body, error in zip(bodies, refused, strict=True) if error is None)
        said = iter(self._counted(shuffler, stream))
        return [
            error or [next(said) for _ in range(len(body) // of.length)]
            for body, error in zip(bodies, refused, strict=True)
        ]

    def _counted(self, shuffler: Shuffler, stream: bytes) -> list[str]:
        if not stream:
            return []
        intake, verdicts = shuffler.check(stream)
        if intake.reports:
            self._take(shuffler, intake)
        return [SAID[verdict] for verdict in verdicts]

    def _take(self, shuffler: Shuffler, intake: Intake, part: tuple[str, bytes] | None = None) -> None:
        self._sure = False  # until it is known that the journal has it
        self.journal.write(shuffler.parameters.batch, self._place, intake, part)
        shuffler.take(intake)
        self._parts |= [part] if part else []
        self._place, self._sure = self._place + 1, True
        self.close_if_due()

    def between(self, body: bytes, number_in: Callable[[bytes], int]) -> ReticentError:
        """Of reports that come while no batch is open: too late, if all of them are surely of batches that are closed,
        else they have to come again. number_in: of the batch that a report is for."""
        length = self._length_of_last()
        with contextlib.suppress(BadReport):
            whole = self.open is None and length and len(body) % length == 0
            if whole and all(self._over(number_in(piece)) for piece in pieces(body, length)):
                return LateReport("Expected a report before its batch was closed, got one after.")
        return Unavailable("Expected an open batch, got none yet.")

    def _length_of_last(self) -> int:
        """Of each report of the latest batch as it comes; 0 where that is unknown."""
        if not self._length and self.last is not None:
            with contextlib.suppress(BadReport):
                longer = 0 if self.identity is None else sealed.LONGER
                self._length = boards.batch(self.last.billboard)[0].length + longer
        return self._length

    def _over(self, number: int) -> bool:
        return number <= max(self.journal.closed, -1 if self.last is None else self.last.number)

    # parts of a batch, which other shufflers hand over to the one that closes it

    def add_part(self, number: int, name: str, message: bytes) -> None:
        """Once: the same message again changes nothing, another one is refused."""
        shuffler, digest = self._present(), hashlib.sha256(message).digest()
        if shuffler is None or shuffler.parameters.batch != number:
            if self._over(number):
                raise LateReport("Expected a part before its batch was closed, got one after.")
            raise Unavailable("Expected a part of the open batch, got one of a later one.")
        if name in self._parts:
            if self._parts[name] != digest:
                raise BadState(f"Expected the part that {name} handed over before, got another.")
            return
        reports, sums = wire.decode_batch(message, shuffler.parameters)
        self._take(shuffler, Intake.without_ids(sums, reports), (name, digest))

    # batches

    def close_if_due(self) -> None:
        """By the public rule: the planned number and all parts, or the time with at least the minimum."""
        shuffler, last, after = self._present(), self.last, self._setting.close_after
        if shuffler is None or last is None or not self.confirmed or shuffler.reports < shuffler.minimum:
            return
        full = shuffler.reports >= self.planned and self._parts.keys() >= set(self._setting.parts)
        if full or (after is not None and time.time() >= last.opened + after):
            self._sure = False
            self.journal.finish(last.number, shuffler.reports, shuffler.close())
            self.recover()
            self._closed(last.number)

    @property
    def planned(self) -> int:
        """Reports at which the open batch, or this shuffler's share of it, is full."""
        return 0 if self.open is None else math.ceil(self._setting.share * self.open.planned)

    def made(self, billboard: bytes) -> Shuffler:
        """A shuffler for the batch of that billboard; BadBillboard if it asks for more than the operator allows. A part
        may have few reports: their number is for the one that closes the batch to check."""
        setting = self._setting
        assert setting.malicious is not None
        out = Shuffler(billboard, minimum=setting.minimum, budget=self._budget, malicious=setting.malicious)
        if self._setting.part is not None:
            out.minimum = 1
        return out

    def begin(self, made: Shuffler, billboard: bytes) -> int | None:
        """Open that batch; its number, if it or a later one has been open."""
        self._present()
        number = made.parameters.batch
        if self._over(number):
            return number
        self._sure = False
        last = self.journal.begin(number, billboard)
        self._set(last, made, billboard, 0, {})
        self.confirmed = True
        return None

    def confirm(self, wanted: int | None) -> None:
        """That the analyzer wants batch `wanted`, or none any more: then the open one, if it is earlier, has been
        handed over, and this is an older copy of the database."""
        shuffler = self._present()
        if shuffler is None:
            return
        if wanted is None or wanted > shuffler.parameters.batch:
            self._drop(shuffler.parameters.batch)
        self.confirmed = True
        self.close_if_due()

    def _drop(self, number: int) -> None:
        self._sure = False
        self.journal.drop(number)
        self._dropped(number)

    def recover(self) -> None:
        """Read again where the batches stand."""
        last = self.journal.last()
        if last is not None and last.state == OPEN and last.number <= self.journal.closed:
            self._drop(last.number)
            last = self.journal.last()
        if last is None or last.state != OPEN:
            self._set(last, None, b"", 0, {})
            return
        shuffler = self.made(last.billboard)
        rows = self.journal.read(last.number, shuffler.parameters.size)
        for intake in rows:
            shuffler.take(intake)
        self._set(last, shuffler, last.billboard, len(rows), self.journal.parts(last.number))

    def _present(self) -> Shuffler | None:
        if not self._sure:
            self.recover()
        return self.open

    def _set(
        self, last: Batch | None, shuffler: Shuffler | None, billboard: bytes, place: int, parts: dict[str, bytes]
    ) -> None:
        self.opening, self._length = None, 0
        if shuffler is not None and self.identity is not None:
            self.opening = self.identity.batch(shuffler.parameters, self.journal.secret(shuffler.parameters.batch))
        self.board = None if shuffler is None else Board.of(billboard)
        self.last, self.open, self._place, self._parts, self._sure = last, shuffler, place, parts, True


def _misfit(body: bytes, of: Parameters) -> ReticentError | None:
    """What is wrong with a body that does not consist of whole reports of this batch's length."""
    if body and len(body) % of.length == 0:
        return None
    try:
        wire.decode_report(body[: of.length], of)
    except BadReport as error:
        return error
    return BadReport(f"Expected whole reports of {of.length} bytes each, got another length.")
