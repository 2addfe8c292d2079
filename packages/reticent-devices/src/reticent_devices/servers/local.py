"""The server of the local model: takes reports that are private by themselves, each once, also after a restart."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from reticent.errors import BadReport, DuplicateReport, ReticentError, WrongBatch
from reticent_devices.bandits.server import Server
from reticent_devices.roles.device import ID_BYTES
from reticent_devices.servers.role import Board, Events, acknowledged
from reticent_devices.servers.stored_server import StoredServer
from reticent_serve.holders.database import Run
from reticent_serve.service.groups import Group

TABLE = "CREATE TABLE IF NOT EXISTS report (id BLOB PRIMARY KEY)"
Answer = list[str] | ReticentError


class LocalRole:
    """On disk: the server's state, made of randomised reports, and the ids of all reports."""

    name = "local"

    def __init__(self, server: Server, database: str, waiting: int) -> None:
        self.routes = {"reports": False}
        self._stored, self.events = StoredServer(server, database, TABLE, describe), Events()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reticent local")
        self._group: Group[bytes, Answer] = Group(self._commit, self._writer, waiting)
        self._claim = server.privacy
        self.length = len(server.device().report(np.zeros(server.dim), None))  # of every report

    def open(self) -> None:
        self._stored.open()

    def close(self) -> None:
        self._writer.shutdown(wait=True)
        self._stored.close()

    async def post(self, route: str, path: Sequence[str], body: bytes, asker: str) -> bytes:
        if not body or len(body) % self.length:
            raise BadReport(f"Expected whole reports of {self.length} bytes each, got another length.")
        answer = await self._group.submit([body])[0]
        if isinstance(answer, ReticentError):
            raise answer
        return acknowledged(answer)

    def _commit(self, bodies: Sequence[bytes]) -> list[Answer]:
        with self._stored.changing() as run:
            return [
                [self._take(run, body[at : at + self.length]) for at in range(0, len(body), self.length)]
                for body in bodies
            ]

    def _take(self, run: Run, report: bytes) -> str:
        """ "", or why it is refused. What is there already by its id counted before."""
        identity = report[1 : 1 + ID_BYTES]
        if not run("INSERT INTO report (id) VALUES (?) ON CONFLICT DO NOTHING RETURNING 1", identity):
            return ""
        try:
            self._stored.server.observe(report)
        except DuplicateReport:
            return ""
        except BadReport as error:
            run("DELETE FROM report WHERE id = ?", identity)
            return "wrong batch" if isinstance(error, WrongBatch) else "out of range"
        return ""

    # what may be shown: one report for each choice, so their number is public

    def board(self) -> Board:
        return self._stored.board

    def problem(self) -> str | None:
        return None

    def status(self) -> dict[str, Any]:
        told = self._claim
        claim = {"epsilon": told.epsilon, "delta": told.delta, "noise": told.releases[0].name}
        claim |= {"unit": told.unit, "neighbours": told.neighbours}
        return {"role": self.name, **self._stored.description, **claim, "events": self.events.listed()}

    def metrics(self) -> dict[str, tuple[str, float]]:
        found = self.status()
        return {
            "reticent_local_reports": ("Reports taken so far.", found["users"]),
            "reticent_local_version": ("Billboards published so far.", found["version"]),
            "reticent_local_epsilon": ("What one report costs its user.", found["epsilon"] or 0.0),
        }


def describe(server: Server, board: dict[str, Any]) -> dict[str, Any]:
    """Functions of reports that are private by themselves."""
    found = {"bandit": type(server).__name__, "users": server.users, "version": server.version}
    return found | {"theta": board["theta"]}
