"""JSON that is exactly what was expected: fields of stated types and ranges, no other ones, none of them twice.

A field is a function of a JSON value: it returns the value as the program uses it, or raises Wrong. Nothing is
converted on the way: true is no number, 2.0 is not whole, "1" is text."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Field = Callable[[Any], Any]

STRING = re.compile(rb'"[^"]*"')
BRACKETS = 1 << 12  # objects and lists in a document: three matrices of a thousand rows have fewer


class Wrong(Exception):
    """What was expected, and where."""


def parse(data: bytes, *, longest: int, deepest: int) -> Any:
    """The JSON value in `data`: ASCII without escapes, no NaN or Infinity, no name twice in an object. Length, depth
    and the number of brackets are bounded before anything is parsed."""
    if len(data) > longest:
        raise Wrong(f"at most {longest} bytes")
    if b"\\" in data or not data.isascii():
        raise Wrong("plain ASCII without escapes")
    bare = np.frombuffer(STRING.sub(b"", data), np.uint8)
    opened = (bare == ord("[")) | (bare == ord("{"))
    closed = (bare == ord("]")) | (bare == ord("}"))
    depth = np.cumsum(opened.astype(np.int32) - closed.astype(np.int32))
    if depth.max(initial=0) > deepest or int(opened.sum()) > BRACKETS:
        raise Wrong(f"at most {BRACKETS} brackets, {deepest} deep")
    try:
        return json.loads(data.decode("ascii"), object_pairs_hook=_once, parse_constant=_constant)
    except ValueError:
        raise Wrong("JSON") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise Wrong("every name once in an object")
    return out


def _constant(name: str) -> NoReturn:
    raise Wrong("finite numbers")


# fields


def real(low: float, high: float) -> Field:
    """A number in [low, high]."""

    def field(value: Any) -> float:
        if type(value) not in (int, float) or not low <= value <= high:
            raise Wrong(f"a number from {low:g} to {high:g}")
        return float(value)

    return field


def whole(low: int, high: int) -> Field:
    """A whole number from low to high."""

    def field(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise Wrong(f"a whole number from {low} to {high}")
        return value

    return field


def flag(value: Any) -> bool:
    if type(value) is not bool:
        raise Wrong("true or false")
    return value


def word(value: Any) -> str:
    """A name, as of a class."""
    if type(value) is not str or not re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,63}", value):
        raise Wrong("a name")
    return value


def hexadecimal(value: Any) -> str:
    """A SHA-256 digest."""
    if type(value) is not str or not re.fullmatch("[0-9a-f]{64}", value):
        raise Wrong("a digest of 64 hexadecimal digits")
    return value


def one_of(*values: str | int) -> Field:
    """One of `values`; its type counts."""

    def field(value: Any) -> Any:
        if not any(type(value) is type(known) and value == known for known in values):
            raise Wrong(" or ".join(map(str, values)))
        return value

    return field


def or_null(inner: Field) -> Field:
    return lambda value: None if value is None else inner(value)


def numbers(largest: float) -> Field:
    """A list of numbers in [-largest, largest], as an array that nobody can change."""

    def field(value: Any) -> Array:
        if type(value) is not list or not set(map(type, value)) <= {int, float}:
            raise Wrong("a list of numbers")
        if not all(-largest <= each <= largest for each in value):
            raise Wrong(f"numbers from {-largest:g} to {largest:g}")
        out = np.array(value, np.float64)
        out.setflags(write=False)
        return out

    return field


def matrix(largest: float) -> Field:
    """Rows of equal length, as `numbers`; without rows (0, 0)."""
    row = numbers(largest)

    def field(value: Any) -> Array:
        if type(value) is not list:
            raise Wrong("a list of rows")
        rows = [row(each) for each in value]
        if len({each.size for each in rows}) > 1:
            raise Wrong("rows of equal length")
        out = np.array(rows) if rows else np.zeros((0, 0))
        out.setflags(write=False)
        return out

    return field


def record(fields: Mapping[str, Field]) -> Field:
    """An object with exactly those fields."""

    def field(value: Any) -> dict[str, Any]:
        if type(value) is not dict or value.keys() != fields.keys():
            raise Wrong(f"exactly {', '.join(sorted(fields)) or 'nothing'}")
        return {name: _within(name, inner, value[name]) for name, inner in fields.items()}

    return field


def variant(key: str, kinds: Mapping[str, Mapping[str, Field]]) -> Field:
    """An object whose `key` is one of `kinds`, and whose other fields are those of its kind."""
    records = {name: record({key: one_of(name), **fields}) for name, fields in kinds.items()}

    def field(value: Any) -> dict[str, Any]:
        name = value.get(key) if type(value) is dict else None
        if type(name) is not str or name not in records:
            raise Wrong(f"a {key} that is {' or '.join(records)}")
        out: dict[str, Any] = records[name](value)
        return out

    return field


def _within(name: str, inner: Field, value: Any) -> Any:
    try:
        return inner(value)
    except Wrong as wrong:
        raise Wrong(f"{wrong} in {name}") from None
