"""A device's reports in the world: whether and when one leaves must tell nothing of the reward.

A report that is sent at the click is the click, and one that is not sent tells that there was none. So every choice
sends exactly one report, at a public deadline plus a jitter that is drawn when the choice is made, whether or not a
reward came; a later reward is dropped. What a report needs is on the disc before the choice is shown, and the bytes of
a report before they are sent: after a crash the same bytes are sent again, until they are acknowledged. The raw datum
is forgotten once its report is made.

The sum of a shuffled batch is private for one choice of a person: the first choice in a batch is reported, whatever
comes of it, and no other. So the numbers of the batches that were answered are kept for good."""

import contextlib
import fcntl
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacit import checks
from tacit.errors import BadReport, TooManyReports
from tacit.model.arms import Arms
from tacit.privacy import entropy
from tacit.privacy.randomness import System
from tacit.roles.device import NUMBERS, Device, DeviceChoice, within

WEEK = 7 * 86400.0  # seconds, as all times here
ANY = (-np.inf, np.inf)
LATER = (408, 425, 429)  # answers after which the same report may be sent again; and those from 500 on


@dataclass(frozen=True)
class Ticket:
    """What was chosen, and by which id its reward is told; reported: whether there is a report of it."""

    id: str
    index: int
    name: str | None
    reported: bool


@dataclass
class Item:
    """One choice. board, x and reward are there until the report is made; report: in hexadecimal digits."""

    id: str
    at: float
    due: float
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


class Store(Protocol):
    """What outlives the program."""

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
        return '{"items": [], "answered": []}'

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


class Outbox:
    """The choices of one device and their reports.

    open: the application's function from a billboard to its client, with its own limits.
    send: takes a report's bytes; True if it was taken, False if it never will be; OSError: later again.
    wait: seconds from a choice to its deadline; jitter: at most so much later its report leaves.
    weekly: the most reports in a week, whatever a server asks."""

    def __init__(
        self,
        store: Path | Store,
        *,
        open: Callable[[bytes], Device],
        send: Callable[[bytes], bool],
        wait: float,
        jitter: float,
        weekly: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        checks.size(wait=wait, jitter=jitter)
        checks.positive_int(weekly=weekly)
        self._store: Store = File(store) if isinstance(store, Path) else store
        self._open, self._send, self._clock = open, send, clock
        self._wait, self._jitter, self._weekly = wait, jitter, weekly

    def choose(
        self, billboard: bytes, arms: Arms | Any, *, actions: Any = None, available: npt.ArrayLike | None = None
    ) -> Ticket:
        """As Client.choose. TooManyReports: the device's own limit; then nothing was chosen, and nothing is sent."""
        with self._changing() as (items, answered):
            client = self._open(billboard)
            reported = client.batch is None or client.batch not in answered
            if reported and len(items) >= self._weekly:
                raise TooManyReports(f"Expected at most {self._weekly} reports in a week, got one more.")
            choice = client.choose(arms, actions=actions, available=available)
            at = self._clock()
            due = at + self._wait + self._jitter * float(System().uniforms(1)[0])
            new = Item(entropy.octets(8).hex(), at, due, billboard.decode("ascii"), choice._x.tolist())
            if reported:
                items.append(new)
                if client.batch is not None:
                    answered.append(client.batch)
        return Ticket(new.id, choice.index, choice.name, reported)

    def reward(self, id: str, reward: float) -> None:
        """A reward for a choice; the last one counts. After the deadline it is dropped, and nobody is told."""
        if not isinstance(reward, NUMBERS):
            raise ValueError(f"Expected a reward that is a number, got {type(reward).__name__}.")
        with self._changing() as (items, _):
            for item in items:
                if item.id == id and self._accepts(item):
                    item.reward = within(reward, ANY)

    def _accepts(self, item: Item) -> bool:
        return item.x is not None and self._clock() < item.at + self._wait

    def flush(self) -> None:
        """Make the reports whose time has come, and send those that nobody has acknowledged: to be called when the
        program starts and by a timer, never because of a reward."""
        with self._changing() as (items, _):
            for item in items:
                if item.x is not None and self._due(item):
                    self._make(item)
            ready = [(item.id, item.report) for item in items if item.report is not None and item.taken is None]
        for id, report in ready:
            taken = None
            with contextlib.suppress(OSError):
                taken = self._send(bytes.fromhex(report))
            with self._changing() as (items, _):
                for item in items:
                    if item.id == id:
                        item.sent, item.taken = item.sent or self._clock(), taken

    def _due(self, item: Item) -> bool:
        return item.due <= self._clock()

    def _make(self, item: Item) -> None:
        board, x = item.board, np.array(item.x)
        assert board is not None
        try:
            client = self._open(board.encode())
        except BadReport:  # the application has other limits now: nobody's datum decides that
            item.taken = False
        else:
            choice = DeviceChoice(0, None, x, lambda: 1.0)
            item.report = client.randomize(choice, item.reward).hex()
        item.board = item.x = item.reward = None

    def shown(self) -> list[Item]:
        """For the person: the reported choices of the last week, and the very bytes that were sent."""
        with self._changing() as (items, _):
            return items

    @contextlib.contextmanager
    def _changing(self) -> Iterator[tuple[list[Item], list[int]]]:
        """What is kept, choices and numbers of batches that were answered, changed as one."""
        with self._store.locked():
            kept = json.loads(self._store.read())
            if isinstance(kept, list):  # by 0.6.0
                kept = {"items": kept, "answered": []}
            items = [item for item in (Item(**each) for each in kept["items"]) if self._keeps(item)]
            yield items, kept["answered"]
            self._store.write(json.dumps({"items": [vars(item) for item in items], "answered": kept["answered"]}))

    def _keeps(self, item: Item) -> bool:
        return item.open or item.at > self._clock() - WEEK


def post(url: str, *, seconds: float = 30.0) -> Callable[[bytes], bool]:
    """To send by HTTP: no cookie goes along, and Python's name as the agent does."""

    def send(report: bytes) -> bool:
        headers = {"Content-Type": "application/octet-stream"}
        request = urllib.request.Request(url, data=report, method="POST", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=seconds):
                return True
        except urllib.error.HTTPError as answer:  # an OSError
            if answer.code >= 500 or answer.code in LATER:
                raise
            return False

    return send
