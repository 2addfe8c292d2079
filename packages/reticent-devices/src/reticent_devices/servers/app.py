"""The application of one role: reports or batches come in as bytes, and whatever the role may show goes out. No address
is looked at, kept or logged."""

import contextlib
import functools
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

import msgspec
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from reticent_devices.servers import page
from reticent_devices.servers.role import Role
from reticent_serve.service import dashboard, hot
from reticent_serve.service.app import UNREAD, guarded, no_route, refusal, respond
from reticent_serve.service.config import KeySetting, ServerSetting
from reticent_serve.service.errors import Reply
from reticent_serve.service.groups import Room
from reticent_serve.service.hot import BINARY, JSON, Receive, Scope, Send
from reticent_serve.service.keys import AccessKeys

# Any page may read a billboard and send a report, as any program may: neither needs a secret.
ANYWHERE = [(b"access-control-allow-origin", b"*")]
OPEN_TO_ALL = {name.decode(): value.decode() for name, value in ANYWHERE}
PREFLIGHT = [(b"access-control-allow-headers", b"content-type"), (b"access-control-max-age", b"86400")]


class RoleApplication:
    """ASGI. keys: who may hand over batches; without any, whoever reaches this machine's own address. files: what else
    the role shows, as bytes, by its path. name: of the bandit, if it has one."""

    def __init__(
        self,
        role: Role,
        server: ServerSetting,
        keys: Sequence[KeySetting] = (),
        files: Mapping[str, Callable[[], bytes | Reply]] = {},
        *,
        name: str = "",
    ) -> None:
        self.role, self._server, self._name = role, server, name
        self._keys, self._room = AccessKeys(keys, time.monotonic), Room(server.bodies)
        self._assets = dashboard.assets()
        shown = {
            "/": self._start,
            "/billboard": self._billboard,
            "/health": self._health,
            "/metrics": self._metrics,
            "/status": self._status,
            "/dashboard": self._dashboard,
            "/assets/{file}": self._asset,
        }
        routes = [Route(path, guarded(see)) for path, see in shown.items()]
        routes += [Route(path, guarded(functools.partial(self._file, see))) for path, see in files.items()]
        self._slow = Starlette(routes=routes, lifespan=self._lifespan)
        self._slow.router.redirect_slashes = False
        self._slow.add_exception_handler(HTTPException, no_route(", ".join(list(shown)[1:6])))

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
        if route not in self.role.routes:
            await self._slow(scope, receive, send)
            return
        try:
            if scope["method"] == "OPTIONS" and route == "reports":
                await respond(send, 204, b"", JSON, ANYWHERE + PREFLIGHT)
                return
            if scope["method"] != "POST":
                raise Reply(405, "Expected POST.")
            secret = self.role.routes[route]
            asker = self._asker(scope) if secret else ""
            media = (BINARY,) if secret else ()  # what anybody may send, a page's form may send too
            with self._room.held() as hold:
                server = self._server
                body = await hot.whole(scope, receive, server.body, server.patience, hold, media)
                out = await self.role.post(route, rest, body, asker)
            await respond(send, 200, out, JSON, ANYWHERE)
        except Exception as error:
            found = refusal(error)
            close = found.status in UNREAD
            await respond(send, found.status, found.body, JSON, found.headers + ANYWHERE, close=close)

    def _asker(self, scope: Scope) -> str:
        """The name of a shuffler, who alone hands over batches; "" where no keys are needed."""
        self._keys.check_host(scope["headers"])
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        asker = self._keys.find(given)
        if asker is None:
            raise Reply(401, "Expected the key of a shuffler: authorization: Bearer KEY.")
        asker.take("batches", 1)
        return asker.name

    # what anybody may see

    async def _start(self, _: Request) -> Response:
        return RedirectResponse("/dashboard", 303)

    async def _billboard(self, request: Request) -> Response:
        board = self.role.board()
        if isinstance(board, Reply):
            return _refused(board)
        headers = OPEN_TO_ALL | {"etag": board.mark, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == board.mark:
            return Response(status_code=304, headers=headers)
        return Response(board.content, 200, headers, media_type=board.media)

    async def _file(self, see: Callable[[], bytes | Reply], _: Request) -> Response:
        found = see()
        if isinstance(found, Reply):
            return _refused(found)
        return Response(found, 200, OPEN_TO_ALL | {"cache-control": "no-store"}, media_type=BINARY.decode())

    async def _health(self, _: Request) -> Response:
        problem = self.role.problem()
        return PlainTextResponse(f"{problem or 'well'}\n", 200 if problem is None else 503)

    async def _status(self, _: Request) -> Response:
        return Response(msgspec.json.encode({"name": self._name} | self.role.status()), media_type=JSON.decode())

    async def _metrics(self, _: Request) -> Response:
        registry = CollectorRegistry(auto_describe=False)
        for name, (about, value) in self.role.metrics().items():
            Gauge(name, about, registry=registry).set(value)
        return PlainTextResponse(generate_latest(registry), media_type="text/plain; version=0.0.4")

    async def _dashboard(self, request: Request) -> Response:
        where = request.headers.get("host", "")  # as whoever looks knows it
        shown = page.of(self.role.status(), self.role.problem(), self._name, where)
        return HTMLResponse(shown, headers=dashboard.HEADERS)

    async def _asset(self, request: Request) -> Response:
        asset = self._assets.get(request.path_params["file"])
        if asset is None:
            raise Reply(404, "Expected a file of the dashboard.")
        return asset.reply(request)


def _refused(reply: Reply) -> Response:
    headers = OPEN_TO_ALL | {name.decode(): value.decode() for name, value in reply.headers}
    return Response(reply.body, reply.status, headers, media_type=JSON.decode())
