"""Asks a server: one connection, and the same request id again where a reply was lost."""

import http.client
import select
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from reticent.errors import Unavailable
from reticent.model.arms import Arms
from reticent_serve.service.calls import Call, Caller, HTTPReply, ServedChoice, in_time, is_counted


class Client:
    """`Client("http://127.0.0.1:8321", "messages", key="reticent_...")`: choose, then reward by the choice's id. Needs
    nothing but numpy. One thread at a time.

    timeout: seconds for one try. patience: for so many seconds a request is sent again where no reply comes or the
    server asks to come again, and then `Unavailable` is raised; 0 is one try. A request has one id in all its tries, so
    that it has one answer and counts once. `Refused`: the server says no."""

    def __init__(
        self, address: str, bandit: str, *, key: str | None = None, timeout: float = 10.0, patience: float = 30.0
    ) -> None:
        self._caller = Caller(address, bandit, key=key, patience=patience)
        kind = http.client.HTTPSConnection if self._caller.tls else http.client.HTTPConnection
        self._connection = kind(self._caller.host, self._caller.port, timeout=timeout)

    def choose(
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
            return ServedChoice.of(self._send(call))
        except Unavailable:
            if otherwise is None:
                raise
            return otherwise

    def reward(self, choice: ServedChoice | str, reward: Any) -> bool:
        """On the server's disk when this returns. None cancels. False: it came after the choice's deadline, or the
        choice is a default, and it never counts. True says nothing else: the first reward of a choice counts, and a
        second one is True as well."""
        return is_counted(choice) and in_time(self._send(self._caller.reward(choice, reward)))

    def erase(self, person: str | int) -> str:
        """What is still waiting of that person is deleted. Says what cannot be undone, in words."""
        return str((self._send(self._caller.erase(person)))["remains"])

    def end_experiment(self) -> None:
        """The holdout ends, once and for good; for operators. What the trial said stands: status has it."""
        self._send(self._caller.end_experiment())

    def certificate(self) -> dict[str, Any]:
        return self._send(self._caller.get("certificate"))

    def status(self) -> dict[str, Any]:
        return self._send(self._caller.get("status"))

    def estimate(self) -> dict[str, Any]:
        return self._send(self._caller.get("estimate"))

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, call: Call) -> dict[str, Any]:
        while (found := call.answer(self._reply(call))) is None:
            time.sleep(call.wait)
        return found

    def _reply(self, call: Call) -> HTTPReply | Exception:
        try:
            if (sock := self._connection.sock) is not None and select.select([sock], [], [], 0)[0]:
                self._connection.close()  # nothing was asked, so what comes is its end: a new one
            self._connection.request(call.method, call.path, call.body, call.headers)
            response = self._connection.getresponse()
            return HTTPReply(response.status, response.headers.get("retry-after"), response.read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            self._connection.close()
            return error
