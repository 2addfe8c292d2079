"""What the settings of a schema must be, before anything is made of them."""

from collections.abc import Mapping
from typing import Any

from tacit.features.columns import Column


def by_name(fields: Any) -> dict[str, Column]:
    named = isinstance(fields, Mapping) and all(isinstance(name, str) for name in fields)
    if not named or not all(isinstance(column, Column) for column in fields.values()):
        raise ValueError("Expected fields by name, each Number, Category, Tags or Hashed, got another.")
    return dict(sorted(fields.items()))


def texts(what: str, given: Any) -> tuple[str, ...]:
    found = tuple(given) if isinstance(given, tuple | list) else (None,)
    if not all(isinstance(one, str) for one in found) or len(set(found)) < len(found):
        raise ValueError(f"Expected {what} to be different texts, got others.")
    return tuple(map(str, found))


def pairs(given: Any) -> tuple[tuple[str, str], ...]:
    listed = given if isinstance(given, tuple | list) else [()]
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in listed):
        raise ValueError("Expected cross to be pairs of names of fields, got others.")
    return tuple((texts("cross", pair[:1])[0], texts("cross", pair[1:])[0]) for pair in listed)
