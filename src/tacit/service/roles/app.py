"""The application of one role: reports or batches come in as bytes; the billboard, what the role may show and how it
is go out. No address is looked at, kept or logged."""

import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from tacit.service import dashboard, hot
from tacit.service.app import HEADERS, UNREAD, refusal, respond
from tacit.service.config import KeySetting, ServerSetting
from tacit.service.errors import Reply
from tacit.service.hot import BINARY, JSON, Receive, Scope, Send
from tacit.service.keys import Keys
from tacit.service.roles import page
from tacit.service.roles.role import Role
from tacit.service.room import Room

# Any page may read a billboard and send a report, as any program may: neither needs a secret.
ANYWHERE = [(b"access-control-allow-origin", b"*")]
PREFLIGHT = [(b"access-control-allow-headers", b"content-type"), (b"access-control-max-age", b"86400")]


class RoleApplication:
    """ASGI. keys: who may hand over batches; without any, whoever reaches this machine's own address."""

    def __init__(self, role: Role, server: ServerSetting, keys: Sequence[KeySetting] = ()) -> None:
        self.role, self._server = role, server
        self._keys, self._room = Keys(keys, time.monotonic), Room(server.bodies)
        self._assets = dashboard.assets()
        routes = [
            Route("/", self._start),
            Route("/billboard", self._billboard),
            Route("/health", self._health),
            Route("/metrics", self._metrics),
            Route("/status", self._status),
            Route("/dashboard", self._dashboard),
            Route("/assets/{file}", self._asset),
        ]
        self._slow = Starlette(routes=routes, lifespan=self._lifespan)
        self._slow.router.redirect_slashes = False

    def open(self) -> None:
        self.role.open()

    def close(self) -> None:
        self.role.close()

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Closed before the end of the process: uvicorn raises the signal again, which ends it at once."""
        try:
            yield
        finally:
            self.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._slow(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        route, *rest = scope["path"].strip("/").split("/")
        if route != self.role.route:
            await self._slow(scope, receive, send)
            return
        try:
            if scope["method"] == "OPTIONS" and route == "reports":
                await respond(send, 204, b"", JSON, ANYWHERE + PREFLIGHT)
                return
            if scope["method"] != "POST":
                raise Reply(405, "Expected POST.")
            if route == "batches":
                self._check(scope)
            with self._room.held() as hold:
                server = self._server
                body = await hot.whole(scope, receive, server.body, server.patience, hold, (BINARY, b""))
                out = await self.role.post(rest, body)
            await respond(send, 200, out, JSON, ANYWHERE)
        except Exception as error:
            found = refusal(error)
            close = found.status in UNREAD
            await respond(send, found.status, found.body, JSON, found.headers + ANYWHERE, close=close)

    def _check(self, scope: Scope) -> None:
        """Only a shuffler hands over batches."""
        self._keys.check_host(scope["headers"])
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        asker = self._keys.find(given)
        if asker is None:
            raise Reply(401, "Expected the key of a shuffler: authorization: Bearer KEY.")
        asker.take("batches", 1)

    # what anybody may see

    async def _start(self, _: Request) -> Response:
        return RedirectResponse("/dashboard", 303)

    async def _billboard(self, request: Request) -> Response:
        board = self.role.board()
        headers = {name.decode(): value.decode() for name, value in ANYWHERE}
        if board is None:
            text = Reply(503, "Expected a batch that is open, got none at the moment: come again.")
            return Response(text.body, 503, headers | {"retry-after": "1"}, media_type=JSON.decode())
        headers |= {"etag": board.mark, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == board.mark:
            return Response(status_code=304, headers=headers)
        return Response(board.content, 200, headers, media_type=JSON.decode())

    async def _health(self, _: Request) -> Response:
        problem = self.role.problem()
        return PlainTextResponse(
            "well\n" if problem is None else f"{problem}\n", 200 if problem is None else 503, HEADERS
        )

    async def _status(self, _: Request) -> Response:
        return Response(msgspec.json.encode(self.role.status()), 200, HEADERS, media_type=JSON.decode())

    async def _metrics(self, _: Request) -> Response:
        registry = CollectorRegistry(auto_describe=False)
        for name, (about, value) in self.role.metrics().items():
            Gauge(name, about, registry=registry).set(value)
        return PlainTextResponse(generate_latest(registry), 200, HEADERS, "text/plain; version=0.0.4")

    async def _dashboard(self, _: Request) -> Response:
        found: dict[str, Any] = self.role.status()
        return HTMLResponse(page.of(found, self.role.problem()), 200, HEADERS | dashboard.HEADERS)

    async def _asset(self, request: Request) -> Response:
        asset = self._assets.get(request.path_params["file"])
        if asset is None:
            return PlainTextResponse("Expected a file of the dashboard.\n", 404)
        return asset.reply(request)
