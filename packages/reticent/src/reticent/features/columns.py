"""How one field becomes numbers: each kind says how many, and gives those that are not zero, of norm at most 1.

Whatever is missing, unknown or beyond its bounds has its place (a slot of its own, or the nearest bound): what a person
sends decides about that person's vector alone. A value of the wrong kind is the program's mistake and a ValueError; so
is, where a field is strict, whatever would get such a place, but for a none that is said."""

import dataclasses
import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks

Entries = list[tuple[int, float]]  # (place, number) of those that are not zero
MOST = 100_000  # numbers of one field
NUMBERS = (int, float, np.integer, np.floating)
USUAL = (int, float)  # types that need no further look: that takes longer than all the rest


@dataclass(frozen=True)
class Number:
    """A number, cut to [low, high], and a slot for none.

    bins = 1: the line from -1 at low to 1 at high. bins >= 2: so many knots at equal distances, between which a number
    is shared by its two neighbours (a hat basis): what is learnt is a broken line through the knots. The shares are
    a, 1 - a >= 0, whose squares sum to at most 1."""

    low: float
    high: float
    bins: int = 1
    weight: float = field(default=1.0, kw_only=True)
    strict: bool = field(default=False, kw_only=True)

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        checks.interval(bounds=(self.low, self.high))
        checks.positive_int(bins=self.bins)
        _check_size(self.bins + 1)
        checks.size(weight=self.weight)
        checks.truth(strict=self.strict)
        _set(self, low=float(self.low), high=float(self.high), bins=int(self.bins), weight=float(self.weight))

    @property
    def size(self) -> int:
        return self.bins + 1

    def entries(self, value: Any) -> Entries:
        low, high = self.low, self.high
        if value is None:
            return [(self.bins, 1.0)]
        if type(value) not in USUAL and (isinstance(value, bool | np.bool_) or not isinstance(value, NUMBERS)):
            raise ValueError(f"a number, got {type(value).__name__}.")
        if value != value:  # NaN
            return [(self.bins, 1.0)]
        if self.strict and not low <= value <= high:
            raise ValueError(f"from {low:g} to {high:g}, since it is strict, got a number outside.")
        number = low if value < low else high if value > high else float(value)  # a long whole number is no float
        share = (number - low) / (high - low)
        if self.bins == 1:
            return [(0, 2 * share - 1)]
        place = share * (self.bins - 1)
        left = min(int(place), self.bins - 2)
        return [(left, 1 - (place - left)), (left + 1, place - left)]

    @property
    def signed(self) -> tuple[bool, ...]:
        """Which of the numbers may be negative."""
        return (True, False) if self.bins == 1 else (False,) * self.size

    def labels(self) -> list[str]:
        step = (self.high - self.low) / max(1, self.bins - 1)
        knots = [f"{self.low + i * step:g}" for i in range(self.bins)] if self.bins > 1 else ["line"]
        return [*knots, "none"]


def _listed(made: Any) -> str:
    """As it would be made, with its values one by one."""
    usual = {"weight": 1.0, "strict": False}
    more = [f"{name}={getattr(made, name)!r}" for name in usual if getattr(made, name) != usual[name]]
    return f"{type(made).__name__}({', '.join([*map(repr, made.values), *more])})"


@dataclass(frozen=True, init=False)
class Category:
    """One of the given texts; a slot for any other and for none."""

    values: tuple[str, ...]
    weight: float
    strict: bool

    __repr__ = _listed

    def __init__(self, *values: str, weight: float = 1.0, strict: bool = False) -> None:
        checks.size(weight=weight)
        checks.truth(strict=strict)
        _set(self, values=_texts("Category", values), weight=float(weight), strict=strict)

    @property
    def size(self) -> int:
        return len(self.values) + 1

    def entries(self, value: Any) -> Entries:
        if is_none(value):
            return [(len(self.values), 1.0)]
        if not isinstance(value, str):
            raise ValueError(f"a text, got {type(value).__name__}.")
        if self.strict and value not in self.values:
            raise ValueError(f"one of {checks.among(self.values, [value])}, since it is strict, got another.")
        return [(self.values.index(value) if value in self.values else len(self.values), 1.0)]

    @property
    def signed(self) -> tuple[bool, ...]:
        """Which of the numbers may be negative: none."""
        return (False,) * self.size

    def labels(self) -> list[str]:
        return [*self.values, "other"]


