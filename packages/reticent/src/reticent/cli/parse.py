"""Strings of the command line, as what they mean."""

import dataclasses
import types
import typing
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from reticent import registry

if TYPE_CHECKING:
    from reticent.environments import Environment
    from reticent.experiments.spec import Spec


KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    type(None): "none",
}

BUDGET = ("epsilon", "delta", "rounds", "per")  # words for what a bandit has otherwise


def check_name(what: str, given: str, known: Iterable[str]) -> None:
    from reticent import checks

    checks.name(what, given, known)


def parse_bandit(text: str, epsilons: list[float], delta: float) -> list["Spec"]:
    """BANDIT[:key=value,...], once for each budget if it takes one; epsilon= and delta= override."""
    name, options = split(text)
    check_name("a bandit", name, registry.bandits())
    from reticent.experiments.spec import Spec
    from reticent.privacy.budget import Budget, Person

    kind = registry.load(*registry.bandits()[name])
    fields = {f.name for f in dataclasses.fields(kind)}
    said = [word for word in BUDGET if word in options]
    if said and "budget" not in fields:
        raise ValueError(f"Expected no {said[0]} with {name}, which has no budget, got one.")
    own_epsilon, own_delta, rounds, per = (options.pop(word, None) for word in BUDGET)
    values = {key: convert(kind, key, value) for key, value in options.items()}
    if "budget" not in fields:
        return [Spec(kind, **values)]
    if own_epsilon is not None:
        epsilons = [parse_epsilon(own_epsilon)]
    if own_delta is not None:
        delta = parse_number("delta", own_delta)
    unit = None
    if rounds is not None:
        unit = Person(parse_whole("rounds", rounds), None if per is None else number_or_words(per))
    elif per is not None:
        raise ValueError("Expected rounds with per, of a person, got none.")
    return [Spec(kind, **values, budget=Budget(e, delta, unit)) for e in epsilons]


def parse_environment(text: str, given: dict[str, Any]) -> "Environment":
    """ENV[:key=value,...]; options of the command line hold where the text says nothing."""
    name, options = split(text)
    environments = registry.table("ENVIRONMENTS")
    check_name("an environment", name, environments)
    kind = registry.load(*environments[name])
    values = {key: value for key, value in given.items() if value is not None}
    values |= {key: convert(kind, key, value) for key, value in options.items()}
    required = [f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING and f.name not in values]
    if required:
        raise ValueError(f"Expected --env {name}:{required[0]}=..., got no {required[0]}.")
    if name == "basis":  # as many arms as dimensions: one of the two is enough
        size = values.get("dim", values.get("arms", 5))
        values = {"dim": size, "arms": size} | values
    made: Environment = kind(**values)
    return made


def parse_number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"Expected {key} to be a number, got {text!r}.") from None


def parse_whole(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"Expected {key} to be a whole number, got {text!r}.") from None


def number_or_words(text: str) -> float | str:
    """Of a length: choices or seconds, or a time as "1 day"."""
    try:
        return float(text)
    except ValueError:
        return text


def split(text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = text.partition(":")
    pairs = [pair.partition("=") for pair in rest.split(",") if pair]
    for key, equals, _value in pairs:
        if not equals:
            raise ValueError(f"Expected NAME:key=value,..., got {key!r} in {text!r}.")
    values = {key.replace("-", "_"): value for key, _, value in pairs}
    if len(values) < len(pairs):
        raise ValueError(f"Expected each key once, got {text!r}.")
    return name, values


def parse_epsilon(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"Expected epsilon to be a positive number or inf, got {text!r}.") from None


def convert(kind: type, key: str, value: str) -> Any:
    """A string as the annotated type of that field."""
    from reticent.experiments.spec import settings_of

    usable = sayable(kind)
    if key not in usable:
        fields = settings_of(kind).keys()
        known = ", ".join(sorted([*usable, *(BUDGET if "budget" in fields else ())]))
        where = ", which no word can say" if key in fields else ""
        raise ValueError(f"Expected an option of {registry.kebab(kind.__name__)} ({known}), got {key!r}{where}.")
    choices = usable[key]
    for choice in choices:
        if choice is type(None):
            if value == "none":
                return None
            continue
        try:
            if choice is bool:
                return {"true": True, "false": False}[value]
            if typing.get_origin(choice) is tuple:
                return tuple(float(part) for part in value.split("/"))
            return choice(value)
        except (ValueError, KeyError):
            continue
    pair = "two numbers as low/high"
    named = " or ".join(pair if typing.get_origin(c) is tuple else KINDS[c] for c in choices)
    raise ValueError(f"Expected {key} to be {named}, got {value!r}.")


def sayable(kind: type) -> dict[str, list[Any]]:
    """Options that a word on a command line can say, and the types that it may have."""
    from reticent.experiments.spec import FROM_THE_RUN, settings_of

    out = {}
    for name, hint in settings_of(kind).items():
        if name in FROM_THE_RUN:
            continue
        choices = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        words = [choice for choice in choices if choice in KINDS or typing.get_origin(choice) is tuple]
        if set(words) - {type(None)}:
            out[name] = words
    return out
