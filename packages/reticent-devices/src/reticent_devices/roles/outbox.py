"""A device's reports in the world: whether and when one leaves must tell nothing of the reward.

A report that is sent at the click is the click, and one that is not sent tells that there was none. So every choice
sends exactly one report, at a public deadline plus a jitter that is drawn when the choice is made, whether or not a
reward came; a later reward is dropped. Whoever clicks leaves the page: a report that left in the visit of its choice
would tell who did not. So it leaves in the first visit that begins after its time, and if it is not acknowledged, again
in later ones, at their beginning.

What a report needs is on the disc before the choice is shown, and the bytes of a report before they are sent: after a
crash the same bytes are sent again, until they are acknowledged or a week is over. The raw datum is forgotten once its
report is made. The id of a report follows from the device's key and its choice's id: if a copy of the file makes it
again, it counts once. That protects the count, not the person: a copy draws new noise for the same datum, and no ledger
sees both.

The sum of a shuffled batch is private for one choice of a person: the first choice in a batch is reported, whatever
comes of it, and no other. So the numbers of the batches that were answered are kept for good."""

import contextlib
import hashlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reticent import checks
from reticent.errors import BadReport, TooManyReports
from reticent.model.arms import Arms
from reticent.privacy.randomness import System
from reticent_devices.roles.account import DISPLAY, Account, Charge, Lifetime, Spent, charged, composed, refunded
from reticent_devices.roles.device import NUMBERS, Device, DeviceChoice, within
from reticent_devices.roles.outbox_state import File, Item, OutboxState, Store, entries, own_ledger, written

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