@dataclass(frozen=True, init=False)
class Tags:
    """Any number of the given texts, each with 1 / sqrt(count); a slot for others, which counts once. None: zeros."""

    values: tuple[str, ...]
    weight: float
    strict: bool

    __repr__ = _listed

    def __init__(self, *values: str, weight: float = 1.0, strict: bool = False) -> None:
        checks.size(weight=weight)
        checks.truth(strict=strict)
        _set(self, values=_texts("Tags", values), weight=float(weight), strict=strict)

    @property
    def size(self) -> int:
        return len(self.values) + 1

    def entries(self, value: Any) -> Entries:
        if is_none(value):
            return []
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ValueError(f"a list of texts, got {type(value).__name__}.")
        given = set(value)
        if not all(isinstance(tag, str) for tag in given):
            raise ValueError("a list of texts, got something else in it.")
        places = [i for i, known in enumerate(self.values) if known in given]
        if len(places) < len(given):
            if self.strict:
                raise ValueError(f"a list of {checks.among(self.values, given)}, since it is strict, got another.")
            places.append(len(self.values))
        return [(i, 1 / math.sqrt(len(places))) for i in places]

    @property
    def signed(self) -> tuple[bool, ...]:
        """Which of the numbers may be negative: none."""
        return (False,) * self.size

    def labels(self) -> list[str]:
        return [*self.values, "other"]


@dataclass(frozen=True)
class Hashed:
    """Any text or whole number, in one of `slots` places with a sign, by a hash; a slot for none. For many values, such
    as cities: two that share a place disturb each other. salt: public; another one shares other places."""

    slots: int
    salt: str = ""
    weight: float = field(default=1.0, kw_only=True)
    strict: bool = field(default=False, kw_only=True)

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        checks.positive_int(slots=self.slots)
        _check_size(self.slots + 1)
        checks.size(weight=self.weight)
        checks.truth(strict=self.strict)
        if not isinstance(self.salt, str):
            raise ValueError(f"Expected salt to be a text, got {type(self.salt).__name__}.")
        _set(self, slots=int(self.slots), weight=float(self.weight))

    @property
    def size(self) -> int:
        return self.slots + 1

    def entries(self, value: Any) -> Entries:
        if is_none(value):
            return [(self.slots, 1.0)]
        if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
            raise ValueError(f"a text or a whole number, got {type(value).__name__}.")
        text = f"{self.salt}\0{value}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.sha256(text).digest()[:8], "big")
        return [((number >> 1) % self.slots, 1.0 if number & 1 else -1.0)]

    @property
    def signed(self) -> tuple[bool, ...]:
        """Which of the numbers may be negative."""
        return *(True,) * self.slots, False

    def labels(self) -> list[str]:
        return [*(f"#{i}" for i in range(self.slots)), "none"]


Column = Number | Category | Tags | Hashed
KINDS = {kind.__name__: kind for kind in (Number, Category, Tags, Hashed)}


def written(column: Column) -> dict[str, Any]:
    """As plain values: strict only where it is."""
    found = {"kind": type(column).__name__, **dataclasses.asdict(column)}
    return found if found.pop("strict") is False else found | {"strict": True}


def read(name: str, given: Any) -> Column:
    """What `written` wrote; ValueError for anything else."""
    fields = dict(given) if isinstance(given, Mapping) else {}
    kind, values = fields.pop("kind", None), fields.pop("values", ())
    if not isinstance(kind, str) or kind not in KINDS:
        kinds = " or ".join(f'kind = "{each}"' for each in KINDS)
        raise ValueError(f"Expected {kinds} for {name}, got another or none.")
    try:
        if not isinstance(values, list | tuple):
            raise TypeError
        return KINDS[kind](*values, **fields)
    except TypeError:
        settings = ", ".join(each.name for each in dataclasses.fields(KINDS[kind]))
        raise ValueError(f"Expected the settings of a {kind} for {name} ({settings}), got others.") from None


def _texts(what: str, values: tuple[Any, ...]) -> tuple[str, ...]:
    if not values or not all(isinstance(value, str) for value in values) or len(set(values)) < len(values):
        raise ValueError(f"Expected {what} of different texts, got others or none.")
    _check_size(len(values) + 1)
    return values


def _check_size(size: int) -> None:
    if size > MOST:
        raise ValueError(f"Expected at most {MOST} numbers for one field, got {size}.")


def is_none(value: Any) -> bool:
    """None, or NaN, which tables have in its place."""
    return value is None or (isinstance(value, float | np.floating) and bool(value != value))


def lenient(column: Column) -> Column:
    """The same, not strict: it makes the same numbers of whatever a strict one takes."""
    return read("", written(column) | {"strict": False})


def strict(column: Column) -> Column:
    """The same, strict."""
    return read("", written(column) | {"strict": True})


def _set(frozen: object, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(frozen, name, value)
