"""Asks a server: one connection, and the same request id again where a reply was lost."""

import http.client
import json
import time
import urllib.parse
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np

from tacit.errors import TacitError, Unavailable
from tacit.model.arms import Arms

PAUSE = 0.1  # seconds before the second try, twice as long before each later one


class Refused(TacitError):
    """The server says no: `status` is HTTP's, the text says which rule was broken."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Choice:
    index: int
    name: str | None
    id: str
    propensity: float | None = None
    degraded: bool = False


class Client:
    """`Client("http://127.0.0.1:8321", "messages", key="tacit_...")`: choose, then reward by the choice's id. Needs
    nothing but numpy. One thread at a time.

    tries: how often a request is sent where no reply comes or the server asks to come again; a request has one id in
    all of them, so that it has one answer and counts once."""

    def __init__(
        self, address: str, bandit: str, *, key: str | None = None, timeout: float = 10.0, tries: int = 5
    ) -> None:
        parsed = urllib.parse.urlsplit(address)
        if parsed.scheme not in ("http", "https") or not parsed.hostname:
            raise ValueError("Expected an address http://HOST:PORT or https://HOST:PORT, got another.")
        if tries < 1:
            raise ValueError(f"Expected at least one try, got {tries}.")
        kind = http.client.HTTPSConnection if parsed.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parsed.hostname, parsed.port, timeout=timeout)
        self._path = f"{parsed.path.rstrip('/')}/v1/bandits/{urllib.parse.quote(bandit, safe='')}/"
        self._headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self._tries = tries

    def choose(
        self,
        arms: Arms,
        *,
        request: str | None = None,
        available: Sequence[bool] | Sequence[str] | None = None,
        person: str | int | None = None,
        propensity: bool = False,
    ) -> Choice:
        """The arm for one person. request: by default an id of its own."""
        given = {"arms": _plain(arms), "request": request or uuid.uuid4().hex}
        given |= {} if available is None else {"available": np.asarray(available).tolist()}
        given |= {} if person is None else {"person": person}
        given |= {"propensity": True} if propensity else {}
        return Choice(**self._send("POST", "choose", given))

    def reward(self, choice: Choice | str, reward: float | None) -> None:
        """On the server's disk when this returns. None cancels."""
        given = {"id": choice if isinstance(choice, str) else choice.id}
        self._send("POST", "reward", given | {"reward": None if reward is None else float(reward)})

    def certificate(self) -> dict[str, Any]:
        return self._send("GET", "certificate", None)

    def status(self) -> dict[str, Any]:
        return self._send("GET", "status", None)

    def estimate(self) -> dict[str, Any]:
        return self._send("GET", "estimate", None)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, method: str, route: str, given: dict[str, Any] | None) -> dict[str, Any]:
        try:
            body = None if given is None else json.dumps(given, allow_nan=False)
        except ValueError:
            raise ValueError("Expected finite numbers, got NaN or infinity.") from None
        headers = self._headers | ({} if body is None else {"content-type": "application/json"})
        for tried in range(1, self._tries + 1):
            wait = PAUSE * 2 ** (tried - 1)
            try:
                self._connection.request(method, self._path + route, body, headers)
                response = self._connection.getresponse()
                text = response.read()
            except (OSError, http.client.HTTPException):
                self._connection.close()
            else:
                if response.status == 200:
                    found: dict[str, Any] = json.loads(text)
                    return found
                if response.status not in (429, 503):
                    raise Refused(response.status, _error(text))
                asked = response.headers.get("retry-after", "")
                wait = max(wait, float(asked) if asked.isdecimal() else 0.0)
            if tried < self._tries:
                time.sleep(wait)
        raise Unavailable(f"Expected a reply of the server within {self._tries} tries, got none.")


def _plain(arms: Arms) -> Any:
    """As JSON can have it."""
    if isinstance(arms, dict):
        return {name: np.asarray(features, np.float64).tolist() for name, features in arms.items()}
    return np.asarray(arms, np.float64).tolist()


def _error(text: bytes) -> str:
    try:
        return str(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        return "Expected a reply of tacit, got another."
