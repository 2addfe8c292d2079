"""The analyzer: shows the billboard and takes the shuffled sum of each batch, once. It sees no report."""

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from reticent.errors import BadState
from reticent_devices.bandits.server import Server
from reticent_devices.bandits.shuffle.server import BehindShuffler
from reticent_devices.servers.role import OVER, Board, Events, number_in
from reticent_devices.servers.stored_server import StoredServer
from reticent_serve.service.errors import Reply

TABLE = "CREATE TABLE IF NOT EXISTS batch (number BIGINT PRIMARY KEY, digest BLOB, reports BIGINT)"


class AnalyzerRole:
    """On disk: the server's state, made of shuffled sums; the billboard; of each batch a digest of its message."""

    name = "analyzer"

    def __init__(self, server: Server, database: str) -> None:
        self.routes = {"batches": True}
        self._stored, self.events = StoredServer(server, database, TABLE, describe), Events()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reticent analyzer")

    def open(self) -> None:
        self._stored.open()

    def close(self) -> None:
        self._writer.shutdown(wait=True)
        self._stored.close()

    async def post(self, route: str, path: Sequence[str], body: bytes, asker: str) -> bytes:
        number = number_in(path)
        await asyncio.get_running_loop().run_in_executor(self._writer, self.take, number, body)
        return msgspec.json.encode({"batch": number})

    def take(self, number: int, message: bytes) -> None:
        """Analyze the batch, unless it has been. The same message again changes nothing; another one for the same batch
        is refused, and so is a batch that has too few reports, or that is not the present one."""
        digest = hashlib.sha256(message).digest()
        with self._stored.database.transaction() as run:
            found = run("SELECT digest FROM batch WHERE number = ?", number)
        if found:
            if found[0][0] != digest:
                raise BadState(f"Expected the message that batch {number} was analyzed by, got another.")
            return
        before = self._stored.current()
        version, users = before.version, before.users
        if number != version:
            raise Reply(425, f"Expected batch {version} first.")
        with self._stored.changing() as run:
            self._stored.server.observe(message)
            given = number, digest, self._stored.server.users - users
            run("INSERT INTO batch (number, digest, reports) VALUES (?, ?, ?)", *given)
        self.events.add(f"Batch {number} was analyzed.")

    # what may be shown

    def board(self) -> Board | Reply:
        """410 after the last batch: devices would report for nothing."""
        return Reply(410, OVER) if self._stored.description["over"] else self._stored.board

    def problem(self) -> str | None:
        return OVER if self._stored.description["over"] else None

    def status(self) -> dict[str, Any]:
        return {"role": self.name, **self._stored.description, "events": self.events.listed()}

    def metrics(self) -> dict[str, tuple[str, float]]:
        found = self.status()
        return {
            "reticent_analyzer_batches": ("Batches analyzed so far.", found["batch"]),
            "reticent_analyzer_users": ("Users whose reports are in them.", found["users"]),
            "reticent_analyzer_epsilon_spent": ("What the batches so far have cost each user.", found["spent"] or 0.0),
        }


def describe(server: Server, board: dict[str, Any]) -> dict[str, Any]:
    """Functions of shuffled sums and of the plan."""
    assert isinstance(server, BehindShuffler)
    privacy = server.privacy
    return {
        "bandit": type(server).__name__,
        "batch": server.version,
        "users": server.users,
        "wanted": board["plan"]["users"],
        "minimum": board["plan"]["minimum"],
        "over": server.over,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "spent": privacy.spent,
        "malicious": server.malicious,
        "unit": privacy.unit,
        "neighbours": privacy.neighbours,
        "theta": board["theta"],
    }
