"""The shuffler: takes reports, forgets who sent what, and hands on one sum for each batch.

In memory and, sealed, on disk: the sum of the open batch and the ids of its reports. Nothing else of a report is kept,
and nothing of who sent it."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tacit.errors import BadReport, LateReport, TacitError, Unavailable
from tacit.privacy.budget import Budget
from tacit.roles import wire
from tacit.roles.shuffler import DUPLICATE, NEW, REASONS, Shuffler
from tacit.roles.wire import Parameters
from tacit.service.groups import Group
from tacit.service.roles.journal import OPEN, Batch, Journal
from tacit.service.roles.outbox import Outbox
from tacit.service.roles.role import Board, Events, acknowledged
from tacit.service.roles.sealing import Sealing
from tacit.service.roles.settings import Between

OPENERS = 2  # threads
Answer = list[str] | TacitError  # for each report "" or why it is refused; or why all of them are
SAID = tuple("" if verdict in (NEW, DUPLICATE) else reason for verdict, reason in enumerate(REASONS))


class ShufflerRole:
    """One thread commits, closes and opens batches; another one talks to the analyzer."""

    name, route = "shuffler", "reports"

    def __init__(self, setting: Between, waiting: int) -> None:
        self.setting, self.events = setting, Events()
        self._budget = Budget(setting.budget.epsilon, setting.budget.delta)
        self.journal = Journal(setting.durable, setting.keys)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="tacit shuffler")
        self._group: Group[bytes, Answer] = Group(self._commit, self._writer, waiting)
        self._openers = ThreadPoolExecutor(OPENERS, thread_name_prefix="tacit unseals")
        self._sealing: Sealing | None = None
        self._outbox = Outbox(self, setting)
        self._last: Batch | None = None
        self._open: Shuffler | None = None
        self._board: Board | None = None
        self._place, self._sure = 0, False  # rows of the journal; whether memory is what is on disk

    def open(self) -> None:
        if self.setting.sealed is not None:
            self._sealing = Sealing(Path(self.setting.sealed))
        self.journal.open()
        self._recover()
        self._outbox.start()

    def close(self) -> None:
        self._outbox.end()
        self._openers.shutdown(wait=True)
        self._writer.shutdown(wait=True)
        self.journal.close()

    # reports

    async def post(self, path: Sequence[str], body: bytes) -> bytes:
        if self._sealing is None:
            return acknowledged(await self._submitted(body))
        length = None if self._open is None else self._open.parameters.length
        opener = asyncio.get_running_loop().run_in_executor(self._openers, self._sealing.opened, body, length)
        reports = await opener
        good = b"".join(report for report in reports if report is not None)
        said = iter(await self._submitted(good) if good else ())
        return acknowledged(["out of range" if report is None else next(said) for report in reports])

    async def _submitted(self, body: bytes) -> list[str]:
        answer = await self._group.submit([body])[0]
        if isinstance(answer, TacitError):
            raise answer
        return answer

    def _commit(self, bodies: Sequence[bytes]) -> list[Answer]:
        """Reports that are good are counted once, and on disk when this returns. Each bad one is refused alone."""
        if not self._sure:
            self._recover()
        shuffler = self._open
        if shuffler is None:
            return [self._closed(body) for body in bodies]
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
        if len(intake.ids):
            self._sure = False  # until it is known that the journal has it
            self.journal.write(shuffler.parameters.batch, self._place, intake)
            shuffler.take(intake)
            self._place, self._sure = self._place + 1, True
            self.close_if_due()
        return [SAID[verdict] for verdict in verdicts]

    def _closed(self, body: bytes) -> TacitError:
        """Of a report that comes while no batch is open."""
        last = -1 if self._last is None else self._last.number
        head = body[: wire.REPORT.size]
        if len(head) == wire.REPORT.size and wire.REPORT.unpack(head)[3] <= last:
            return LateReport("Expected a report before its batch was closed, got one after.")
        return Unavailable("Expected an open batch, got none yet.")

    # batches: called by the thread that commits

    def close_if_due(self) -> None:
        """By the public rule: the planned number, or the time with at least the minimum."""
        shuffler, last = self._open, self._last
        if shuffler is None or last is None or shuffler.reports < shuffler.minimum:
            return
        after = self.setting.close_after
        if shuffler.reports >= shuffler.planned or (after is not None and time.time() >= last.opened + after):
            self._sure = False
            self.journal.finish(last.number, shuffler.reports, shuffler.close())
            self._recover()
            self.events.add(f"Batch {last.number} was closed; its key is destroyed.")
            self._outbox.wake()

    def begin(self, billboard: bytes) -> int | None:
        """Open the batch of that billboard; its number, if it or a later one has been open. BadBillboard if it asks for
        too much."""
        return self._writer.submit(self._begin, self._made(billboard), billboard).result()

    def _begin(self, made: Shuffler, billboard: bytes) -> int | None:
        if not self._sure:
            self._recover()
        number = made.parameters.batch
        if self._last is not None and number <= self._last.number:
            return number
        self._sure = False
        last = self.journal.begin(number, billboard)
        self._last, self._open, self._board, self._place, self._sure = last, made, Board.of(billboard), 0, True
        return None

    def _made(self, billboard: bytes) -> Shuffler:
        return Shuffler(billboard, minimum=self.setting.minimum, budget=self._budget)

    def _recover(self) -> None:
        """Read again where the batches stand."""
        last = self.journal.last()
        shuffler, board, place = None, None, 0
        if last is not None and last.state == OPEN:
            shuffler, board = self._made(last.billboard), Board.of(last.billboard)
            for intake in self.journal.read(last.number, shuffler.parameters.size):
                shuffler.take(intake)
                place += 1
        self._last, self._open, self._board, self._place, self._sure = last, shuffler, board, place, True

    def tick(self) -> None:
        """Now and then: the time may have come."""
        if self.setting.close_after is not None:
            self._writer.submit(self.close_if_due).result()

    # what may be shown: one report for each choice, so that their number is public; when each of them came is not

    def board(self) -> Board | None:
        return self._board

    def problem(self) -> str | None:
        return self._outbox.problem

    def status(self) -> dict[str, Any]:
        shuffler, last = self._open, self._last
        return {
            "role": self.name,
            "batch": None if last is None else last.number,
            "open": shuffler is not None,
            "reports": 0 if shuffler is None else _coarse(shuffler.reports, shuffler.planned),
            "planned": None if shuffler is None else shuffler.planned,
            "minimum": None if shuffler is None else shuffler.minimum,
            "epsilon": None if shuffler is None else shuffler.epsilon,
            "budget": {"epsilon": self._budget.epsilon, "delta": self._budget.delta},
            "close_after": self.setting.close_after,
            "key": None if self._sealing is None else self._sealing.public.hex(),
            "problem": self.problem(),
            "events": self.events.listed(),
        }

    def metrics(self) -> dict[str, tuple[str, float]]:
        found = self.status()
        return {
            "tacit_shuffler_batch": (
                "The batch that is open, or was last.",
                -1 if found["batch"] is None else found["batch"],
            ),
            "tacit_shuffler_open": ("1 if reports are taken.", found["open"]),
            "tacit_shuffler_reports": (
                "Reports in the open batch, in whole hundredths of the planned number.",
                found["reports"],
            ),
            "tacit_shuffler_ready": ("1 if nothing needs attention.", found["problem"] is None),
        }


def _coarse(reports: int, planned: int) -> int:
    """In hundredths of the planned number: who looks again and again does not see single reports come."""
    return reports - reports % max(1, planned // 100)


def _misfit(body: bytes, of: Parameters) -> TacitError | None:
    """What is wrong with a body that does not consist of whole reports of this batch's length."""
    if body and len(body) % of.length == 0:
        return None
    try:
        wire.decode_report(body[: of.length], of)
    except BadReport as error:
        return error
    return BadReport(f"Expected whole reports of {of.length} bytes each, got another length.")
