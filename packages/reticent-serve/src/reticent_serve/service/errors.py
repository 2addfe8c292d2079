"""Errors as replies, in one table: the status says what to do, the text which rule was broken, and never with what."""

import math

from reticent import errors
from reticent_serve.service.bodies import Refusal, encode, expected
from reticent_serve.service.groups import Full

AGAIN = (429, 503)  # with Retry-After


class Reply(Exception):
    """A request that is answered so, and not otherwise."""

    def __init__(self, status: int, text: str, wait: float = 1.0) -> None:
        super().__init__(text)
        self.status, self.text, self.wait = status, text, wait

    @property
    def body(self) -> bytes:
        return encode(Refusal(self.text))

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return [(b"retry-after", str(max(1, math.ceil(self.wait))).encode())] if self.status in AGAIN else []


TABLE: tuple[tuple[type[Exception], int, str | None], ...] = (  # the first that fits; None: the rule by its own words
    (Full, 503, "Expected fewer requests at the same time: come again."),
    (errors.Unavailable, 503, "Expected a database that can be written: come again."),
    (
        errors.RolledBack,
        503,
        "Expected a database with all that was shown from it: the operator must restore a backup.",
    ),
    (errors.Moved, 503, "Expected the database that this bandit is in: the operator has moved it, come again."),
    (
        errors.WrongKeys,
        503,
        "Expected the folder of keys that this database is sealed with: the operator must give it.",
    ),
    (errors.UnknownChoice, 404, "Expected the id of a choice that this bandit made."),
    (errors.RefusedRequest, 422, None),
    (errors.HorizonReached, 410, "Expected a bandit whose rounds are not used up."),
    (errors.Retired, 410, "Expected a bandit that was not retired."),
    (errors.BadState, 409, None),
    (errors.LateReport, 410, None),
    (errors.BadReport, 422, None),
    (errors.ReticentError, 409, None),
    (ValueError, 422, None),
)


def reply(error: Exception) -> Reply | None:
    """None for what nobody expected."""
    if isinstance(error, Reply):
        return error
    for kind, status, text in TABLE:
        if isinstance(error, kind):
            return Reply(status, text or expected(error))
    return None
