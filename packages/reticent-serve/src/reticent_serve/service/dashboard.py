"""The dashboard's routes: pages, what they load, and who may see them.

A page is made here, whole; its script asks for the same page every other second and takes over what changed. What it
shows are functions of released and public quantities (reticent_serve.service.page)."""

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reticent.errors import ReticentError
from reticent_serve.service import errors, hot, page
from reticent_serve.service.errors import Reply
from reticent_serve.service.keys import AccessKeys, Asker, Bucket
from reticent_serve.service.served import Served
from reticent_serve.service.sessions import Sessions

Handler = Callable[[Request], Awaitable[Response]]
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}
MEDIA = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
LONGEST_LOGIN = 4096  # bytes
LOGINS = 5.0  # a second, of all who try a wrong key


class Login(msgspec.Struct, forbid_unknown_fields=True):
    key: str


class Asset(NamedTuple):
    content: bytes
    media: str
    mark: str  # changes with the content

    def reply(self, request: Request) -> Response:
        headers = {"etag": self.mark, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == self.mark:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media)


class Dashboard:
    def __init__(
        self,
        served: Mapping[str, Served],
        keys: AccessKeys,
        sessions: Sessions,
        clock: Callable[[], float],
        patience: float,
    ) -> None:
        self._served, self._keys, self._sessions, self._clock = served, keys, sessions, clock
        self._patience, self._logins, self._assets = patience, Bucket(LOGINS, time.monotonic), assets()
        listed: tuple[tuple[str, str, Handler], ...] = (
            ("/dashboard", "GET", self._all),
            ("/dashboard/{bandit}", "GET", self._one),
            ("/assets/{file}", "GET", self._asset),
            ("/login", "GET", self._login_page),
            ("/login", "POST", self._login),
            ("/logout", "POST", self._logout),
        )
        self.routes = [(path, verb, self._guarded(handler)) for path, verb, handler in listed]

    def _guarded(self, handler: Handler) -> Handler:
        """With the headers that every page has beside those of the application, and a page for what is refused."""

        async def call(request: Request) -> Response:
            try:
                response = await handler(request)
            except Reply as found:
                response = HTMLResponse(page.refused(found.text), found.status)
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return call

    def _asker(self, request: Request) -> Asker | None:
        """None where somebody has to log in first."""
        authorization = request.headers.get("authorization", "").encode("latin-1")
        asker = self._keys.find(authorization) or self._sessions.find(request.scope)
        if asker is not None:
            if "dashboard" not in asker.may:
                raise Reply(403, "Expected a key that may see the dashboard: an operator's or an auditor's.")
            asker.take("dashboard", 1)
        return asker

    async def _all(self, request: Request) -> Response:
        asker = self._asker(request)
        if asker is None:
            return RedirectResponse("/login", 303)
        if len(self._served) == 1:
            return RedirectResponse(f"/dashboard/{next(iter(self._served))}", 303)
        found = [await one.show(lambda one=one: self._look(one, asker)) for one in self._served.values()]
        return HTMLResponse(page.overview(found, self._keys.needed))

    async def _one(self, request: Request) -> Response:
        asker = self._asker(request)
        if asker is None:
            return RedirectResponse("/login", 303)
        one = self._served.get(request.path_params["bandit"])
        if one is None:
            raise Reply(404, "Expected the name of a bandit of this server.")
        look = await one.show(lambda: self._look(one, asker))
        return HTMLResponse(page.bandit(look, len(self._served) > 1, self._keys.needed))

    def _look(self, one: Served, asker: Asker) -> page.Look:
        """What this asker may see. Where the database cannot be read: that, and nothing else."""
        look = page.Look(one.name, one.setting, self._clock())
        try:
            look = look._replace(status=one.status(), certificate=one.certificate(), trial=one.past.trial())
            look = look._replace(learnt=one.past.summary() if "history" in asker.may else None)
            one.ready()
        except ReticentError as error:
            look = look._replace(problem=_text(error))
        return look

    async def _asset(self, request: Request) -> Response:
        asset = self._assets.get(request.path_params["file"])
        if asset is None:
            raise Reply(404, "Expected a file of the dashboard.")
        return asset.reply(request)

    # who is there

    async def _login_page(self, request: Request) -> Response:
        return HTMLResponse(page.login())

    async def _login(self, request: Request) -> Response:
        """JSON, which no other site's form can send. The key goes nowhere but into a hash. Who has one gets in, however
        many try others: a key of 256 bits is not guessed."""
        body = await hot.whole(request.scope, request.receive, LONGEST_LOGIN, self._patience)
        try:
            given = msgspec.json.decode(body, type=Login)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise Reply(422, "Expected a key.") from None
        asker = self._keys.find(b"Bearer " + given.key.strip().encode("utf-8", "surrogatepass"))
        if asker is None or "dashboard" not in asker.may:
            if (wait := self._logins.take(1)) > 0:
                raise Reply(429, "Expected fewer who try to log in: come again.", wait)
            raise Reply(401, "This is no operator's or auditor's key.")
        return Response(status_code=204, headers={"set-cookie": self._sessions.begin(request.scope, asker)})

    async def _logout(self, request: Request) -> Response:
        await hot.whole(request.scope, request.receive, LONGEST_LOGIN, self._patience)
        return Response(status_code=204, headers={"set-cookie": self._sessions.end(request.scope)})


def assets() -> dict[str, Asset]:
    """The files beside this one that pages load, by name."""
    found = {}
    for path in resources.files("reticent_serve.service").joinpath("static").iterdir():
        content = path.read_bytes()
        kind = path.name.rpartition(".")[2]
        mark = hashlib.sha256(content).hexdigest()[:16]
        found[path.name] = Asset(content, MEDIA.get(kind, "text/plain"), f'"{mark}"')
    return found


def _text(error: Exception) -> str:
    reply = errors.reply(error)
    return "" if reply is None else reply.text
