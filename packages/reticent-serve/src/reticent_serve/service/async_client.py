"""The client for asyncio: as many connections as there are requests at the same time, kept for the next ones."""

import asyncio
import contextlib
import http.client
import io
import ssl
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from reticent.errors import Unavailable
from reticent.model.arms import Arms
from reticent_serve.service.calls import Call, Caller, HTTPReply, ServedChoice, in_time, is_counted

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncClient:
    """`Client` for one event loop, where any number of tasks may ask at the same time.

    timeout: seconds for one try, from connecting to the end of the reply."""

    def __init__(
        self, address: str, bandit: str, *, key: str | None = None, timeout: float = 10.0, patience: float = 30.0
    ) -> None:
        self._caller = Caller(address, bandit, key=key, patience=patience)
        self._tls = ssl.create_default_context() if self._caller.tls else None
        self._timeout = timeout
        self._idle: list[Connection] = []

    async def choose(
        self,
        arms: Arms | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        actions: Mapping[str, Mapping[str, Any]] | Sequence[str] | None = None,
        request: str | None = None,
        available: Sequence[bool] | Sequence[str] | None = None,
        person: str | int | None = None,
        own: str | int | None = None,
        propensity: bool = False,
        default: str | int | None = None,
    ) -> ServedChoice:
        """The arm for one person: among arms or, where the bandit has features, by the person's fields (context) among
        actions, as in Schema.vectors. request: by default an id of its own. own: what you would have offered
        yourself, where the holdout plays that. default: the arm or action, by name or place, that is returned
        where the server does not answer or replies 503, instead of Unavailable. Its id is empty, and nothing is learnt
        from it."""
        call = self._caller.choose(arms, context, actions, request, available, person, own, propensity)
        otherwise = None if default is None else ServedChoice.default(default, arms, actions)
        try:
            return ServedChoice.of(await self._send(call))
        except Unavailable:
            if otherwise is None:
                raise
            return otherwise

    async def reward(self, choice: ServedChoice | str, reward: Any) -> bool:
        """On the server's disk when this returns. None cancels. False: it came after the choice's deadline, or the
        choice is a default, and it never counts. True says nothing else: the first reward of a choice counts, and a
        second one is True as well."""
        return is_counted(choice) and in_time(await self._send(self._caller.reward(choice, reward)))

    async def erase(self, person: str | int) -> str:
        """What is still waiting of that person is deleted. Says what cannot be undone, in words."""
        return str((await self._send(self._caller.erase(person)))["remains"])

    async def end_experiment(self) -> None:
        """The holdout ends, once and for good; for operators. What the trial said stands: status has it."""
        await self._send(self._caller.end_experiment())

    async def certificate(self) -> dict[str, Any]:
        return await self._send(self._caller.get("certificate"))

    async def status(self) -> dict[str, Any]:
        return await self._send(self._caller.get("status"))

    async def estimate(self) -> dict[str, Any]:
        return await self._send(self._caller.get("estimate"))

    async def close(self) -> None:
        """Connections that are not at work."""
        while self._idle:
            await _end(self._idle.pop()[1])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, call: Call) -> dict[str, Any]:
        while (found := call.answer(await self._reply(call))) is None:
            await asyncio.sleep(call.wait)
        return found

    async def _reply(self, call: Call) -> HTTPReply | Exception:
        writer = None
        reply: HTTPReply | Exception
        try:
            async with asyncio.timeout(self._timeout):
                reader, writer = await self._connection()
                writer.write(self._text(call))
                reply, stays = await _read(reader)
        except (OSError, EOFError, ValueError, http.client.HTTPException, asyncio.LimitOverrunError) as error:
            reply, stays = error, False  # TimeoutError is an OSError, IncompleteReadError an EOFError
        except BaseException:
            if writer is not None:
                writer.transport.abort()  # half a reply may still come
            raise
        if writer is not None and stays:
            self._idle.append((reader, writer))
        elif writer is not None:
            await _end(writer)
        return reply

    async def _connection(self) -> Connection:
        """One that waits and that the server has not ended, or a new one."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            await _end(writer)
        return await asyncio.open_connection(self._caller.host, self._caller.port, ssl=self._tls)

    def _text(self, call: Call) -> bytes:
        host = f"[{self._caller.host}]" if ":" in self._caller.host else self._caller.host
        headers = {"host": f"{host}:{self._caller.port}", **call.headers}
        if call.body is not None:
            headers["content-length"] = str(len(call.body))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{call.method} {call.path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (call.body or b"")


async def _read(reader: asyncio.StreamReader) -> tuple[HTTPReply, bool]:
    """A reply of HTTP/1.1, and whether the connection stays; errors for what is none."""
    first, _, rest = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
    version, status = first.split()[:2]
    headers = http.client.parse_headers(io.BytesIO(rest))
    stays = version == b"HTTP/1.1" and headers.get("connection", "").lower() != "close"
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _chunks(reader)
    elif "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    else:
        body, stays = await reader.read(), False
    return HTTPReply(int(status), headers.get("retry-after"), body), stays


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return b"".join(parts)


async def _end(writer: asyncio.StreamWriter) -> None:
    """At once: a server that is gone says no goodbye."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
