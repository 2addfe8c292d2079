"""A person and what could be offered to them, as vectors of norm at most 1: fields with public bounds, side by side."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit import checks
from tacit.data import Array
from tacit.features.columns import KINDS, Category, Column, Entries, Hashed, Number, Tags, is_none

ARMS = ("shared", "disjoint", "hybrid")
FEW = 20  # different texts of a public table that still are a Category


@dataclass(frozen=True, kw_only=True)
class Schema:
    """context: fields of a person. action: fields of what is offered. cross: pairs of field names, whose products say
    that one matters in view of the other.

    arms: "shared": x = (1, context, action, crosses), for actions that have fields. "disjoint": each of `actions`
    has a part of the vector for itself, (1, context, crosses of context), and zeros elsewhere: what is learnt of one
    says nothing of another. "hybrid": both, side by side.

    Norm. Every field gives numbers of norm at most 1 (columns.py); a cross is their outer product, of norm at most
    1 * 1. Part j has weight w_j, and v = (w_1 part_1, ...) / sqrt(sum w_j^2) has norm at most 1. Disjoint puts v in one
    of several places: the same norm. Hybrid is (shared, disjoint) / sqrt 2. Weights are public, 1 by default; a cross
    has the product of its two.

    public: where bounds were learnt, in words; the certificate repeats it."""

    context: Mapping[str, Column] = dataclasses.field(default_factory=dict)
    action: Mapping[str, Column] = dataclasses.field(default_factory=dict)
    arms: str = "shared"
    actions: tuple[str, ...] = ()
    cross: Sequence[tuple[str, str]] = ()
    public: str = ""
    _fields: Mapping[str, Column] = dataclasses.field(init=False, repr=False, compare=False)
    _shared: "_Parts | None" = dataclasses.field(init=False, repr=False, compare=False)
    _own: "_Parts | None" = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checks.one_of(ARMS, arms=self.arms)
        for fields in (self.context, self.action):
            for name, column in fields.items():
                if not isinstance(name, str) or not isinstance(column, Column):
                    raise ValueError("Expected fields by name, each Number, Category, Tags or Hashed, got another.")
        twice = set(self.context) & set(self.action)
        if twice:
            raise ValueError(f"Expected different names in context and action, got {', '.join(sorted(twice))} twice.")
        object.__setattr__(self, "actions", tuple(self.actions))
        object.__setattr__(self, "cross", tuple((a, b) for a, b in self.cross))
        if (self.arms == "shared") != (not self.actions):
            raise ValueError(f"Expected names of actions for arms='disjoint' and 'hybrid' alone, got {self.arms!r}.")
        if len(set(self.actions)) < len(self.actions) or not all(isinstance(name, str) for name in self.actions):
            raise ValueError("Expected actions to be different texts, got others.")
        if self.arms == "disjoint" and self.action:
            raise ValueError("Expected no fields of actions for arms='disjoint', got some: use 'hybrid'.")
        if self.arms == "shared" and not self.action:
            raise ValueError("Expected fields of actions for arms='shared', got none: use arms='disjoint'.")
        known = {**self.context, **self.action}
        for pair in self.cross:
            for name in pair:
                checks.name("a field of the schema in cross", name, known)
        shared = [] if self.arms == "disjoint" else [(n,) for n in known] + [tuple(p) for p in self.cross]
        own = [(n,) for n in self.context] + [tuple(p) for p in self.cross if set(p) <= set(self.context)]
        object.__setattr__(self, "_fields", known)
        object.__setattr__(self, "_shared", None if self.arms == "disjoint" else _Parts([(), *shared], known))
        object.__setattr__(self, "_own", None if self.arms == "shared" else _Parts([(), *own], known))

    # what it makes

    @property
    def dim(self) -> int:
        """Numbers of a vector."""
        return self._shared_size + len(self.actions) * (self._own.size if self._own else 0)

    @property
    def blocks(self) -> int:
        """In how many parts of equal length a vector has all but one zero; 1 unless arms='disjoint'."""
        return len(self.actions) if self.arms == "disjoint" else 1

    @property
    def labels(self) -> list[str]:
        """What each number of a vector stands for."""
        own = self._own.labels() if self._own else []
        shared = self._shared.labels() if self._shared else []
        return shared + [f"{action}: {label}" for action in self.actions for label in own]

    def vectors(
        self, context: Mapping[str, Any], actions: Mapping[str, Mapping[str, Any]] | Sequence[str] | None = None
    ) -> dict[str, Array]:
        """Name -> features, for `choose`. context: a person's fields; what is left out is none. actions: name ->
        fields of what may be offered; names are enough where actions have no fields, and None is all of them."""
        person = self._entries(context, self.context)
        offered = self._offered(actions)
        if not offered:
            raise ValueError("Expected at least one action, got none.")
        return {name: self._vector(person | self._entries(each, self.action), name) for name, each in offered.items()}

    def placed(
        self, context: Mapping[str, Any], actions: Mapping[str, Mapping[str, Any]] | Sequence[str] | None = None
    ) -> dict[str, Array]:
        """The same for arms='disjoint', without the zeros: name -> (z, a), the numbers of the part that the action has
        for itself, which are the same for all, and the number of that part."""
        offered = self._offered(actions)
        own = next(iter(self.vectors(context, self.actions[:1]).values()))[: self.dim // self.blocks]
        return {name: np.append(own, self.actions.index(name)) for name in offered}

    def encode(self, frame: Any) -> Array:
        """(n, dim): for each row of a table (polars, pandas, or a mapping of columns) the vector of its fields; the
        column "action" names the action where actions have names."""
        columns = set(frame.columns if hasattr(frame, "columns") else frame)
        names = [name for name in self._fields if name in columns]
        if self.actions and "action" not in columns:
            raise ValueError("Expected a column 'action' with names of actions, got none.")
        count = len(next(iter(frame.values()))) if isinstance(frame, Mapping) else len(frame)
        own = list(frame["action"]) if self.actions else [""] * count
        out = np.zeros((count, self.dim))
        for i, (row, action) in enumerate(zip(_rows(frame, names, count), own, strict=True)):
            out[i] = self._vector(self._entries(row, self._fields), action)
        return out

    @classmethod
    def from_public(
        cls,
        frame: Any,
        *,
        context: Sequence[str] = (),
        action: Sequence[str] = (),
        bins: int = 8,
        hashed: int = 32,
        **options: Any,
    ) -> "Schema":
        """Bounds from a table that is public: the one way to learn them, and the people in it are not protected.
        Numbers get their least and largest value, texts a Category if there are few, else Hashed, lists Tags."""
        fields = {name: _learnt(name, list(frame[name]), bins, hashed) for name in (*context, *action)}
        rows = len(list(frame[[*context, *action][0]])) if fields else 0
        return cls(
            context={name: fields[name] for name in context},
            action={name: fields[name] for name in action},
            public=f"Bounds of features were learnt from a table of {rows} rows, whose people are not protected.",
            **options,
        )

    # as settings

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for a file: `Schema.from_dict` of it is the same schema."""
        return {
            "context": {name: _written(column) for name, column in self.context.items()},
            "action": {name: _written(column) for name, column in self.action.items()},
            "arms": self.arms,
            "actions": list(self.actions),
            "cross": [list(pair) for pair in self.cross],
            "public": self.public,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Schema":
        fields = dict(given)
        unknown = set(fields) - {field.name for field in dataclasses.fields(cls) if field.init}
        if unknown:
            raise ValueError("Expected a schema's context, action, arms, actions, cross and public, got another name.")
        for side in ("context", "action"):
            fields[side] = {name: _read(name, column) for name, column in fields.get(side, {}).items()}
        return cls(**fields)

    # helpers

    @property
    def _shared_size(self) -> int:
        return self._shared.size if self._shared else 0

    def _offered(self, actions: Any) -> Mapping[str, Mapping[str, Any]]:
        if actions is None:
            if self.action or not self.actions:
                raise ValueError("Expected actions= with the fields of each action, got none.")
            return {name: {} for name in self.actions}
        if not isinstance(actions, Mapping):
            if self.action or isinstance(actions, str):
                raise ValueError("Expected actions to be a mapping from names to fields, got names or a text.")
            actions = {name: {} for name in actions}
        for name in actions:
            if self.actions and name not in self.actions:
                raise ValueError("Expected names of the schema's actions, got an unknown one.")
        found: Mapping[str, Mapping[str, Any]] = actions
        return found

    def _entries(self, given: Mapping[str, Any], fields: Mapping[str, Column]) -> dict[str, Entries]:
        if not isinstance(given, Mapping) or not given.keys() <= fields.keys():
            raise ValueError(f"Expected fields of the schema ({', '.join(fields) or 'none'}), got another.")
        out = {}
        for name, column in fields.items():
            try:
                out[name] = column.entries(given.get(name))
            except ValueError as error:
                raise ValueError(f"Expected {name} to be {error}") from None
        return out

    def _vector(self, entries: dict[str, Entries], action: str) -> Array:
        out = np.zeros(self.dim)
        scale = 1 / math.sqrt(2) if self.arms == "hybrid" else 1.0
        if self._shared:
            self._shared.put(entries, scale, out)
        if self._own:
            if action not in self.actions:
                raise ValueError("Expected names of the schema's actions, got an unknown one.")
            start = self._shared_size + self.actions.index(action) * self._own.size
            self._own.put(entries, scale, out[start : start + self._own.size])
        return out


class _Parts:
    """Parts of a vector side by side: a constant (), fields (name,) and crosses (one, other)."""

    def __init__(self, parts: Sequence[tuple[str, ...]], fields: Mapping[str, Column]) -> None:
        self._fields = fields
        weights = [math.prod(fields[name].weight for name in part) for part in parts]
        total = math.sqrt(sum(w * w for w in weights))
        sizes = [math.prod(fields[name].size for name in part) for part in parts]
        starts = [0, *itertools.accumulate(sizes)]
        self._parts = list(zip(parts, starts, (w / total for w in weights), strict=False))
        self.size = starts[-1]

    def put(self, entries: Mapping[str, Entries], scale: float, out: Array) -> None:
        for part, start, weight in self._parts:
            if len(part) == 2:
                width = self._fields[part[1]].size
                for i, a in entries[part[0]]:
                    for j, b in entries[part[1]]:
                        out[start + i * width + j] = scale * weight * a * b
            else:
                for i, a in entries[part[0]] if part else [(0, 1.0)]:
                    out[start + i] = scale * weight * a

    def labels(self) -> list[str]:
        out = []
        for part, _, _ in self._parts:
            sides = [[f"{name}={label}" for label in self._fields[name].labels()] for name in part]
            out += [" x ".join(pair) or "constant" for pair in itertools.product(*sides)]
        return out


def _rows(frame: Any, names: Sequence[str], count: int) -> Iterator[dict[str, Any]]:
    columns = [frame[name] for name in names]
    if not columns:
        return iter([{}] * count)
    return (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))


