"""Leader and helper as the application serves them: reports from devices (leader), and what each may show.

Nothing shown says when a report came or how many wait: counts are those of closed steps."""

import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from reticent.errors import BadReport, BadState, ReticentError, Retired
from reticent.privacy.relations import REPLACE
from reticent_devices.servers.role import BETWEEN, OVER, Board, Events, acknowledged
from reticent_serve.service.app import log_unexpected
from reticent_serve.service.errors import Reply
from reticent_serve.service.groups import Group
from reticent_two.aggregators.aggregator import Aggregator
from reticent_two.aggregators.agreement import Agreement
from reticent_two.aggregators.messages import COUNTED, LATE
from reticent_two.roles import wire
from reticent_two.roles.task import PARTIES
from reticent_two.service.leader import Leader
from reticent_two.service.page import ASSUMES
from reticent_two.service.peer import Handler, PeerServer

SAID = {COUNTED: "", LATE: "late"}
WAITING = "Expected an era that has begun, got none yet: come again."
MINUTE = 60.0
Answer = list[str] | ReticentError


class LeaderRole:
    """One thread takes reports, another one (`Leader`) does the rest."""

    name = "leader"

    def __init__(self, leader: Leader, waiting: int) -> None:
        self.routes = {"reports": False}
        self._leader, self.events = leader, leader.events
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reticent reports")
        self._group: Group[bytes, Answer] = Group(self._commit, self._writer, waiting)

    def open(self) -> None:
        self._leader.start()

    def close(self) -> None:
        self._writer.shutdown(wait=True)
        self._leader.end()

    async def post(self, route: str, path: Sequence[str], body: bytes, asker: str) -> bytes:
        party = self._party()
        length = wire.length(party.task)
        if not body or len(body) % length:
            raise BadReport(f"Expected whole reports of {length} bytes each, got another length.")
        answer = await self._group.submit([body])[0]
        if isinstance(answer, ReticentError):
            raise answer
        return acknowledged(answer)

    def _party(self) -> Aggregator:
        if self._leader.over is not None:
            raise Reply(410, OVER)
        if self._leader.party is None:
            raise Reply(503, WAITING)
        return self._leader.party

    def _commit(self, bodies: Sequence[bytes]) -> list[Answer]:
        """In one transaction."""
        party = self._party()
        said, length, out, at = party.receive(b"".join(bodies)), wire.length(party.task), [], 0
        for body in bodies:
            count = len(body) // length
            out.append([SAID.get(verdict, "out of range") for verdict in said[at : at + count]])
            at += count
        return out  # type: ignore[return-value]

    # what may be shown

    def board(self) -> Board | Reply:
        analysis = self._leader.analysis
        if self._leader.over is not None or (analysis is not None and analysis.server.over):
            return Reply(410, OVER)
        return self._leader.shown or Reply(503, BETWEEN)

    def task(self) -> bytes | Reply:
        """What both have signed."""
        party = self._leader.party
        return Reply(503, WAITING) if party is None else party.task.text

    def problem(self) -> str | None:
        return self._leader.over or self._leader.problem

    def status(self) -> dict[str, Any]:
        party, analysis = self._leader.party, self._leader.analysis
        found = described(party, self._leader.over is not None)
        if analysis is not None:
            found |= {"theta": analysis.server.theta.tolist(), "certificate": str(analysis.server.privacy)}
            found |= {"over": analysis.server.over, "bandit": type(analysis.server).__name__}
        return {"role": self.name} | found | {"problem": self.problem(), "events": self.events.listed()}

    def metrics(self) -> dict[str, tuple[str, float]]:
        return metrics(self.name, self.status())


