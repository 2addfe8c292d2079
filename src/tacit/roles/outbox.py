"""A device's reports in the world: whether and when one leaves must tell nothing of the reward.

A report that is sent at the click is the click, and one that is not sent tells that there was none. So every choice
sends exactly one report, at a public deadline plus a jitter that is drawn when the choice is made, whether or not a
reward came; a later reward is dropped. What a report needs is on the disc before the choice is shown, and the bytes of
a report before they are sent: after a crash the same bytes are sent again, until they are acknowledged or a week is
over. The raw datum is forgotten once its report is made. A report has the id that was drawn with its choice: if a copy
of the file makes it again, it counts once. That protects the count, not the person: a copy draws new noise for the same
datum, and no ledger sees both.

The sum of a shuffled batch is private for one choice of a person: the first choice in a batch is reported, whatever
comes of it, and no other. So the numbers of the batches that were answered are kept for good."""

import contextlib
import fcntl
import hashlib
import http.client
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
from tacit.errors import BadReport, BadState, TooManyReports
from tacit.model.arms import Arms
from tacit.privacy import entropy
from tacit.privacy.budget import Budget
from tacit.privacy.randomness import System
from tacit.roles.device import NUMBERS, Device, DeviceChoice, within
from tacit.roles.ledger import DISPLAY, REPORT, Charge, Spent, charged, composed, refunded

WEEK = 7 * 86400.0  # seconds, as all times here
ANY = (-np.inf, np.inf)
LATER = (408, 425, 429)  # answers after which the same report may be sent again; and those from 500 on