class Outbox:
    """The choices of one device and their reports to one server.

    store: the device's file; several outboxes, each with its own `name`, share it.
    open: the application's function from a billboard to its client, with its own limits.
    send: takes a report's bytes; True if it was taken, False if it never will be; OSError or HTTPException: later
    again, for a week.
    wait: seconds from a choice to its deadline; jitter: at most so much later its report leaves.
    weekly: the most reports in a week; lifetime: the most that the person ever tells, to all servers together
    (roles.ledger): both whatever a server asks, and asked before the choice.
    ledger: the person's one ledger, which outboxes of all programs and stores add to: by default that of the system's
    user, told.ledger in $XDG_STATE_HOME/reticent. A program that acts for several people has one for each.
    resident: whether this program runs by itself, whatever the person does (a service of the system). If not, a visit
    is one Outbox, and a report is made in the first visit that begins after its time, and sent once in each.
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
        lifetime: Lifetime,
        ledger: Path | Store | None = None,
        floor: float = 0.0,
        resident: bool = False,
        name: str = "reticent",
        clock: Callable[[], float] = time.time,
    ) -> None:
        checks.size(wait=wait, jitter=jitter)
        checks.positive_int(weekly=weekly)
        if not isinstance(lifetime, Lifetime):
            raise ValueError(f"Expected lifetime to be a Lifetime, got {type(lifetime).__name__}.")
        ledger = own_ledger() if ledger is None else ledger
        both = [one.resolve() if isinstance(one, Path) else one for one in (store, ledger)]
        if both[0] == both[1]:  # each would wait for the other's lock
            raise ValueError("Expected ledger and store to be two files, got one.")
        self._store: Store = File(store) if isinstance(store, Path) else store
        self._ledger: Store = File(ledger) if isinstance(ledger, Path) else ledger
        self._open, self._send, self._clock = open, send, clock
        self._wait, self._jitter, self._weekly, self._lifetime = wait, jitter, weekly, lifetime
        self._floor, self._name = floor, name
        self._visit, self._flushed = None if resident else clock(), False

    def choose(
        self, billboard: bytes, arms: Arms | Any, *, actions: Any = None, available: npt.ArrayLike | None = None
    ) -> ReportTicket:
        """As Client.choose. TooManyReports and LifetimeSpent: the device's own limits; then nothing was chosen, and
        nothing is sent."""
        client, board = self._open(billboard), hashlib.sha256(billboard)
        if client.cost is None:
            raise ValueError("Expected a client with noise for people's data, got one for simulation.")
        at, due = self._clock(), self._wait + self._jitter * float(System().uniforms(1)[0])
        with self._changing() as state:
            answered = state.answered.setdefault(self._name, [])
            reported = client.batch is None or client.batch not in answered
            if reported and sum(item.at > at - WEEK for item in self._own(state)) >= self._weekly:
                raise TooManyReports(f"Expected at most {self._weekly} reports in a week, got one more.")
            cost = client.cost.epsilon, client.cost.delta, client.batch  # before anything of the person is read
            new = Item("", self._name, at, at + due, *cost, None, None, None)
            after = charged(state.ledger, [new.entry] * reported, self._lifetime)
            choice = client.choose(arms, actions=actions, available=available, floor=self._floor)
            shown = [] if choice.displayed is None else [Charge(self._name, DISPLAY, None, choice.displayed, 0.0)]
            state.ledger = charged(after, shown, self._lifetime)
            new.id, new.x = choice.report_id.hex(), choice.features.tolist()
            if reported:
                new.report_id, new.board = state.report_id(board.digest(), choice.report_id).hex(), board.hexdigest()
                state.boards[new.board] = billboard.decode("ascii")
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
        program starts, never because of a reward. In one visit that is done once: a server that answers "later" would
        see from the next try that the person is still there. A resident program calls it by a timer."""
        if self._flushed:
            return
        self._flushed = self._visit is not None
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
        return item.due <= (self._clock() if self._visit is None else self._visit)

    def _make(self, item: Item, state: OutboxState) -> None:
        """The finished report, to be kept before anything is sent. No datum decides whether there is one: there is none
        where the application has other limits now."""
        client = self._opened(state, item)
        if client is None:
            item.taken = False
            state.refunds.append(item.entry)
        else:
            choice = DeviceChoice(0, None, np.array(item.x), lambda: 1.0, bytes.fromhex(item.report_id or ""))
            item.report = client.randomize(choice, item.reward).hex()
        item.report_id = item.board = item.x = item.reward = None

    def _opened(self, state: OutboxState, item: Item) -> Device | None:
        with contextlib.suppress(BadReport):
            return self._open(state.boards[item.board or ""].encode())
        return None

    def shown(self) -> list[Item]:
        """For the person: the reported choices of the last week, and the very bytes that were sent."""
        with self._changing() as state:
            return self._own(state)

    def spent(self) -> Spent:
        """For the person: what was told so far, to all servers."""
        with self._changing() as state:
            return composed(state.ledger)

    def account(self) -> Account:
        """For the person: what left, what that adds up to, and what is left of the limit."""
        with self._changing() as state:
            return Account(composed(state.ledger), self._lifetime, self._floor, len([i for i in state.items if i.open]))

    def forget(self) -> None:
        """Delete all choices and reports. What was not sent never will be; what was told stays in the ledger."""
        with self._changing() as state:
            for item in self._own(state):
                state.drop(item)

    def _own(self, state: OutboxState) -> list[Item]:
        return [item for item in state.items if item.server == self._name]

    @contextlib.contextmanager
    def _changing(self) -> Iterator[OutboxState]:
        """What is kept, changed as one. Charges are on the disc before what they are for, and refunds after it: where
        the program ends in between, too much is counted, never too little."""
        with self._store.locked(), self._ledger.locked():
            state = OutboxState.read(self._store.read())
            state.ledger = entries(self._ledger.read())
            for item in list(state.items):
                if (item.due if item.open else item.at) <= self._clock() - WEEK:
                    state.drop(item)
            if state.refunds:
                self._keep(state)
            before = state.ledger
            yield state
            if state.ledger != before:
                self._ledger.write(written(state.ledger))
            self._keep(state)

    def _keep(self, state: OutboxState) -> None:
        self._store.write(state.text())
        for one in state.refunds:
            state.ledger = refunded(state.ledger, one)
        if state.refunds:
            self._ledger.write(written(state.ledger))
            state.refunds.clear()


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
