"""Which actions a bandit has, and since when: new ones and retired ones, by the operator's word alone.

What is released has a part for each of `max_actions` from the start, with the same noise in each at every release, so
no number that noise is made by depends on the list. An action is added or retired at a number of choices, which is
public; a retired one never comes back, and its place is not given again: what was learnt there is another's.

A choice that was made before its action was retired may still be answered. Its reward is added like any other, within
the same sensitivity; to refuse it would treat two people differently by what they were offered, which is raw."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from reticent.data import Integers
from reticent.errors import BadState
from reticent.features.schema import Schema
from reticent.model import arms


class Declared(NamedTuple):
    """One action, in the order of their places. since: choices that were made before it could be offered; until: those
    that were made when it was retired, None while it is offered. All public."""

    name: str
    since: int = 0
    until: int | None = None


def of(schema: Schema | None) -> tuple[Declared, ...]:
    """Those of a schema, from the start."""
    if schema is None:
        return ()
    return tuple(Declared(name, 0, 0 if name in schema.retired else None) for name in schema.actions)


def changed(before: Sequence[Declared], schema: Schema | None, at: int) -> tuple[Declared, ...]:
    """What a schema makes of those that were declared before, at that number of choices; BadState if it takes one back
    or gives its place to another."""
    names = () if schema is None else schema.actions
    first = tuple(one.name for one in before)
    if names[: len(first)] != first:
        raise BadState(
            f"Expected the actions that were declared before, in their order and before new ones ({', '.join(first)}), "
            "got others: an action that is not to be offered any more is named in `retired` and stays in the list."
        )
    retired = () if schema is None else schema.retired
    back = [one.name for one in before if one.until is not None and one.name not in retired]
    if back:
        raise BadState(f"Expected retired actions to stay retired, got {', '.join(back)} without being in `retired`.")
    new = (*before, *(Declared(name, at) for name in names[len(first) :]))
    return tuple(one._replace(until=at) if one.until is None and one.name in retired else one for one in new)


def events(before: Sequence[Declared], after: Sequence[Declared]) -> list[str]:
    """What happened in between, in words."""
    old = {one.name: one for one in before}
    out = []
    for one in after:
        if one.name not in old:
            out.append(f"action {one.name} added after {_choices(one.since)}")
        if one.until is not None and (one.name not in old or old[one.name].until is None):
            out.append(f"action {one.name} retired after {_choices(one.until)}")
    return out


def schema_of(schema: Schema, declared: Sequence[Declared]) -> Schema:
    """That schema with these actions."""
    names = tuple(one.name for one in declared)
    retired = tuple(one.name for one in declared if one.until is not None)
    return dataclasses.replace(schema, actions=names, retired=retired)


def at(declared: Sequence[Declared], choices: int) -> tuple[Declared, ...]:
    """As it was when so many choices had been made."""
    there = (one for one in declared if one.since <= choices)
    return tuple(one._replace(until=None) if (one.until or 0) > choices else one for one in there)


def live(declared: Sequence[Declared], blocks: int) -> Integers:
    """The blocks of what is offered; all of them where actions have no names or no block to themselves."""
    return arms.live([one.until is None for one in declared], blocks)


def words(declared: Sequence[Declared]) -> str:
    """For the certificate: what has changed since the start, if anything has."""
    out = []
    for one in declared:
        said = [f"added after {_choices(one.since)}"] * (one.since > 0)
        said += [] if one.until is None else [f"retired after {_choices(one.until)}"]
        out += [f"{one.name}: {', '.join(said)}"] * bool(said)
    return "; ".join(out)


def written(declared: Sequence[Declared]) -> list[list[Any]]:
    return [list(one) for one in declared]


def read(given: Iterable[Any]) -> tuple[Declared, ...]:
    return tuple(Declared(*one) for one in given)


def _choices(choices: int) -> str:
    return "1 choice" if choices == 1 else f"{choices} choices"
