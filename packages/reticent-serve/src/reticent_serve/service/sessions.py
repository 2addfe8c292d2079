"""A browser has no header for a key: whoever showed one gets a cookie that says so, for some hours.

It holds a name and a time, with a code that only workers can make: the secret is in the folder of keys, which all of
them share. So it works at every worker and after a restart, and ends when the key leaves the configuration."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie

from reticent_serve.service.hot import Scope
from reticent_serve.service.keys import AccessKeys, Asker

COOKIE = "reticent"
HOURS = 12


class Sessions:
    def __init__(self, keys: AccessKeys, secret: Callable[[], bytes], clock: Callable[[], float]) -> None:
        self._keys, self._secret, self._clock = keys, secret, clock

    def begin(self, scope: Scope, asker: Asker) -> str:
        """The value of the header set-cookie. Scripts cannot read it, and no other site's page can send it."""
        until = int(self._clock()) + HOURS * 3600
        name = base64.urlsafe_b64encode(asker.name.encode()).decode()
        return self._header(scope, f"{name}.{until}.{self._code(asker, until)}", HOURS * 3600)

    def end(self, scope: Scope) -> str:
        return self._header(scope, "", 0)

    def find(self, scope: Scope) -> Asker | None:
        """Whose cookie a request carries."""
        try:
            name, until, code = self._value(scope).split(".")
            who = base64.urlsafe_b64decode(name.encode()).decode()
            for asker in self._keys.named(who) if int(until) > self._clock() else ():
                if hmac.compare_digest(code, self._code(asker, int(until))):
                    return asker
        except (ValueError, TypeError, CookieError, binascii.Error):
            pass
        return None

    def _code(self, asker: Asker, until: int) -> str:
        text = asker.hash + f" dashboard {until} {asker.name}".encode()
        return hmac.new(self._secret(), text, hashlib.sha256).hexdigest()

    def _value(self, scope: Scope) -> str:
        given = next((value for name, value in scope["headers"] if name == b"cookie"), b"")
        found = SimpleCookie(given.decode("latin-1")).get(COOKIE)
        return "" if found is None else found.value

    def _header(self, scope: Scope, value: str, seconds: int) -> str:
        before = next((value for name, value in scope["headers"] if name == b"x-forwarded-proto"), b"")
        secure = "; Secure" if b"https" in (scope["scheme"].encode(), before) else ""
        return f"{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
