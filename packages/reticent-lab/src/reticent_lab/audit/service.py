"""The service for attacks: the real application on an SQLite file of its own, asked in this process as by a network."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from reticent_serve.service import config

NAME = "attacked"
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # nobody waits for a disc there
SOON = 0.002  # seconds between looks
TOO_OFTEN = 429
PATIENCE = 30.0  # seconds for a release

WINDOW = 60  # seconds, of a clock of the attack's own


class Ask:
    """In this process: (route, body) -> what the reply holds; no body for GET, a list of lines for a batch."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, route: str, body: Any = None) -> Any:
        return await _asked(self._app, route, body)

    async def passed(self) -> None:
        """The deadlines of all choices so far have passed, and what is due is done."""
        self._app.clock.now += WINDOW + 1.0
        await asyncio.to_thread(self._app.served[NAME].stored.tend)


class Clock:
    """Stands still unless told."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="reticent-audit-", dir=MEMORY) as name:
        yield Path(name)


@contextlib.contextmanager
def opened(setting: dict[str, Any], place: Path) -> Iterator[Ask]:
    """The service on the database in that folder, a new one or one that is there: then this is a restart."""
    from reticent_serve.service.app import Application

    own = {"database": "bandit.db", "delay": 0.0, "reward": {"window": f"{WINDOW} seconds"}}
    document = {"bandits": {NAME: own | setting}}
    app = Application(config.placed(config.convert(document), place), Clock(1e9))
    app.open()
    try:
        yield Ask(app)
    finally:
        app.close()


async def version(ask: Ask, least: int) -> Any:
    """The estimate, from that many releases on."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await ask("estimate")
            if found is not None and found["version"] >= least:
                return found
            await asyncio.sleep(SOON)


async def _asked(app: Any, route: str, body: Any) -> Any:
    """What the reply holds; a list for a batch, whose body is a list; None for one who asks too often."""
    path = f"/v1/bandits/{NAME}/{route}"
    batch = isinstance(body, list)
    text = b"" if body is None else b"\n".join(map(msgspec.json.encode, body if batch else [body]))
    scope: dict[str, Any] = {"type": "http", "method": "GET" if body is None else "POST", "path": path}
    scope |= {"headers": [(b"content-type", b"application/json")], "raw_path": path.encode(), "query_string": b""}
    scope |= {"http_version": "1.1", "scheme": "http", "root_path": ""}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": text}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    status, reply = sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])
    if status == TOO_OFTEN:
        return None
    if status != 200:
        raise ValueError(f"Expected a reply of status 200 to {route}, got {status}.")
    lines: Sequence[bytes] = reply.splitlines() if batch else [reply]
    found = [msgspec.json.decode(line) for line in lines]
    return found if batch else found[0]
