"""A person and what could be offered to them, as vectors of norm at most 1: fields with public bounds, side by side."""

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reticent import checks
from reticent.data import Array, Booleans
from reticent.features import frames
from reticent.features.columns import Category, Column, Entries, Hashed, Number, Tags, is_none, lenient, read, written


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


FEW = 20  # different texts that still are a Category
SLOTS = 32  # of more of them


def learnt(name: str, values: list[Any], bins: int) -> Column:
    """The kind of field that a public column is."""
    known = [value for value in values if not is_none(value)]
    if known and all(isinstance(value, int | float | np.integer | np.floating) for value in known):
        low, high = float(min(known)), float(max(known))
        if low < high:
            return Number(low, high, bins)
    elif known and all(isinstance(value, str) for value in known):
        texts = sorted(set(known))
        return Category(*texts) if len(texts) <= FEW else Hashed(SLOTS)
    elif known and all(isinstance(value, Iterable) for value in known):
        return Tags(*sorted({str(tag) for value in known for tag in value}))
    raise ValueError(f"Expected two different numbers, texts or lists of texts in {name}, got others.")


CONSTANT: Entries = [(0, 1.0)]


class SchemaPart(NamedTuple):
    """names: none for the constant, one of a field, two of a cross. From `start` on, `size` numbers, each times
    `weight`. signed: which of them may be negative."""

    names: tuple[str, ...]
    start: int
    size: int
    weight: float
    signed: Booleans


class Parts:
    """A part is a constant (), a field (name,) or a cross (one, other). Vectors have norm at most 1.

    person: the names of fields that are the same for all that is offered to somebody."""

    def __init__(self, parts: Sequence[tuple[str, ...]], fields: Mapping[str, Column], person: Collection[str]) -> None:
        self._fields = fields
        weights = [math.prod(fields[name].weight for name in part) for part in parts]
        total = math.sqrt(sum(w * w for w in weights))
        sizes = [math.prod(fields[name].size for name in part) for part in parts]
        starts = [0, *itertools.accumulate(sizes)]
        self._parts = list(zip(parts, starts, (w / total for w in weights), strict=False))
        self._of_person = [one for one in self._parts if set(one[0]) <= set(person)]
        self._of_action = [one for one in self._parts if not set(one[0]) <= set(person)]
        self.size = starts[-1]

    def of_person(self, entries: Mapping[str, Entries]) -> Array:
        """A vector with those parts that a person's fields alone decide."""
        out = np.zeros(self.size)
        self._put(self._of_person, entries, out)
        return out

    def put_action(self, entries: Mapping[str, Entries], out: Array) -> None:
        """The other parts."""
        self._put(self._of_action, entries, out)

    def _put(
        self, parts: Sequence[tuple[tuple[str, ...], int, float]], entries: Mapping[str, Entries], out: Array
    ) -> None:
        for part, start, weight in parts:
            if len(part) == 2:
                width = self._fields[part[1]].size
                for i, a in entries[part[0]]:
                    for j, b in entries[part[1]]:
                        out[start + i * width + j] = weight * a * b
            else:
                for i, a in entries[part[0]] if part else CONSTANT:
                    out[start + i] = weight * a

    @property
    def each(self) -> tuple[SchemaPart, ...]:
        """What lies where."""
        out = []
        for names, start, weight in self._parts:
            signs = [self._fields[name].signed for name in names]
            signed = np.zeros(1, np.bool_)
            for sides in signs:
                signed = np.logical_or.outer(signed, np.array(sides)).ravel()
            out.append(SchemaPart(names, start, signed.size, weight, signed))
        return tuple(out)

    def labels(self) -> list[str]:
        out = []
        for part, _, _ in self._parts:
            sides = [[f"{name}={label}" for label in self._fields[name].labels()] for name in part]
            out += [" x ".join(pair) or "constant" for pair in itertools.product(*sides)]
        return out