class HelperRole:
    """`handlers` answer the leader, one at a time."""

    name = "helper"

    def __init__(self, agreement: Agreement, events: Events) -> None:
        self.routes: dict[str, bool] = {}
        self._agreement, self.events = agreement, events
        self._store: Aggregator | None = None
        self._retired: str | None = None
        self._timer: threading.Timer | None = None
        self.server: PeerServer | None = None

    def open(self) -> None:
        self._store = self._agreement.again()
        assert self.server is not None
        self.server.start()
        self._forget()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.server is not None:
            self.server.close()
        if self._store is not None:
            self._store.close()

    async def post(self, route: str, path: Sequence[str], body: bytes, asker: str) -> bytes:
        raise Reply(404, "Expected reports to go to the leader, got the helper.")

    def _forget(self) -> None:
        """Sealing keys end in time, also where nobody asks."""
        try:
            if self._store is not None and self._retired is None:
                self._with(lambda store: store.key())
        except ReticentError:
            pass  # which the page shows
        except Exception as error:  # a full disk
            log_unexpected(error)
        finally:
            self._timer = threading.Timer(MINUTE, self._forget)
            self._timer.daemon = True
            self._timer.start()

    @property
    def handlers(self) -> dict[str, Handler]:
        return {
            "offer": lambda _: bytes.fromhex(self._agreement.commitment()),
            "task": self._agree,
            "key": lambda _: self._with(lambda store: store.key()),
            "sign": lambda body: self._with(lambda store: store.sign(body)),
            "verify": lambda body: self._with(lambda store: store.verify(body)),
            "certificate": lambda body: self._with(lambda store: store.certificate(_number(body))),
            "release": lambda body: self._with(lambda store: store.release(body)),
            "leaf": lambda body: self._with(lambda store: store.leaf(body)),
        }

    def _agree(self, proposal: bytes) -> bytes:
        answer, self._store = self._agreement.answer(proposal, self._store)
        self.events.add("The era has begun: both have signed its task.")
        return answer

    def _with(self, ask: Any) -> bytes:
        if self._store is None:
            raise BadState("Expected an era that has begun, got a question before.")
        try:
            reply: bytes = ask(self._store)
        except Retired as error:
            self._retired = str(error)
            self.events.add(self._retired)
            raise
        return reply

    # what may be shown

    def board(self) -> Board | Reply:
        return Reply(404, "Expected the leader to show the billboard, got the helper.")

    def problem(self) -> str | None:
        return self._retired

    def status(self) -> dict[str, Any]:
        found = described(self._store, self._retired is not None)
        return {"role": self.name} | found | {"problem": self.problem(), "events": self.events.listed()}

    def metrics(self) -> dict[str, tuple[str, float]]:
        return metrics(self.name, self.status())


def described(party: Aggregator | None, retired: bool) -> dict[str, Any]:
    """What anybody may know of a party and its task."""
    found: dict[str, Any] = {"neighbours": REPLACE, "begun": party is not None, "retired": retired}
    found |= {"assumes": ASSUMES}
    try:
        step, users = (None, None) if party is None or retired else (party.step, party.users)
    except Retired:
        step, users, found["retired"] = None, None, True
    if party is None or step is None:
        return found | {"step": None, "users": None}
    task = party.task
    claims = dict(zip(PARTIES, (task.operator, task.helper), strict=True))
    return found | {
        "task": task.digest.hex(),
        "identities": dict(zip(PARTIES, task.identities, strict=True)),
        "epsilon": {name: claim.epsilon for name, claim in claims.items()},  # against each
        "delta": {name: claim.delta for name, claim in claims.items()},
        "sigma": task.numbers["sigma"],
        "step": step,
        "steps": task.steps.leaves,
        "users": users,
        "bytes": wire.length(task),
    }


def metrics(name: str, found: dict[str, Any]) -> dict[str, tuple[str, float]]:
    step, users = (math.nan if found[each] is None else found[each] for each in ("step", "users"))
    return {
        f"reticent_{name}_steps": ("Steps closed so far.", step),
        f"reticent_{name}_reports": ("Reports in them.", users),
        f"reticent_{name}_ready": ("1 if nothing needs attention.", found["problem"] is None),
    }


def _number(body: bytes) -> int:
    if len(body) != 4:
        raise BadReport("Expected the number of a step in 4 bytes, got another.")
    return int.from_bytes(body, "little")