@dataclass(frozen=True)
class ReportTicket:
    """What was chosen, and by which id its reward is told; reported: whether there is a report of it."""

    id: str
    index: int
    name: str | None
    reported: bool


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
    each server, the batches that a choice was reported to, for good."""

    items: list[Item]
    boards: dict[str, str]
    ledger: list[Charge]
    answered: dict[str, list[int]]

    @classmethod
    def read(cls, text: str) -> "OutboxState":
        given = json.loads(text or '{"items": [], "boards": {}, "ledger": [], "answered": {}}')
        if not isinstance(given, dict):
            raise BadState(
                "Expected an outbox of this release, got one of 0.6.0 or before: let that release send what waits in "
                "it, then delete the file."
            )
        items, ledger = [Item(**each) for each in given["items"]], [Charge(**each) for each in given["ledger"]]
        return cls(items, given["boards"], ledger, given["answered"])

    def text(self) -> str:
        needed = {item.board for item in self.items}
        boards = {digest: board for digest, board in self.boards.items() if digest in needed}
        items, ledger = [vars(item) for item in self.items], [vars(entry) for entry in self.ledger]
        return json.dumps({"items": items, "boards": boards, "ledger": ledger, "answered": self.answered})

    def drop(self, item: Item) -> None:
        """Nothing of it is sent any more. If its report was never made, it costs nothing."""
        self.items.remove(item)
        if item.x is not None:
            self.ledger = refunded(self.ledger, item.entry)


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


class Outbox:
    """The choices of one device and their reports to one server.

    store: the device's file; several outboxes, each with its own `name`, share it and its ledger.
    open: the application's function from a billboard to its client, with its own limits.
    send: takes a report's bytes; True if it was taken, False if it never will be; OSError or HTTPException: later
    again, for a week.
    wait: seconds from a choice to its deadline; jitter: at most so much later its report leaves.
    weekly: the most reports in a week; lifetime: the most that this device ever tells, of all servers together
    (roles.ledger): both whatever a server asks.
    floor: with this probability a choice is a uniformly drawn arm, at a cost that is counted (Device.choose).
    name: of the server, in the ledger."""

    def __init__(
        self,
        store: Path | Store,
        *,
        open: Callable[[bytes], Device],
        send: Callable[[bytes], bool],
        wait: float,
        jitter: float,
        weekly: int,
        lifetime: Budget,
        floor: float = 0.0,
        name: str = "tacit",
        clock: Callable[[], float] = time.time,
    ) -> None:
        checks.size(wait=wait, jitter=jitter)
        checks.positive_int(weekly=weekly)
        if not isinstance(lifetime, Budget):
            raise ValueError(f"Expected lifetime to be a Budget, got {type(lifetime).__name__}.")
        self._store: Store = File(store) if isinstance(store, Path) else store
        self._open, self._send, self._clock = open, send, clock
        self._wait, self._jitter, self._weekly, self._lifetime = wait, jitter, weekly, lifetime
        self._floor, self._name = floor, name

    def choose(
        self, billboard: bytes, arms: Arms | Any, *, actions: Any = None, available: npt.ArrayLike | None = None
    ) -> ReportTicket:
        """As Client.choose. TooManyReports and LifetimeSpent: the device's own limits; then nothing was chosen, and
        nothing is sent."""
        client = self._open(billboard)
        choice = client.choose(arms, actions=actions, available=available, floor=self._floor)
        at, text = self._clock(), billboard.decode("ascii")
        due = at + self._wait + self._jitter * float(System().uniforms(1)[0])
        board = hashlib.sha256(billboard).hexdigest()
        ids = entropy.octets(8).hex(), choice.report_id.hex()
        if client.cost is None:
            raise ValueError("Expected a client with noise for people's data, got one for simulation.")
        cost = client.cost.epsilon, client.cost.delta, client.batch
        new = Item(ids[0], self._name, at, due, *cost, ids[1], board, choice.features.tolist())
        with self._changing() as state:
            answered = state.answered.setdefault(self._name, [])
            reported = client.batch is None or client.batch not in answered
            if reported and sum(item.at > at - WEEK for item in self._own(state)) >= self._weekly:
                raise TooManyReports(f"Expected at most {self._weekly} reports in a week, got one more.")
            costs = [new.entry] * reported
            if choice.displayed is not None:
                costs.append(Charge(self._name, DISPLAY, None, choice.displayed, 0.0))
            state.ledger = charged(state.ledger, costs, self._lifetime)
            if reported:
                state.boards[board] = text
                state.items.append(new)
                if client.batch is not None:
                    answered.append(client.batch)
        return ReportTicket(new.id, choice.index, choice.name, reported)

    def reward(self, id: str, reward: float) -> None:
        """A reward for a choice; the last one counts. After the deadline it is dropped, and nobody is told."""
        if not isinstance(reward, NUMBERS):
            raise ValueError(f"Expected a reward that is a number, got {type(reward).__name__}.")
        with self._changing() as state:
            for item in self._own(state):
                if item.id == id and self._accepts(item):
                    item.reward = within(reward, ANY)

    def _accepts(self, item: Item) -> bool:
        return item.x is not None and self._clock() < item.at + self._wait

    def flush(self) -> None:
        """Make the reports whose time has come, and send those that nobody has acknowledged: to be called when the
        program starts and by a timer, never because of a reward."""
        with self._changing() as state:
            for item in self._own(state):
                if item.x is not None and self._due(item):
                    self._make(item, state)
            ready = [(item.id, item.report) for item in self._own(state) if item.report and item.taken is None]
        for id, report in ready:
            taken = None
            with contextlib.suppress(OSError, http.client.HTTPException):
                taken = self._send(bytes.fromhex(report))
            with self._changing() as state:
                for item in self._own(state):
                    if item.id == id and item.taken is None:
                        item.sent, item.taken = item.sent or self._clock(), taken

    def _due(self, item: Item) -> bool:
        return item.due <= self._clock()

    def _make(self, item: Item, state: OutboxState) -> None:
        """The finished report, to be kept before anything is sent."""
        assert item.board is not None and item.report_id is not None
        try:
            client = self._open(state.boards[item.board].encode())
        except BadReport:  # the application has other limits now: nobody's datum decides that
            item.taken = False
            state.ledger = refunded(state.ledger, item.entry)
        else:
            choice = DeviceChoice(0, None, np.array(item.x), lambda: 1.0, bytes.fromhex(item.report_id))
            item.report = client.randomize(choice, item.reward).hex()
        item.report_id = item.board = item.x = item.reward = None

    def shown(self) -> list[Item]:
        """For the person: the reported choices of the last week, and the very bytes that were sent."""
        with self._changing() as state:
            return self._own(state)

    def spent(self) -> Spent:
        """For the person: what this device has told in its life, to all servers."""
        with self._changing() as state:
            return composed(state.ledger)

    def forget(self) -> None:
        """Delete all choices and reports. What was not sent never will be; what was told stays in the ledger."""
        with self._changing() as state:
            for item in self._own(state):
                state.drop(item)

    def _own(self, state: OutboxState) -> list[Item]:
        return [item for item in state.items if item.server == self._name]

    @contextlib.contextmanager
    def _changing(self) -> Iterator[OutboxState]:
        """What is kept, changed as one."""
        with self._store.locked():
            state = OutboxState.read(self._store.read())
            for item in list(state.items):
                if (item.due if item.open else item.at) <= self._clock() - WEEK:
                    state.drop(item)
            yield state
            self._store.write(state.text())


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
