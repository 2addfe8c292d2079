"""What outlives a device's program: its choices and reports, and the ledger of all that the person told, each in a file
of its own."""

import contextlib
import fcntl
import hmac
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from reticent.privacy import randomness
from reticent_devices.roles.account import REPORT, Charge
from reticent_devices.roles.device import CHOICE_BYTES

KEY = 32  # bytes
LABEL = b"reticent report id 1"


@dataclass
class Item:
    """One choice and what its report costs. report_id, board (its digest), x and reward are there until the report is
    made; report: in hexadecimal digits."""

    id: str
    server: str
    at: float
    due: float
    epsilon: float
    delta: float
    batch: int | None
    report_id: str | None
    board: str | None
    x: list[float] | None
    reward: float | None = None
    report: str | None = None
    sent: float | None = None  # when first
    taken: bool | None = None  # acknowledged; False: refused for good

    @property
    def open(self) -> bool:
        """Whether something is still to be done."""
        return self.x is not None or (self.report is not None and self.taken is None)

    @property
    def entry(self) -> Charge:
        return Charge(self.server, REPORT, self.batch, self.epsilon, self.delta)


@dataclass
class OutboxState:
    """All that outlives the program. boards: by their digests, each once, as long as a choice needs it. answered: for
    each server, the batches that a choice was reported to, for good. key: the device's own, in hexadecimal digits, from
    which the ids of reports follow; drawn with the first choice. ledger: the person's, in another file (`entries`);
    refunds: what is to be taken out of it once this is on the disc."""

    items: list[Item]
    boards: dict[str, str]
    answered: dict[str, list[int]]
    key: str | None = None
    ledger: list[Charge] = field(default_factory=list)
    refunds: list[Charge] = field(default_factory=list)

    @classmethod
    def read(cls, text: str) -> "OutboxState":
        given = json.loads(text or '{"items": [], "boards": {}, "answered": {}}')
        items = [Item(**each) for each in given["items"]]
        return cls(items, given["boards"], given["answered"], given.get("key"))

    def text(self) -> str:
        needed = {item.board for item in self.items}
        boards = {digest: board for digest, board in self.boards.items() if digest in needed}
        lasting = {"answered": self.answered, "key": self.key}
        return json.dumps({"items": [vars(item) for item in self.items], "boards": boards, **lasting})

    def report_id(self, board: bytes, choice: bytes) -> bytes:
        """For a choice's id and its billboard's digest: a function of these and the device's key, so that a report
        which is made again has it again, and that nobody else can choose, guess or link to another server."""
        self.key = self.key or randomness.octets(KEY).hex()
        return hmac.digest(bytes.fromhex(self.key), LABEL + board + choice, "sha256")[:CHOICE_BYTES]

    def drop(self, item: Item) -> None:
        """Nothing of it is sent any more. If its report was never made, it costs nothing."""
        self.items.remove(item)
        if item.x is not None:
            self.refunds.append(item.entry)


def entries(text: str) -> list[Charge]:
    """Of a ledger."""
    return [Charge(**each) for each in json.loads(text or "[]")]


def written(ledger: Iterable[Charge]) -> str:
    return json.dumps([vars(entry) for entry in ledger])


def own_ledger() -> Path:
    """Of the user of this system, in a folder that is made."""
    home = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "reticent"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home / "told.ledger"


class Store(Protocol):
    """Where it is kept: a text, "" at first."""

    def locked(self) -> contextlib.AbstractContextManager[None]: ...
    def read(self) -> str: ...
    def write(self, text: str) -> None: ...


class File:
    """A file that only its owner may read; it is replaced at once, and is on the disc before `write` returns."""

    def __init__(self, path: Path) -> None:
        self._path = Path(path)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        descriptor = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def read(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return self._path.read_text()
        return ""

    def write(self, text: str) -> None:
        new = f"{self._path}.new"
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._path)
        folder = os.open(self._path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
