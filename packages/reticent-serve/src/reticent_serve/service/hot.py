"""The routes that every visitor costs: choose and reward, alone and in batches, as plain ASGI; and two that
are rare, erase and end-experiment."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, ParamSpec, TypeVar

from reticent.core.curator import Asked
from reticent.errors import ReticentError
from reticent_serve.holders.requests import StoredChoice
from reticent_serve.service import bodies, errors
from reticent_serve.service.errors import Reply
from reticent_serve.service.groups import Readers
from reticent_serve.service.keys import Asker
from reticent_serve.service.served import Served

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
P = ParamSpec("P")
T = TypeVar("T")

JSON, LINES, BINARY = b"application/json", b"application/x-ndjson", b"application/octet-stream"
MEDIA: dict[tuple[bytes, ...], str] = {
    (JSON, LINES): "Expected content-type: application/json, or application/x-ndjson for a batch.",
    (BINARY,): "Expected content-type: application/octet-stream.",
}
MOST_ROWS = 1000  # of a batch
AT_A_TIME = 16  # rows that are read before others get their turn
ACKNOWLEDGED, LATE = (bodies.encode(bodies.Acknowledged(late=late)) for late in (bodies.UNSET, True))
KINDS = ("choose", "reward", "erase", "end-experiment")
ROUTES = (*(kind + end for kind in KINDS[:2] for end in ("", ":batch")), *KINDS[2:])


async def answer(one: Served, route: str, asker: Asker, body: bytes, readers: Readers) -> tuple[bytes, bytes]:
    """Body and media type of the reply; an error for what is refused."""
    kind, _, batch = route.partition(":")
    if batch:
        return await _batch(one, kind, asker, body, readers), LINES
    asker.take(kind, 1)
    if kind == "erase":
        person = await readers(kind, len(body), functools.partial(bodies.erase, body))
        return bodies.encode(await one.erase(person)), JSON
    if kind == "end-experiment":
        bodies.end_experiment(body)
        return bodies.encode(await one.end_experiment()), JSON
    item, wanted = await readers(kind, len(body), functools.partial(_read, one, kind, asker, body))
    return _written(one, await (await _submitted(one, kind, [item], [wanted]))[0], wanted), JSON


async def decided(one: Served, request: Asked) -> StoredChoice:
    """The choice for a request that was read already, with its propensity, on disk; an error for what is refused."""
    (future,) = await _submitted(one, "choose", [request], [request.problem is None])
    result: StoredChoice | ReticentError = await future
    if isinstance(result, ReticentError):
        raise result
    return result


async def _batch(one: Served, kind: str, asker: Asker, body: bytes, readers: Readers) -> bytes:
    """One line for each line, in order. A bad one is refused alone: it would otherwise remove everyone else's."""
    lines = body.split(b"\n", MOST_ROWS + 1)
    if lines[-1] == b"":
        lines.pop()
    if not 1 <= len(lines) <= MOST_ROWS:
        raise ValueError(f"Expected 1 to {MOST_ROWS} lines.")
    asker.take(kind, len(lines))
    rows = []
    for i, line in enumerate(lines):
        if i % AT_A_TIME == 0:
            await asyncio.sleep(0)  # others get their turn
        read = functools.partial(_or_reply, _read, one, kind, asker, line)
        rows.append(await readers(kind, len(line), read))
    good = [row for row in rows if not isinstance(row, Reply)]
    futures = iter(await _submitted(one, kind, [item for item, _ in good], [wanted for _, wanted in good]))
    out = [row if isinstance(row, Reply) else _or_reply(_written, one, await next(futures), row[1]) for row in rows]
    return b"\n".join(line.body if isinstance(line, Reply) else line for line in out) + b"\n"


def _read(one: Served, kind: str, asker: Asker, line: bytes) -> tuple[Any, bool]:
    """What to commit, and whether a propensity is wanted; ValueError or ReticentError for what is refused."""
    if kind == "choose":
        try:
            given = one.read(line)
            return one.prepare(given, asker.name), given.propensity is True
        except ValueError as error:
            if one.stored.one_pass.holdout is None:
                raise
            return one.stored.unreadable(error, asker.name, bodies.named(line)), False
    return one.report(bodies.reward(line)), False


async def _submitted(one: Served, kind: str, items: list[Any], wanted: list[bool]) -> list[asyncio.Future[Any]]:
    if kind == "reward":
        return one.written.submit(items)
    return one.chooses.submit(await one.with_propensities(items, wanted))


def _written(one: Served, result: StoredChoice | ReticentError | bool, wanted: bool) -> bytes:
    """The reply to what was committed; an error for what was refused then."""
    if isinstance(result, ReticentError):
        raise result
    if isinstance(result, bool):
        return ACKNOWLEDGED if result else LATE
    return bodies.encode(one.chosen(result, wanted))


def _or_reply(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Reply:
    try:
        return work(*args, **kwargs)
    except (ValueError, ReticentError) as error:
        refused = errors.reply(error)
        assert refused is not None
        return refused


async def whole(
    scope: Scope,
    receive: Receive,
    most: int,
    patience: float,
    hold: Callable[[int], None] = lambda size: None,
    media: tuple[bytes, ...] = (JSON, LINES),
) -> bytes:
    """The body, if it is not too long, comes in time and says that it is `media`, as no form of a web page does; no
    media: whatever it says that it is. hold: asked before each part is kept (reticent_serve.service.groups)."""
    headers = scope["headers"]
    given = next((value for name, value in headers if name == b"content-type"), b"")
    if media and given.partition(b";")[0].strip().lower() not in media:
        raise Reply(415, MEDIA[media])
    length = next((value for name, value in headers if name == b"content-length"), b"0")
    if len(length) > 18 or int(length) > most:
        raise Reply(413, f"Expected a body of at most {most} bytes.")
    parts: list[bytes] = []
    size = 0
    async with asyncio.timeout(patience):  # the first part too: who sends nothing would hold a connection for ever
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise Reply(400, "Expected the whole body.")
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise Reply(413, f"Expected a body of at most {most} bytes.")
            hold(len(part))
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts)
