"""The application: who asks, for what, and how errors are answered. A handler decodes, calls one method and encodes."""

import asyncio
import contextlib
import logging
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from reticent_serve.service import docs, errors, hot, metrics, ofrep
from reticent_serve.service.bodies import encode
from reticent_serve.service.config import Config
from reticent_serve.service.dashboard import Dashboard
from reticent_serve.service.errors import Reply
from reticent_serve.service.groups import Readers, Room
from reticent_serve.service.hot import JSON, Receive, Scope, Send
from reticent_serve.service.keys import AccessKeys, Asker
from reticent_serve.service.served import Served
from reticent_serve.service.sessions import Sessions

LOG = logging.getLogger("reticent_serve.service")
LOGGED: set[str] = set()
START = "/v1/bandits/"
LATELY = 0.5  # seconds
UNREAD = (400, 401, 403, 405, 408, 413, 415)  # the rest of the body is not read: the connection ends
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}  # of what is asked for seldom
Handler = Callable[[Request], Awaitable[Response]]
SHOWN: dict[str, Callable[[Served], Any]] = {  # what GET shows of a bandit
    "certificate": lambda one: one.certificate(),
    "status": lambda one: one.status(),
    "estimate": lambda one: one.estimate(),
    "history": lambda one: one.past.shown(),
    "segments": lambda one: {"bandit": one.name} | one.past.segments(),
}