ARMS = ("shared", "disjoint")
EMPTY: Mapping[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Schema:
    """context: fields of a person. action: fields of what is offered. cross: pairs of field names, whose products say
    that one matters in view of the other.

    arms: "shared": x = (1, context, action, crosses), for actions that have fields. "disjoint": each of `actions`
    has a part of the vector for itself, (1, context, crosses of context), and zeros elsewhere: what is learnt of one
    says nothing of another.

    Norm. Every field gives numbers of norm at most 1 (columns.py); a cross is their outer product, of norm at most
    1 * 1. Part j has weight w_j, and v = (w_1 part_1, ...) / sqrt(sum w_j^2) has norm at most 1. Disjoint puts v in one
    of several places: the same norm. Weights are public, 1 by default; a cross
    has the product of its two.

    max_actions: how many actions there may ever be; as many as `actions` by default. Each has its part of the vector
    from the start, so that a new one changes no number of the others. retired: those of `actions` that are not offered
    any more; they keep their place in the list and in the vector.

    A strict field takes no value that it does not know, and has to be there: the request is refused to the program that
    sent it, before it is a choice. What is promised is for replacing a person by one whose requests are valid.

    public: where bounds were learnt, in words; the certificate repeats it. Fields are kept in the order of their names:
    a schema is the same however it was written down."""

    context: Mapping[str, Column] = dataclasses.field(default_factory=dict)
    action: Mapping[str, Column] = dataclasses.field(default_factory=dict)
    arms: str = "shared"
    actions: tuple[str, ...] = ()
    cross: Sequence[tuple[str, str]] = ()
    public: str = ""
    max_actions: int | None = None
    retired: tuple[str, ...] = ()
    dim: int = dataclasses.field(init=False, repr=False, compare=False)  # numbers of a vector
    _fields: Mapping[str, Column] = dataclasses.field(init=False, repr=False, compare=False)
    _parts: Parts = dataclasses.field(init=False, repr=False, compare=False)  # of an action's own part, or of all arms
    _starts: Mapping[str, int] = dataclasses.field(init=False, repr=False, compare=False)  # of each action's own part

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        checks.one_of(ARMS, arms=self.arms)
        for side in ("context", "action"):
            object.__setattr__(self, side, by_name(getattr(self, side)))
        twice = set(self.context) & set(self.action)
        if twice:
            raise ValueError(f"Expected different names in context and action, got {', '.join(sorted(twice))} twice.")
        object.__setattr__(self, "actions", texts("actions", self.actions))
        object.__setattr__(self, "cross", pairs(self.cross))
        if not isinstance(self.public, str):
            raise ValueError(f"Expected public to be a text, got {type(self.public).__name__}.")
        if self.arms != "shared" and not self.actions:
            raise ValueError(f"Expected names of actions (actions=) for arms={self.arms!r}, got none.")
        if self.arms == "shared" and self.actions:
            raise ValueError("Expected no names of actions for arms='shared', got some: use 'disjoint'.")
        if self.arms == "disjoint" and self.action:
            raise ValueError("Expected no fields of actions for arms='disjoint', got some: use 'shared'.")
        if self.arms == "shared" and not self.action:
            raise ValueError("Expected fields of actions for arms='shared', got none: use arms='disjoint'.")
        self._check_actions()
        known = {**self.context, **self.action}
        for pair in self.cross:
            for name in pair:
                checks.name("a field of the schema in cross", name, known)
        parts = Parts([(), *((name,) for name in known), *self.cross], known, self.context)
        object.__setattr__(self, "_fields", known)
        object.__setattr__(self, "_parts", parts)
        object.__setattr__(self, "_starts", {name: i * parts.size for i, name in enumerate(self.actions)})
        object.__setattr__(self, "dim", self.blocks * parts.size)

    def _check_actions(self) -> None:
        object.__setattr__(self, "retired", texts("retired", self.retired))
        if self.max_actions is not None:
            checks.positive_int(max_actions=self.max_actions)
            if self.arms == "shared" or self.max_actions < len(self.actions):
                raise ValueError(
                    f"Expected max_actions for arms that have names, and at least as many as there are "
                    f"({len(self.actions)}), got {self.max_actions} for arms={self.arms!r}."
                )
        if not set(self.retired) <= set(self.actions):
            raise ValueError("Expected retired actions to stay in the list of actions, got one that is not there.")
        if self.actions and not self.offered:
            raise ValueError("Expected an action that is not retired, got none.")

    # what it makes

    @property
    def room(self) -> int:
        """Actions that there may ever be."""
        return len(self.actions) if self.max_actions is None else int(self.max_actions)

    @property
    def offered(self) -> tuple[str, ...]:
        """The actions that are not retired."""
        return tuple(name for name in self.actions if name not in self.retired)

    @property
    def blocks(self) -> int:
        """In how many parts of equal length, one for each action, a vector has all but one zero."""
        return max(1, self.room)

    @property
    def own(self) -> tuple[SchemaPart, ...]:
        """What the part of a vector that an action has for itself consists of; nothing where arms are shared."""
        return self._parts.each if self.actions else ()

    @property
    def common(self) -> tuple[SchemaPart, ...]:
        """The same of the part that all actions share; nothing where arms are disjoint."""
        return () if self.actions else self._parts.each

    @property
    def labels(self) -> list[str]:
        """What each number of a vector stands for."""
        labels = self._parts.labels()
        names = [*self.actions, *(f"(free {i + 1})" for i in range(len(self.actions), self.room))]
        return [f"{action}: {label}" for action in names for label in labels] if names else labels

    @property
    def present(self) -> list[int]:
        """The numbers of a vector that can be other than 0 for what is offered."""
        starts = [self._starts[name] for name in self.offered] if self.actions else [0]
        return [start + i for start in starts for i in range(self._parts.size)]

    def with_action(self, name: str) -> "Schema":
        """The same, with one action more, in the next place; ValueError if there is none, or a name was used before."""
        if not isinstance(name, str) or name in self.actions:
            raise ValueError("Expected a name that no action has or had, got another.")
        if len(self.actions) == self.room:
            raise ValueError(
                f"Expected room for one more action, got max_actions={self.room} in use: the size of what is released "
                "was fixed for so many, and places of retired ones are not given again."
            )
        return dataclasses.replace(self, actions=(*self.actions, name))

    def without_action(self, name: str) -> "Schema":
        """The same, with that action retired; ValueError if it is the last one."""
        if name not in self.offered:
            raise ValueError("Expected the name of an action that is offered, got another.")
        return dataclasses.replace(self, retired=(*self.retired, name))

    @property
    def digest(self) -> str:
        """The same for schemas that make the same vectors, and for no others."""
        return hashlib.sha256(json.dumps(self.lenient.to_dict(), sort_keys=True).encode()).hexdigest()

    @property
    def strict(self) -> tuple[str, ...]:
        """The fields that refuse what they do not know."""
        return tuple(name for name, column in self._fields.items() if column.strict)

    def check_for_devices(self) -> None:
        """ValueError for strict fields: a choice that fails is a report that does not come, and tells without noise."""
        if self.strict:
            raise ValueError(
                f"Expected no strict fields on devices, where a report that is missing tells of a person without "
                f"noise, got {', '.join(self.strict)}."
            )

    @property
    def lenient(self) -> "Schema":
        """The same without strict fields: it makes the same vectors."""
        person, offer = ({name: lenient(one) for name, one in side.items()} for side in (self.context, self.action))
        return dataclasses.replace(self, context=person, action=offer) if self.strict else self

    def vectors(
        self, context: Mapping[str, Any], actions: Mapping[str, Mapping[str, Any]] | Sequence[str] | None = None
    ) -> dict[str, Array]:
        """Name -> features, for `choose`. context: a person's fields, by name or as a row of a frame; what is left out
        is none. actions: name ->
        fields of what may be offered; names are enough where actions have no fields, and None is all of them."""
        names, rows = self.rows(context, actions)
        return dict(zip(names, rows, strict=True))

    def rows(
        self, context: Mapping[str, Any], actions: Mapping[str, Mapping[str, Any]] | Sequence[str] | None = None
    ) -> tuple[tuple[str, ...], Array]:
        """The names and the (K, dim) features, as in `vectors`."""
        person = self._entries(context, self.context)
        offered = self._offered(actions)
        out = np.zeros((len(offered), self.dim))
        own = self._parts.of_person(person)
        for row, (name, entries) in zip(out, offered.items(), strict=True):
            start = self._starts.get(name, 0)
            row[start : start + own.size] = own
            self._parts.put_action({**person, **entries}, row)
        return tuple(offered), out

    def placed(
        self, context: Mapping[str, Any], actions: Mapping[str, Mapping[str, Any]] | Sequence[str] | None = None
    ) -> tuple[tuple[str, ...], Array]:
        """The same without the zeros, for actions that have names: rows (z, a), the numbers of the part that an action
        has for itself, which are of the person, and the number of that part."""
        if not self.actions:
            raise ValueError(f"Expected arms='disjoint', got {self.arms!r}.")
        person = self._entries(context, self.context)
        offered = self._offered(actions)
        out = np.empty((len(offered), self._parts.size + 1))
        out[:, :-1] = self._parts.of_person(person)
        out[:, -1] = [self._starts[name] // self._parts.size for name in offered]
        return tuple(offered), out

    def batch(self, people: Any, actions: Any = None, *, placed: bool = False) -> tuple[list[Array], list[str | None]]:
        """The rows of each person, as in `rows` or `placed`, all with the same actions, and what is wrong with each,
        None if nothing; of those who are refused they are zeros."""
        if frames.is_frame(people):
            table = frames.columns(people)
            self._entries(dict.fromkeys(table), self.context)  # ValueError for a column that is no field
            people = frames.rows(table)
        if isinstance(people, Mapping | str) or not isinstance(people, Iterable):
            raise ValueError("Expected the fields of each person, in a list, got something else.")
        made = self.placed if placed else self.rows
        zeros = (
            0.0 * made(dict.fromkeys(self.context), actions)[1]
        )  # ValueError for actions that are wrong, whoever asks
        rows: list[Array] = []
        problems: list[str | None] = []
        for person in people:
            try:
                rows.append(made(person, actions)[1])
                problems.append(None)
            except ValueError as error:
                rows.append(zeros)
                problems.append(str(error))
        return rows, problems

    def encode(self, frame: Any) -> Array:
        """(n, dim): for each row of a table (polars, pandas, Arrow, or a mapping of columns) the vector of its fields;
        the column "action" names the action where actions have names."""
        table = frames.columns(frame)
        if self.actions and "action" not in table:
            raise ValueError("Expected a column 'action' with names of actions, got none.")
        needed = {name: table[name] for name in table if name in self._fields or name == "action"} or table
        out = []
        for row in frames.rows(needed):
            person, offered = ({n: row[n] for n in side if n in row} for side in (self.context, self.action))
            out.append(self.rows(person, {row["action"] if self.actions else "": offered})[1][0])
        return np.array(out).reshape(-1, self.dim)

    @classmethod
    def from_public(
        cls, frame: Any, *, context: Sequence[str] = (), action: Sequence[str] = (), bins: int = 8, **options: Any
    ) -> "Schema":
        """Bounds from a table that is public: the one way to learn them, and the people in it are not protected.
        Numbers get their least and largest value, texts a Category if there are few, else Hashed, lists Tags."""
        table = {name: frames.values(frames.columns(frame)[name]) for name in (*context, *action)}
        fields = {name: learnt(name, column, bins) for name, column in table.items()}
        rows = len(next(iter(table.values()))) if table else 0
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
            "context": {name: written(column) for name, column in self.context.items()},
            "action": {name: written(column) for name, column in self.action.items()},
            "arms": self.arms,
            "actions": list(self.actions),
            "cross": [list(pair) for pair in self.cross],
            "public": self.public,
            **({} if self.max_actions is None else {"max_actions": self.max_actions}),
            **({"retired": list(self.retired)} if self.retired else {}),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Schema":
        """ValueError for what `to_dict` does not write."""
        known = {field.name for field in dataclasses.fields(cls) if field.init}
        if not isinstance(given, Mapping) or not given.keys() <= known:
            raise ValueError(
                "Expected a schema's context, action, arms, actions, cross, public, max_actions and retired, got "
                "another name."
            )
        fields = dict(given)
        for side in ("context", "action"):
            if not isinstance(fields.setdefault(side, {}), Mapping):
                raise ValueError(f"Expected {side} to have fields by name, got another.")
            fields[side] = {name: read(name, column) for name, column in fields[side].items()}
        return cls(**fields)

    def __str__(self) -> str:
        """In words, for certificates."""
        people, offers = (_counted(len(side)) for side in (self.context, self.action))
        most = f", at most {self.max_actions}" if self.max_actions is not None else ""
        arms = f"{self.arms} arms" + (f" ({len(self.offered)} actions{most})" if self.actions else "")
        bounds = "bounds were learnt from public data: see the caveats" if self.public else "bounds are public settings"
        refused = f"; a request in which {' or '.join(self.strict)} is not as declared is refused" * bool(self.strict)
        return f"{self.dim} numbers from {people} of a person and {offers} of an action, {arms}; {bounds}{refused}"

    # helpers

    def _offered(self, actions: Any) -> Mapping[str, Mapping[str, Entries]]:
        """Each action's name and its part of what a vector is made of."""
        if actions is None:
            if self.action or not self.actions:
                raise ValueError("Expected actions= with the fields of each action, got none.")
            return dict.fromkeys(self.offered, EMPTY)
        if not isinstance(actions, Mapping):
            if self.action or isinstance(actions, str) or not isinstance(actions, Iterable):
                raise ValueError("Expected actions to be a mapping from names to fields, got names or a text.")
            names = list(actions)
            actions = dict.fromkeys(names, EMPTY) if all(isinstance(name, str) for name in names) else {}
            if len(actions) < len(names):
                raise ValueError("Expected actions to be different texts, got others.")
        if not actions:
            raise ValueError("Expected at least one action, got none.")
        if self.actions and not (actions.keys() <= self._starts.keys() and actions.keys().isdisjoint(self.retired)):
            raise ValueError(self._no_action(actions))
        return {name: EMPTY if each is EMPTY else self._entries(each, self.action) for name, each in actions.items()}

    def _no_action(self, actions: Iterable[Any]) -> str:
        """Which of them is none that is offered."""
        place, name = next((i, name) for i, name in enumerate(actions, 1) if name not in self.offered)
        if name in self.retired:
            return f"Expected action {place} of the request not to be retired, as {name} is, got it."
        known = checks.among(self.offered, [name])
        return f"Expected action {place} of the request to be one of {known}, got another."

    def _entries(self, given: Mapping[str, Any], fields: Mapping[str, Column]) -> dict[str, Entries]:
        given = frames.row(given)
        if not isinstance(given, Mapping) or not given.keys() <= fields.keys():
            named = checks.among(list(fields), given if isinstance(given, Mapping) else ())
            raise ValueError(f"Expected fields of the schema, which are {named}, got another.")
        out = {}
        for name, column in fields.items():
            if column.strict and name not in given:
                raise ValueError(f"Expected {name}, since it is strict (null says that there is none), got none.")
            try:
                out[name] = column.entries(given.get(name))
            except ValueError as error:
                raise ValueError(f"Expected {name} to be {error}") from None
        return out


def _counted(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields or 'no'} fields"
