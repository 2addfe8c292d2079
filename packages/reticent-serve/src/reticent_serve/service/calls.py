"""What a client sends and what it makes of the reply, without sending: both clients, with and without asyncio, are
this and a connection."""

import json
import ssl
import time
import urllib.parse
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np

from reticent import checks
from reticent.errors import ReticentError, Unavailable
from reticent.model.arms import Arms

PAUSE, LONGEST = 0.1, 2.0  # seconds before the second try; twice as long before each later one, and at most so long
AGAIN = (429, 502, 503, 504)  # the server asks to come again, or what stands before it had no reply


class Refused(ReticentError):
    """The server says no: `status` is HTTP's, the text says which rule was broken."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class ServedChoice:
    """id: what its reward is reported by; empty for a default, of which nothing is learnt."""

    index: int
    name: str | None
    id: str
    propensity: float | None = None
    propensity_error: float | None = None

    @classmethod
    def default(cls, given: str | int, arms: Arms | None, actions: Iterable[str] | None) -> Self:
        """What a caller shows without an answer, by its name or place; -1 is the place of a name that the server alone
        knows."""
        named = arms if isinstance(arms, Mapping) else actions
        if named is None and (arms is None or isinstance(given, int)):
            return cls(-1, given, "") if isinstance(given, str) else cls(given, None, "")
        names = list(named or ())
        if given not in (range(len(names)) if isinstance(given, int) else names):
            raise ValueError(f"Expected default to be a name or place among those on offer, got {given!r}.")
        place = given if isinstance(given, int) else names.index(given)
        return cls(place, names[place], "")

    @classmethod
    def of(cls, found: dict[str, Any]) -> Self:
        """What a server answered: a newer one may say more."""
        return cls(**{field.name: found[field.name] for field in fields(cls) if field.name in found})


class HTTPReply(NamedTuple):
    status: int
    retry_after: str | None
    body: bytes


class Call:
    """One request, the same in all its tries. `wait`: seconds until the next."""

    def __init__(self, caller: "Caller", method: str, path: str, headers: dict[str, str], body: bytes | None) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body
        self.wait = PAUSE
        self._caller, self._tried, self._until = caller, 0, time.monotonic() + caller.patience

    def answer(self, reply: HTTPReply | Exception) -> dict[str, Any] | None:
        """What the server says. None: send it again after `wait`; that is so where no reply came, and where the server
        asks for it, as long as there is patience."""
        self._tried += 1
        self.wait = min(LONGEST, PAUSE * 2 ** (self._tried - 1))
        cause, forever = type(reply).__name__, isinstance(reply, ssl.SSLCertVerificationError)
        if isinstance(reply, HTTPReply):
            found = _object(reply.body)
            cause = f"{reply.status}, {(found or {}).get('error', 'not a reply of reticent')}".rstrip(".")
            if reply.status == 200 and found is not None:  # half a reply is none
                return found
            if reply.status not in (200, *AGAIN):
                raise Refused(reply.status, (found or {}).get("error", "Expected a reply of reticent, got another."))
            asked = reply.retry_after or ""
            self.wait = max(self.wait, float(asked) if asked.isdecimal() else 0.0)
        if forever or time.monotonic() + self.wait > self._until:
            caller = self._caller
            raise Unavailable(f"Expected a reply of {caller.address} within {caller.patience:g} s, got none: {cause}.")
        return None


class Caller:
    """Where a bandit is asked, and by which key."""

    def __init__(self, address: str, bandit: str, *, key: str | None, patience: float) -> None:
        parsed = urllib.parse.urlsplit(address)
        if parsed.scheme not in ("http", "https") or not parsed.hostname:
            raise ValueError("Expected an address http://HOST:PORT or https://HOST:PORT, got another.")
        if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
            raise ValueError("Expected a key as `reticent key` prints it, got another text.")
        checks.non_negative(patience=patience)
        self.tls, self.host = parsed.scheme == "https", parsed.hostname
        self.port = parsed.port or (443 if self.tls else 80)
        quote = urllib.parse.quote
        self._path = f"{quote(parsed.path.rstrip('/'), safe='/%')}/v1/bandits/{quote(bandit, safe='')}/"
        self._headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self.patience = patience
        host = f"[{self.host}]" if ":" in self.host else self.host
        self.address = f"{parsed.scheme}://{host}:{self.port}"

    def choose(
        self,
        arms: Arms | None,
        context: Mapping[str, Any] | None,
        actions: Any,
        request: str | None,
        available: Sequence[bool] | Sequence[str] | None,
        person: str | int | None,
        own: str | int | None,
        propensity: bool,
    ) -> Call:
        if (arms is None) == (context is None) or (arms is not None and actions is not None):
            raise ValueError("Expected arms, or context= with actions=, got both or neither.")
        given: dict[str, Any] = {"request": request or uuid.uuid4().hex}
        given |= {"context": _fields(context)} if arms is None else {"arms": _plain(arms)}
        if actions is not None:
            named = isinstance(actions, Mapping)
            given["actions"] = {n: _fields(each) for n, each in actions.items()} if named else list(actions)
        given |= {} if available is None else {"available": np.asarray(available).tolist()}
        given |= {} if person is None else {"person": person}
        given |= {} if own is None else {"own": own}
        given |= {"propensity": True} if propensity else {}
        return self._post("choose", given)

    def reward(self, choice: ServedChoice | str, reward: Any) -> Call:
        return self._post("reward", {"id": _id(choice), "reward": None if reward is None else float(reward)})

    def erase(self, person: str | int) -> Call:
        return self._post("erase", {"person": person})

    def end_experiment(self) -> Call:
        return self._post("end-experiment", {})

    def get(self, what: str) -> Call:
        return Call(self, "GET", self._path + what, self._headers, None)

    def _post(self, route: str, given: dict[str, Any]) -> Call:
        try:
            body = json.dumps(given, allow_nan=False).encode()
        except (ValueError, TypeError) as error:
            wrong = " and ".join(_unsent(given))
            if isinstance(error, ValueError):
                raise ValueError(f"Expected finite numbers in {wrong}, got NaN or infinity.") from None
            raise ValueError(f"Expected numbers, texts and lists of texts in {wrong}, got something else.") from None
        headers = self._headers | {"content-type": "application/json"}
        return Call(self, "POST", self._path + route, headers, body)


def _unsent(given: dict[str, Any]) -> list[str]:
    """The keys of what JSON cannot have; within a context those of its fields."""
    out = []
    for key, value in given.items():
        try:
            json.dumps(value, allow_nan=False)
        except (ValueError, TypeError):
            within = _unsent(value) if key == "context" and isinstance(value, dict) else []
            out += [f"{key} ({', '.join(within)})" if within else key]
    return out


def is_counted(choice: ServedChoice | str) -> bool:
    """Not a default, of which the server knows nothing."""
    return _id(choice) != ""


def in_time(found: dict[str, Any]) -> bool:
    """Of what a server answered to a reward."""
    return not found.get("late", False)


def _id(choice: ServedChoice | str) -> str:
    return choice if isinstance(choice, str) else choice.id


def _plain(arms: Arms) -> Any:
    """As JSON can have it."""
    if isinstance(arms, dict):
        return {name: np.asarray(features, np.float64).tolist() for name, features in arms.items()}
    return np.asarray(arms, np.float64).tolist()


def _fields(given: Any) -> Any:
    """As JSON can have them; NaN is none, as in a table."""
    return {name: _value(value) for name, value in given.items()} if isinstance(given, Mapping) else given


def _value(value: Any) -> Any:
    plain = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(plain, float) and plain != plain:
        return None
    return sorted(plain) if isinstance(plain, set | frozenset) else plain


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