class Application:
    """ASGI. Bandits are opened before the first request and closed after the last."""

    def __init__(self, config: Config, clock: Callable[[], float] | None = None) -> None:
        self._config, self._keys, self.clock = config, AccessKeys(config.keys, time.monotonic), clock
        self.served: dict[str, Served] = {}
        self._sessions = Sessions(self._keys, self._secret, clock or time.time)
        self.pages = Dashboard(self.served, self._keys, self._sessions, clock or time.time, config.server.patience)
        self._rooms = {kind: Room(config.server.bodies) for kind in hot.KINDS}
        self._readers = Readers(hot.KINDS)
        self._look_again = 0.0
        self._unready: Exception | None = None
        routes = [
            Route("/", self._start),
            Route("/healthz", self._healthz),
            Route("/readyz", guarded(self._readyz)),
            Route("/metrics", guarded(self._metrics)),
            Route(START.rstrip("/"), guarded(self._names)),
            Route(START + "{bandit}/{what}", guarded(self._show)),
            *(Route(path, guarded(see), methods=[verb]) for path, verb, see in self.pages.routes),
        ]
        described = [route for route in routes if "{what}" not in route.path]
        self._slow = Starlette(routes=[*routes, *docs.routes(START, described, SHOWN)], lifespan=self._lifespan)
        self._slow.router.redirect_slashes = False  # to http, by whatever host a request names
        self._slow.add_exception_handler(HTTPException, no_route("/docs"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._slow(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._keys.check_host(scope["headers"])
            path: str = scope["path"]
            if path.startswith(ofrep.START):
                await self._evaluate(scope, receive, send, path.removeprefix(ofrep.START))
                return
            name, _, route = path.removeprefix(START).partition("/")
            if route not in hot.ROUTES or not path.startswith(START):
                await self._slow(scope, receive, send)
                return
            if scope["method"] != "POST":
                raise Reply(405, "Expected POST.")
            kind = route.partition(":")[0]
            asker = self._asker(scope, kind, session=False)
            one = self._bandit(name)
            server = self._config.server
            with self._rooms[kind].held() as hold:
                body = await hot.whole(scope, receive, server.body, server.patience, hold)
                out, media = await hot.answer(one, route, asker, body, self._readers)
            await respond(send, 200, out, media)
        except Exception as error:
            found = refusal(error)
            await respond(send, found.status, found.body, JSON, found.headers, close=found.status in UNREAD)

    async def _evaluate(self, scope: Scope, receive: Receive, send: Send, key: str) -> None:
        """A flag of OpenFeature; errors are in the form of that protocol."""
        server, read = self._config.server, False
        try:
            if scope["method"] != "POST":
                raise Reply(405, "Expected POST.")
            asker = self._asker(scope, "choose", session=False)
            with self._rooms["choose"].held() as hold:
                body = await hot.whole(scope, receive, server.body, server.patience, hold)
                read, asked = True, ofrep.FlagsAsked(self.served, asker, body, self._readers)
                out = await asked.one_flag(key)
            await respond(send, 200, out, JSON)
        except Exception as error:
            found = refusal(error)
            out = encode(ofrep.failure(found, key))
            await respond(send, ofrep.status(found), out, JSON, found.headers, close=not read)

    def _asker(self, scope: Scope, what: str, *, session: bool = True) -> Asker:
        """session: whether the dashboard's cookie does: for what is only looked at."""
        authorization = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        asker = self._keys.find(authorization) or (self._sessions.find(scope) if session else None)
        if asker is None:
            known = "a known key, got another." if authorization else "a key: authorization: Bearer KEY."
            raise Reply(401, f"Expected {known}")
        if what not in asker.may:
            raise Reply(403, f"Expected a key that may ask for {what}.")
        return asker

    def _secret(self) -> bytes:
        """What all workers know: they have the same first bandit."""
        return next(iter(self.served.values())).stored.secret("dashboard")

    def _bandit(self, name: str) -> Served:
        one = self.served.get(name)
        if one is None:
            raise Reply(404, "Expected the name of a bandit of this server.")
        return one

    # the slow routes

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self.close()

    def open(self) -> None:
        """Errors of settings and databases come from here, before anything is served."""
        try:
            for name, setting in self._config.bandits.items():
                self.served[name] = Served(name, setting, self._config.server.waiting, self.clock)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        while self.served:
            self.served.popitem()[1].close()
        self._readers.close()

    async def _start(self, _: Request) -> Response:
        return RedirectResponse("/dashboard", 303)

    async def _names(self, request: Request) -> Response:
        self._asker(request.scope, "bandits").take("bandits", 1)
        return Response(msgspec.json.encode({"bandits": list(self.served)}), media_type=JSON.decode())

    async def _healthz(self, _: Request) -> Response:
        return PlainTextResponse("alive\n")

    async def _readyz(self, _: Request) -> Response:
        """Whoever asks often gets what was found lately: it needs no key."""
        if time.monotonic() >= self._look_again:
            self._look_again = time.monotonic() + LATELY
            found = await asyncio.gather(*(one.show(one.ready) for one in self.served.values()), return_exceptions=True)
            self._unready = next((error for error in found if isinstance(error, Exception)), None)
        if self._unready is not None:
            raise Reply(503, refusal(self._unready).text)
        return PlainTextResponse("ready\n")

    async def _metrics(self, request: Request) -> Response:
        self._asker(request.scope, "metrics").take("metrics", 1)
        text = await asyncio.to_thread(metrics.text, list(self.served.values()))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def _show(self, request: Request) -> Response:
        what = request.path_params["what"]
        if what not in SHOWN:
            raise Reply(404, "Expected a route of this server.")
        self._asker(request.scope, what).take(what, 1)
        one = self._bandit(request.path_params["bandit"])
        shown = await one.show(lambda: SHOWN[what](one))
        return Response(msgspec.json.encode(shown), media_type=JSON.decode())


def guarded(handler: Handler) -> Handler:
    """With the headers of what is asked for seldom, and a reply to any error."""

    async def call(request: Request) -> Response:
        try:
            response = await handler(request)
        except Exception as error:
            found = refusal(error)
            headers = {name.decode(): value.decode() for name, value in found.headers}
            response = Response(found.body, found.status, headers, media_type=JSON.decode())
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return call


def no_route(known: str) -> Callable[[Request, Exception], Awaitable[Response]]:
    """What starlette refuses, in our words; `known` says which routes there are."""

    async def refused(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        text = f"Expected a route of this server: {known}."
        reply = Reply(status, "Expected another method for this route." if status == 405 else text)
        headers = HEADERS | dict((error.headers or {}) if isinstance(error, HTTPException) else {})
        return Response(reply.body, status, headers, media_type=JSON.decode())

    return refused


async def respond(
    send: Send,
    status: int,
    body: bytes,
    media: bytes,
    headers: list[tuple[bytes, bytes]] | None = None,
    *,
    close: bool = False,
) -> None:
    listed = [(b"content-type", media), (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    listed += headers or []
    if close:
        listed.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})


def refusal(error: Exception) -> Reply:
    """The reply to any error."""
    found = errors.reply(error)
    if found is None and isinstance(error, TimeoutError):
        found = Reply(408, "Expected the whole body in time.")
    if found is None:
        log_unexpected(error)
        found = Reply(500, "Expected no such error in the server: the operator's log says where.")
    return found


def log_unexpected(error: Exception) -> None:
    """Its kind and where it was raised: never its words, nor a line of a traceback, which may hold a datum. Once for
    each place: how often it happens may be the number of rewards."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = f"An unexpected {type(error).__name__} in {where.name}, line {where.lineno}; it is logged once."
    if text not in LOGGED:
        LOGGED.add(text)
        LOG.error(text)