def _learnt(name: str, values: list[Any], bins: int, hashed: int) -> Column:
    """The kind of field that a public column is."""
    known = [value for value in values if not is_none(value)]
    if known and all(isinstance(value, int | float | np.integer | np.floating) for value in known):
        low, high = float(min(known)), float(max(known))
        if low < high:
            return Number(low, high, bins)
    elif known and all(isinstance(value, str) for value in known):
        texts = sorted(set(known))
        return Category(*texts) if len(texts) <= FEW else Hashed(hashed)
    elif known and all(isinstance(value, Iterable) for value in known):
        return Tags(*sorted({str(tag) for value in known for tag in value}))
    raise ValueError(f"Expected two different numbers, texts or lists of texts in {name}, got others.")


def _written(column: Column) -> dict[str, Any]:
    return {"kind": type(column).__name__, **dataclasses.asdict(column)}


def _read(name: str, given: Any) -> Column:
    fields = dict(given)
    kind = KINDS.get(fields.pop("kind", None))
    if kind is None:
        raise ValueError(f"Expected {name} to be of the kind {', '.join(KINDS)}, got another.")
    values = fields.pop("values", ())
    try:
        return kind(*values, **fields)
    except TypeError:
        raise ValueError(f"Expected the settings of a {kind.__name__} for {name}, got others.") from None
