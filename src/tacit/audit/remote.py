"""A bandit of a running server for audits: asked over HTTP, batches included."""

import asyncio
import http.client
import time
from typing import Any

import msgspec

from tacit.errors import Unavailable
from tacit.service.calls import AGAIN, Caller, Refused

SOON = 1.0  # seconds after which one who asks too often comes again, where the server does not say
LATER = 0.05  # seconds after the last deadline


class Remote:
    """(route, body) -> what the reply holds, as audit.service.Asking says. What is read is asked for with `operator`,
    an operator's key, all else with `app`. Nothing is sent twice: where a reply is lost the audit ends."""

    def __init__(self, address: str, bandit: str, *, app: str | None, operator: str | None) -> None:
        self._callers = {
            kind: Caller(address, bandit, key=key, patience=0.0) for kind, key in (("GET", operator), ("POST", app))
        }
        self._hold: float | None = None

    async def __call__(self, route: str, body: Any = None) -> Any:
        return await asyncio.to_thread(self._asked, route, body)

    async def passed(self) -> None:
        if self._hold is None:
            self._hold = float((await self("status"))["hold"])
        await asyncio.sleep(self._hold + LATER)

    def _asked(self, route: str, body: Any) -> Any:
        method = "GET" if body is None else "POST"
        caller, batch = self._callers[method], isinstance(body, list)
        call = caller.get(route)
        headers = call.headers | ({} if body is None else {"content-type": "application/json"})
        text = None if body is None else b"\n".join(map(msgspec.json.encode, body if batch else [body]))
        kind = http.client.HTTPSConnection if caller.tls else http.client.HTTPConnection
        while True:
            connection = kind(caller.host, caller.port, timeout=60.0)
            try:
                connection.request(method, call.path, text, headers)
                response = connection.getresponse()
                reply = response.read()
            except (OSError, http.client.HTTPException) as error:
                raise Unavailable(f"Expected a reply of {caller.address}, got none: {type(error).__name__}.") from None
            finally:
                connection.close()
            if response.status not in AGAIN:
                break
            time.sleep(float(response.headers.get("retry-after") or SOON))
        try:
            found = [msgspec.json.decode(line, type=dict[str, Any]) for line in reply.splitlines()]
        except msgspec.MsgspecError:
            found = []
        if response.status != 200 or not found:
            said = found[0].get("error") if found else None
            raise Refused(response.status, str(said or "Expected a reply of tacit, got another."))
        return found if batch else found[0]
