"""What every role is to the application that serves it."""

import hashlib
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from reticent_serve.service.errors import Reply

STATUS = {"late": 410}  # of a report that is refused; others 422
SAID = {
    "late": "Expected a report before its batch was closed, got one after.",
    "wrong batch": "Expected a report as the present billboard says, got one made for another.",
    "version": "Expected a report of this version, got something else.",
    "out of range": "Expected a report that an honest device can send, got another.",
    "not sealed": "Expected a report that is sealed to its batch's key (GET /key), got another: no others are taken.",
}
BETWEEN = "Expected a batch that is open, got none at the moment: come again."
OVER = "Expected a plan with batches left, got the end of its horizon: no further batch is opened."
MOST_EVENTS = 20


class Board(NamedTuple):
    """A billboard: the very bytes that devices read and that reports have the digest of."""

    content: bytes
    mark: str  # its ETag
    media: str = "application/json"

    @classmethod
    def of(cls, content: bytes, media: str = "application/json") -> "Board":
        return cls(content, f'"{hashlib.sha256(content).hexdigest()}"', media)


class Role(Protocol):
    """routes: what may be sent to it, and whether a key is needed. `post` takes it, with the rest of the path and the
    name of the asker's key; all that the others return may be shown to anybody."""

    name: str
    routes: dict[str, bool]

    def open(self) -> None: ...

    def close(self) -> None: ...

    async def post(self, route: str, path: Sequence[str], body: bytes, asker: str) -> bytes: ...

    def board(self) -> Board | Reply:
        """Or why there is none now."""

    def problem(self) -> str | None:
        """What an operator has to see to."""

    def status(self) -> dict[str, Any]: ...

    def metrics(self) -> dict[str, tuple[str, float]]:
        """name -> (what it is, value)."""


class Events:
    """What happened lately; never a value of anybody's, nor an address."""

    def __init__(self) -> None:
        self._events: deque[tuple[float, str]] = deque(maxlen=MOST_EVENTS)

    def add(self, what: str) -> None:
        if not self._events or self._events[-1][1] != what:
            self._events.append((time.time(), what))

    def listed(self) -> list[dict[str, Any]]:
        return [{"at": at, "what": what} for at, what in self._events]


def number_in(path: Sequence[str]) -> int:
    """The number of a batch, where the path is that and nothing else."""
    if len(path) != 1 or not (path[0].isascii() and path[0].isdecimal()) or len(path[0]) > 18:
        raise Reply(404, "Expected the number of a batch in the path.")
    return int(path[0])


def acknowledged(reasons: Sequence[str]) -> bytes:
    """The reply to a body of reports, of which each was taken ("": now or before) or refused for a reason. The indices
    of those that were refused are named; one that came alone is refused by its status."""
    refused: dict[str, list[int]] = {}
    for i, reason in enumerate(reasons):
        if reason:
            refused.setdefault(reason, []).append(i)
    if len(reasons) == 1 and refused:
        raise Reply(STATUS.get(reasons[0], 422), SAID[reasons[0]])
    taken = len(reasons) - sum(map(len, refused.values()))
    return msgspec.json.encode({"taken": taken} | ({"refused": refused} if refused else {}))
