"""The way between leader and helper: HTTP under mutual TLS 1.3, each with the other's certificate pinned. The leader
asks, always; the helper answers on an address of its own."""

import asyncio
import http.client
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reticent_serve.service.app import UNREAD, refusal, respond
from reticent_serve.service.errors import Reply
from reticent_serve.service.hot import BINARY, Receive, Scope, Send
from reticent_two.service.files import IdentityFiles

TIMEOUT = 30.0
LARGEST = 1 << 24  # bytes of a message
PATH = "/two/"
GONE = 410


class PeerGone(Exception):
    """The helper has retired the era, or its steps are used up."""


class PeerRefused(Exception):
    """The helper refuses this message for good."""


def context(own: IdentityFiles, peer: Path, *, server: bool) -> ssl.SSLContext:
    """ValueError where a file is not what it should be."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.check_hostname = False  # the certificate itself is pinned
    made.verify_mode = ssl.CERT_REQUIRED
    try:
        made.load_cert_chain(own.certificate, own.key)
        made.load_verify_locations(peer)
    except OSError as error:  # of ssl too
        raise ValueError(f"Expected certificates as PEM files, got {type(error).__name__} for {peer.name}.") from None
    return made


class Helper:
    """The helper, as the leader asks it: one connection, which stays. OSError or HTTPException: later again."""

    def __init__(self, address: str, tls: ssl.SSLContext) -> None:
        found = urllib.parse.urlsplit(address)
        assert found.hostname is not None
        self._connection = http.client.HTTPSConnection(found.hostname, found.port, timeout=TIMEOUT, context=tls)

    def ask(self, what: str, body: bytes = b"") -> bytes:
        try:
            self._connection.request("POST", PATH + what, body, {"content-type": BINARY.decode()})
            reply = self._connection.getresponse()
            content = reply.read()
        except BaseException:
            self.close()
            raise
        if reply.status == GONE:
            raise PeerGone(f"Expected a helper whose era is open, got status {GONE} to {what}.")
        if 400 <= reply.status < 500 and reply.status not in (408, 425, 429):
            raise PeerRefused(f"Expected the helper to take a message ({what}), got status {reply.status}.")
        if reply.status != 200:
            raise ConnectionError(f"status {reply.status}")
        return content

    def close(self) -> None:
        self._connection.close()


Handler = Callable[[bytes], bytes]


class PeerServer:
    """The helper's address for the leader, in a thread. handlers: by the last part of a path; one at a time."""

    def __init__(self, listen: str, tls: ssl.SSLContext, handlers: dict[str, Handler]) -> None:
        self._listen, self._tls, self._handlers = listen, tls, handlers
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="reticent helper")
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """ValueError if the address is not free."""
        import uvicorn

        host, _, port = self._listen.rpartition(":")
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        place = socket.socket(family, socket.SOCK_STREAM)
        try:
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            place.bind((host.strip("[]"), int(port)))
        except OSError as error:
            place.close()
            raise ValueError(f"Expected to listen on {self._listen}, got: {error.strerror or error}.") from None
        self.port = place.getsockname()[1]
        given = {"log_config": None, "log_level": "error", "access_log": False, "server_header": False, "ws": "none"}
        config = uvicorn.Config(self, **given, lifespan="off", timeout_keep_alive=600)  # type: ignore[arg-type]
        config.load()
        config.ssl = self._tls
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([place],), daemon=True, name="reticent peer")
        self._thread.start()

    def close(self) -> None:
        if self._thread is not None:
            self._server.should_exit = True
            self._thread.join(TIMEOUT)
        self._worker.shutdown(wait=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            what = scope["path"].removeprefix(PATH)
            if scope["method"] != "POST" or what not in self._handlers:
                raise Reply(404, f"Expected POST {PATH} and one of {', '.join(self._handlers)}.")
            body = await _whole(receive)
            out = await asyncio.get_running_loop().run_in_executor(self._worker, self._handlers[what], body)
            await respond(send, 200, out, BINARY)
        except Exception as error:
            found = refusal(error)
            await respond(send, found.status, found.body, BINARY, found.headers, close=found.status in UNREAD)


async def _whole(receive: Receive) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Reply(408, "Expected a whole message.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST:
            raise Reply(413, f"Expected a message of at most {LARGEST} bytes.")
        if not message.get("more_body"):
            return b"".join(parts)
