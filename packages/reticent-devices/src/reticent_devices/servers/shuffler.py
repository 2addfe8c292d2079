"""The shuffler: takes reports, forgets who sent what, and hands on one sum for each batch.

In memory and, sealed, on disk: the sum of the open batch and the ids of its reports. Nothing else of a report is kept,
and nothing of who sent it."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from reticent.errors import ReticentError
from reticent.privacy.relations import REPLACE
from reticent_devices.roles import sealed
from reticent_devices.servers.batches import Answer, Batches
from reticent_devices.servers.outbox import BatchOutbox
from reticent_devices.servers.role import BETWEEN, OVER, Board, Events, acknowledged, number_in
from reticent_devices.servers.settings import Between
from reticent_serve.service.errors import Reply
from reticent_serve.service.groups import Group

OPENERS = 2  # threads


class ShufflerRole:
    """One thread commits, closes and opens batches; another one talks to the analyzer."""

    name = "shuffler"

    def __init__(self, setting: Between, waiting: int) -> None:
        self.setting, self.events = setting, Events()
        self.routes = {"reports": False} | ({"parts": True} if setting.parts else {})
        self._batches = Batches(setting, self._closed, self._dropped)
        self.journal = self._batches.journal
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reticent shuffler")
        self._group: Group[bytes, Answer] = Group(self._batches.commit, self._writer, waiting)
        self._openers = ThreadPoolExecutor(OPENERS, thread_name_prefix="reticent unseals")
        self._outbox = BatchOutbox(self, setting)

    def open(self) -> None:
        self._batches.start()
        self._outbox.start()

    def close(self) -> None:
        self._outbox.end()
        self._openers.shutdown(wait=True)
        self._writer.shutdown(wait=True)
        self.journal.close()

    async def post(self, route: str, path: Sequence[str], body: bytes, asker: str) -> bytes:
        if route == "parts":
            return await self._part(path, body, asker)
        if self.setting.sealed is None:
            return acknowledged(await self._submitted(body))
        opening = self._batches.opening
        if opening is None:
            raise await self._in(self._writer, self._batches.between, body, sealed.number_in)
        reports = await self._in(self._openers, opening.opened, body)
        good = b"".join(report for report in reports if isinstance(report, bytes))
        said = iter(await self._submitted(good) if good else ())
        return acknowledged([next(said) if isinstance(report, bytes) else report for report in reports])

    async def _submitted(self, body: bytes) -> list[str]:
        answer = await self._group.submit([body])[0]
        if isinstance(answer, ReticentError):
            raise answer
        return answer

    async def _part(self, path: Sequence[str], body: bytes, asker: str) -> bytes:
        """Of another shuffler, whose key has its name."""
        number, name = number_in(path[:1]), "/".join(path[1:])
        if name not in self.setting.parts or asker not in ("", name):
            raise Reply(404, "Expected /parts/NUMBER/NAME with the name of a part of this shuffler, and its key.")
        await self._in(self._writer, self._batches.add_part, number, name, body)
        return b"{}"

    async def _in(self, threads: ThreadPoolExecutor, work: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(threads, work, *arguments)

    # what the outbox asks for

    def begin(self, billboard: bytes) -> int | None:
        """Open the batch of that billboard; its number, if it or a later one has been open. BadBillboard if it asks for
        too much."""
        made = self._batches.made(billboard)
        return self._writer.submit(self._batches.begin, made, billboard).result()

    def unconfirmed(self) -> bool:
        """Whether the open batch was found on disk, and the analyzer has not been asked yet which one it wants."""
        return self._batches.open is not None and not self._batches.confirmed

    def confirm(self, wanted: int | None) -> None:
        self._writer.submit(self._batches.confirm, wanted).result()

    def tick(self) -> None:
        """Now and then: the time may have come."""
        if self.setting.close_after is not None:
            self._writer.submit(self._batches.close_if_due).result()

    def _closed(self, number: int) -> None:
        self.events.add(
            f"Batch {number} was closed" + ("; its key is destroyed." if self.setting.part is None else ".")
        )
        self._outbox.wake()

    def _dropped(self, number: int) -> None:
        self.events.add(
            f"Batch {number} was open in the database, but had been closed before: this is an older copy. Its reports "
            "are dropped, and nothing of them is handed over."
        )

    # what may be shown: one report for each choice, so that their number is public; when each of them came is not

    def board(self) -> Board | Reply:
        return self._batches.board or (Reply(410, OVER) if self._outbox.over else Reply(503, BETWEEN))

    def key(self) -> bytes | Reply:
        """Of the open batch, for devices that seal."""
        if self.setting.sealed is None:
            return Reply(404, "Expected a shuffler of sealed reports, got one without.")
        board, opening = self.board(), self._batches.opening
        if isinstance(board, Reply):
            return board
        return Reply(503, BETWEEN) if opening is None else opening.shown

    def problem(self) -> str | None:
        return self._outbox.problem

    def status(self) -> dict[str, Any]:
        shuffler, last, budget = self._batches.open, self._batches.last, self.setting.budget
        planned, identity = self._batches.planned, self._batches.identity
        return {
            "role": self.name,
            "batch": None if last is None else last.number,
            "open": shuffler is not None,
            "confirmed": self._batches.confirmed,  # False: found on disk, and it closes once the analyzer was asked
            "reports": 0 if shuffler is None else _coarse(shuffler.reports, planned),
            "planned": None if shuffler is None else planned,
            "minimum": None if shuffler is None else shuffler.minimum,
            "epsilon": None if shuffler is None else shuffler.epsilon,
            "budget": {"epsilon": budget.epsilon, "delta": budget.delta},
            "neighbours": REPLACE,  # no report that it takes holds anything beside coins
            "close_after": self.setting.close_after,
            "malicious": self.setting.malicious,
            "identity": None if identity is None else identity.public.hex(),
            "problem": self.problem(),
            "events": self.events.listed(),
        }

    def metrics(self) -> dict[str, tuple[str, float]]:
        found = self.status()
        number, coarse = found["batch"], "Reports in the open batch, in whole hundredths of the planned number."
        return {
            "reticent_shuffler_batch": ("The batch that is open, or was last.", -1 if number is None else number),
            "reticent_shuffler_open": ("1 if reports are taken.", found["open"]),
            "reticent_shuffler_reports": (coarse, found["reports"]),
            "reticent_shuffler_ready": ("1 if nothing needs attention.", found["problem"] is None),
        }


def _coarse(reports: int, planned: int) -> int:
    """In hundredths of the planned number: who looks again and again does not see single reports come."""
    return reports - reports % max(1, planned // 100)
