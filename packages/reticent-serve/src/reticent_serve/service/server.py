"""`reticent serve`: one process of uvicorn, without access logs (the number of rewards is raw)."""

import contextlib
import errno
import gc
import logging
import math
import os
import resource
import socket
import ssl
import sys
import threading
from collections.abc import Callable
from typing import Protocol

from reticent.process import stopping_at_once
from reticent_serve.service.config import Config, ServerSetting
from reticent_serve.service.user import become

KEEP = 30  # seconds that an idle connection stays
LAST = 5.0  # seconds that letting go of databases may take


class ServedApplication(Protocol):
    """An application of ASGI with files of its own."""

    def open(self) -> None:
        """Errors of settings and databases come from here, before anything is served."""

    def close(self) -> None: ...


def serve(config: Config, started: Callable[[str], None] = lambda address: None) -> None:
    """The bandits of the joint model."""
    from reticent_serve.service.app import Application

    run(Application(config), config.server, started)


def run(app: ServedApplication, setting: ServerSetting, started: Callable[[str], None]) -> None:
    """Until SIGTERM or SIGINT: then nobody new is let in, those at work are answered, and databases are let go. One
    that does not answer is not waited for: what was acknowledged is on its disk."""
    import uvicorn

    from reticent_serve.service.connections import within

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(message)s")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what a crash would write holds persons' ids, and keys
    check_tls(setting)
    place = bound(setting)
    try:
        become(setting.user)
        with stopping_at_once():
            app.open()
        gc.freeze()  # whatever is there by now stays, so that no collection looks at it while people wait
    except BaseException:
        place.close()
        raise
    end = threading.Timer(setting.drain + LAST, os._exit, (1,))
    end.daemon = True

    class HTTPServer(uvicorn.Server):
        async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
            await super().startup(sockets)  # type: ignore[arg-type]
            if self.started:
                port = self.servers[0].sockets[0].getsockname()[1]
                started(f"{'https' if setting.tls_certificate else 'http'}://{setting.host}:{port}")

        async def shutdown(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
            end.start()
            await super().shutdown(sockets)  # type: ignore[arg-type]

    settings = uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=within(setting.patience),
        ws="none",
        lifespan="on",
        limit_concurrency=setting.connections,
        timeout_keep_alive=KEEP,
        timeout_graceful_shutdown=math.ceil(setting.drain),
        ssl_certfile=setting.tls_certificate,
        ssl_keyfile=setting.tls_key,
    )
    try:
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again when all is done
            HTTPServer(settings).run([place])
    finally:
        place.close()
        app.close()
        end.cancel()


def bound(setting: ServerSetting) -> socket.socket:
    """Where requests will come, taken before anything is compiled or opened; nobody is let in yet."""
    place = None
    try:
        found = socket.getaddrinfo(setting.host, setting.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = min(found, key=lambda one: one[0])  # IPv4 before IPv6
        place = socket.socket(family, kind)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(address)
    except OSError as error:
        if place is not None:
            place.close()
        if error.errno == errno.EADDRINUSE:
            raise ValueError(f"Expected port {setting.port} to be free, got one in use (--port).") from None
        where = f"{setting.host}, port {setting.port}"
        raise ValueError(f"Expected to listen on {where}, got: {error.strerror or error}.") from None
    return place


def check_tls(setting: ServerSetting) -> None:
    """Before anything is compiled or opened."""
    if setting.tls_certificate is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                setting.tls_certificate, setting.tls_key
            )
        except OSError as error:  # of ssl too
            kind = type(error).__name__
            raise ValueError(f"Expected a certificate and its key, as PEM files, got {kind}.") from None
