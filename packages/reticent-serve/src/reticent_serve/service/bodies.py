"""What comes and what goes, in JSON: decoded by a strict schema before anything else looks at it.

Errors say which rule was broken, never with what: a body is raw data."""

import itertools
import json
import math
import re
from collections.abc import Collection
from typing import Annotated, Any

import msgspec

from reticent import checks

UNSET = msgspec.UNSET
FEW = 16  # lists and objects of a body that needs hardly any
STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"([ \t\r\n]*:)?', re.DOTALL)
BEGUN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]', re.DOTALL)  # each byte once: a text without an end is one, too


Text = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
Value = str | int | float | list[str] | None  # of a field
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ChooseBody(msgspec.Struct, forbid_unknown_fields=True):
    """arms: rows of features, or names with features. context, actions: instead of arms, where the bandit has features:
    the person's fields, and the fields of what may be offered; names are enough where actions have no fields, and all
    actions are meant without. available: a mask, or names. own: where a holdout plays the caller's own choice,
    that one, in every request: a name, or a place. propensity: whether it is asked for."""

    arms: list[list[float]] | dict[str, list[float]] | msgspec.UnsetType = UNSET
    context: dict[str, Value] | msgspec.UnsetType = UNSET
    actions: dict[str, dict[str, Value]] | list[str] | msgspec.UnsetType = UNSET
    request: Text | msgspec.UnsetType = UNSET
    available: list[bool | str] | msgspec.UnsetType = UNSET
    person: Text | Whole | msgspec.UnsetType | None = UNSET
    own: Text | Whole | msgspec.UnsetType = UNSET
    propensity: bool | msgspec.UnsetType = UNSET


class NamedBody(msgspec.Struct):
    """Whatever else there is in a body."""

    request: Any = None


class RewardBody(msgspec.Struct, forbid_unknown_fields=True):
    """reward: null cancels."""

    id: str
    reward: float | None


class EraseBody(msgspec.Struct, forbid_unknown_fields=True):
    """person: as it was given to `choose`, as text or as a number: 17 and "17" are one person."""

    person: Text | Whole


class EndExperimentBody(msgspec.Struct, forbid_unknown_fields=True):
    """Nothing has to be said."""


class Chosen(msgspec.Struct, omit_defaults=True):
    """propensity, and its standard error: where asked for; null with an answer that was given before without."""

    index: int
    name: str | None
    id: str
    propensity: float | msgspec.UnsetType | None = UNSET
    propensity_error: float | msgspec.UnsetType | None = UNSET


class Acknowledged(msgspec.Struct):
    """It is on disk, and counts when the choice's deadline has passed. late: the deadline had passed before it came,
    and it never counts. Nothing tells whether it was the first time."""

    acknowledged: bool = True
    late: bool | msgspec.UnsetType = UNSET


class Erased(msgspec.Struct):
    """It is on disk. Nothing tells whether there was anything. remains: what cannot be undone."""

    remains: str
    acknowledged: bool = True


class Refusal(msgspec.Struct):
    """error: the rule that was broken."""

    error: str


class Reader:
    """Decodes one kind of body; ValueError says what was expected. most: lists and objects that it may have, counted
    before they are made: a megabyte of them takes a hundred times as long as one of numbers. Of what came it names keys
    alone, and of those only such as it knows: of the form itself, and `fields` of a schema."""

    def __init__(self, kind: type[Any], expected: str) -> None:
        self._decoder, self._expected = msgspec.json.Decoder(kind, strict=True), expected
        self._fields = tuple(field.name for field in msgspec.structs.fields(kind))

    def __call__(self, body: bytes, most: int = FEW, fields: Collection[str] = ()) -> Any:
        check_containers(body, most)
        try:
            found = self._decoder.decode(body)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise ValueError(self._problem(body, error, fields)) from None
        if not _written_once(self._keys(found), body):
            raise ValueError("Expected each key once.")
        return found

    def _problem(self, body: bytes, error: Exception, fields: Collection[str]) -> str:
        try:
            found = json.loads(body, parse_constant=lambda _: math.nan)
            finite = _finite(found)
        except (ValueError, RecursionError):
            found, finite = None, True
        if not isinstance(found, dict):
            return f"Expected JSON of {self._expected}."
        if not found.keys() <= set(self._fields):
            return f"Expected no keys but {checks.among(self._fields, found)}."
        for name, value in () if finite else found.items():
            if not _finite(value):
                within = [key for key, one in value.items() if not _finite(one)] if isinstance(value, dict) else []
                named = [f"{key} in {name}" for key in within if key in fields] or [name]
                return f"Expected {named[0]} without NaN and infinity, which are no JSON (null says none)."
        key = next((key for key in self._fields if f"`$.{key}" in str(error)), None)
        return f"Expected {'JSON' if key is None else key + ' as in JSON'} of {self._expected}."

    def _keys(self, found: Any) -> int:
        """How many keys it would have with each of them once."""
        given = [value for field in self._fields if (value := getattr(found, field)) is not UNSET]
        return len(given) + sum(map(_keys_within, given))


def each_once(found: Any, body: bytes) -> bool:
    """Whether a body of any form, and what was decoded of it, have as many keys."""
    return _written_once(_keys_anywhere(found), body)


def _written_once(keys: int, body: bytes) -> bool:
    """Each key has a colon: where there are no others, they need not be told from those in texts."""
    return keys == body.count(b":") or keys == sum(1 for match in STRING.finditer(body) if match[1] is not None)


def check_containers(body: bytes, most: int) -> None:
    """ValueError for a body with more lists and objects, whatever else it is."""
    if body.count(b"[") + body.count(b"{") <= most:
        return
    begun = (match for match in BEGUN.finditer(body) if match[0] in (b"[", b"{"))  # not in texts
    if sum(1 for _ in itertools.islice(begun, most + 1)) > most:
        raise ValueError(f"Expected at most {most} lists and objects.")


def _finite(value: Any) -> bool:
    """Of what JSON may hold, as Python reads it."""
    if isinstance(value, dict | list):
        return all(map(_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


def _keys_within(value: Any) -> int:
    return len(value) + sum(map(_keys_within, value.values())) if isinstance(value, dict) else 0


def _keys_anywhere(value: Any) -> int:
    """Lists are looked into as well."""
    if isinstance(value, dict):
        return len(value) + sum(map(_keys_anywhere, value.values()))
    return sum(map(_keys_anywhere, value)) if isinstance(value, list) else 0


choose = Reader(
    ChooseBody,
    'the form {"request": text, "arms": [[number, ...], ...] or {name: [number, ...]}, "available": [true or false, '
    '...] or [name, ...], "person": text or whole number, "own": text or whole number, "propensity": true or false}, '
    'of which arms alone is required, with texts of 1 to 255 characters; or, in place of arms, "context": '
    '{field: value} and "actions": {name: {field: value}} or [name, ...], where a value is a number, a text, a list of '
    "texts or null",
)
reward = Reader(RewardBody, 'the form {"id": text, "reward": number or null}')
erase = Reader(EraseBody, 'the form {"person": text of 1 to 255 characters or whole number}')
end_experiment = Reader(EndExperimentBody, "the form {}")
encode = msgspec.json.Encoder().encode


def named(body: bytes) -> Any:
    """What tells a bad request from others: its `request`; all of it, if it has one that cannot be read."""
    try:
        return msgspec.json.decode(body, type=NamedBody).request
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return body if b'"request"' in body else None


def expected(error: Exception) -> str:
    """The rule that was broken, without what came: messages are "Expected X, got Y."."""
    return str(error).partition(", got")[0].rstrip(".") + "."
