"""The routes that every visitor costs: choose and reward, alone and in batches, as plain ASGI."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from tacit.errors import TacitError
from tacit.service import bodies, errors
from tacit.service.errors import Reply
from tacit.service.keys import Asker
from tacit.service.served import Served

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON, LINES = b"application/json", b"application/x-ndjson"
MOST_ROWS = 1000  # of a batch
ACKNOWLEDGED = bodies.encode(bodies.Acknowledged())
ROUTES = ("choose", "reward", "choose:batch", "reward:batch")


async def answer(one: Served, route: str, asker: Asker, body: bytes) -> tuple[bytes, bytes]:
    """Body and media type of the reply; an error for what is refused."""
    kind, _, batch = route.partition(":")
    if batch:
        return await _batch(one, kind, asker, body), LINES
    asker.take(kind, 1)
    if kind == "choose":
        return await _choose(one, asker, body), JSON
    await one.rewards.submit([one.report(bodies.reward(body))])[0]
    return ACKNOWLEDGED, JSON


async def _choose(one: Served, asker: Asker, body: bytes) -> bytes:
    given = bodies.choose(body)
    choice = await one.chooses.submit([one.ask(given, asker.name)])[0]
    if isinstance(choice, TacitError):
        raise choice
    return bodies.encode(await one.chosen(choice, given.propensity))


async def _batch(one: Served, kind: str, asker: Asker, body: bytes) -> bytes:
    """One line for each line, in order. A bad one is refused alone: it would otherwise remove everyone else's."""
    lines = body.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not 1 <= len(lines) <= MOST_ROWS:
        raise ValueError(f"Expected 1 to {MOST_ROWS} lines.")
    asker.take(kind, len(lines))
    read = (lambda line: _asked(one, asker, line)) if kind == "choose" else (lambda line: _reported(one, line))
    rows = [_or_reply(read, line) for line in lines]
    good = [row[0] for row in rows if not isinstance(row, Reply)]
    futures: Iterator[Any] = iter(one.chooses.submit(good) if kind == "choose" else one.rewards.submit(good))
    out = []
    for row in rows:
        if isinstance(row, Reply):
            out.append(row.body)
            continue
        result = await next(futures)
        if result is None:
            out.append(ACKNOWLEDGED)
        elif isinstance(result, TacitError):
            refused = errors.reply(result)
            assert refused is not None
            out.append(refused.body)
        else:
            out.append(bodies.encode(await one.chosen(result, row[1])))
    return b"\n".join(out) + b"\n"


def _asked(one: Served, asker: Asker, line: bytes) -> tuple[Any, object]:
    given = bodies.choose(line)
    return one.ask(given, asker.name), given.propensity


def _reported(one: Served, line: bytes) -> tuple[Any, object]:
    return one.report(bodies.reward(line)), None


def _or_reply(read: Callable[[bytes], tuple[Any, object]], line: bytes) -> tuple[Any, object] | Reply:
    try:
        return read(line)
    except (ValueError, TacitError) as error:
        refused = errors.reply(error)
        assert refused is not None
        return refused


async def whole(scope: Scope, receive: Receive, most: int, patience: float) -> bytes:
    """The body, if it is not too long, comes in time and says that it is JSON, which no form of a web page does."""
    headers = scope["headers"]
    media = next((value for name, value in headers if name == b"content-type"), b"")
    if media.partition(b";")[0].strip().lower() not in (JSON, LINES):
        raise Reply(415, "Expected content-type: application/json, or application/x-ndjson for a batch.")
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
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise Reply(413, f"Expected a body of at most {most} bytes.")
            if not message.get("more_body"):
                return b"".join(parts)
