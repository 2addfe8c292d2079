"""What `reticent plan` is asked: its options, and what a file says where an option is not given."""

import dataclasses
import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from reticent import durations
from reticent.cli.parse import number_or_words
from reticent.features.schema import Schema
from reticent_serve.planning.trials import Question

KIND = "joint-glm"
REWARD = ("base_rate", "window")
FORMS = {"budget": "{epsilon = ..., delta = ...}", "unit": "{rounds = ...}", "reward": "{window = ...}"}
WEEKLY = "The file promises for a week: read people as people times weeks."
HELD = "The file has a window; --per-day says what it costs in people."
OTHER = "The file has another bandit: this plan is for JointGLM."


class PlanQuestion(NamedTuple):
    """notes: what was taken from a file, for the heading."""

    question: Question
    notes: list[str]


def of_vectors(*, dim: int | None, arms: int | None, **options: Any) -> PlanQuestion:
    if dim is None:
        raise ValueError("Expected --dim or --schema, got neither.")
    if arms is None:
        raise ValueError("Expected --arms: how many there are to choose from, got none.")
    return PlanQuestion(Question(dim=dim, arms=arms, **_given(options)), [])


def of_schema(
    schema: Path,
    *,
    name: str | None = None,
    dim: int | None = None,
    arms: int | None = None,
    radius: float | None = None,
    **options: Any,
) -> PlanQuestion:
    """Sizes that a schema has need not be given, and must not differ from it; other options win over the file."""
    given = _given(options)
    made, settings, told = read(schema, name)
    small = offered(made)
    if dim not in (None, small.dim):
        raise ValueError(f"Expected --dim {small.dim}, as the schema has it for what is offered, got {dim}.")
    if small.actions and arms not in (None, len(small.actions)):
        raise ValueError(f"Expected --arms {len(small.actions)}, as the schema has it, got {arms}.")
    if radius is not None:
        raise ValueError("Expected no --radius with --schema: how strong tastes are is simulated, got one.")
    if "window" in settings and "per_day" not in settings | given:
        del settings["window"]
        told.append(HELD)
    taken = ", ".join(["fields", *(name for name in settings if name not in given)])
    notes = [f"From {schema}: {taken}."]
    if small.dim < made.dim:
        notes.append("Places of actions that are not offered, spare or retired, do not count.")
    return PlanQuestion(Question(schema=small, **settings | given), notes + told)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    window = options.get("window")
    options = options | {"window": None if window is None else durations.seconds(number_or_words(window), "window")}
    return {name: value for name, value in options.items() if value is not None}


def offered(schema: Schema) -> Schema:
    """Without places that nobody is offered: spare ones cost no measurable regret, and retired ones are like them."""
    return dataclasses.replace(schema, actions=schema.offered, max_actions=None, retired=())


def read(path: Path, name: str | None = None) -> tuple[Schema, dict[str, Any], list[str]]:
    """From a JSON or TOML file: the schema itself, as `Schema.to_dict` writes it, or the one bandit with features of a
    configuration of `reticent serve`, or that of the given name, with its settings, and what has to be said of its
    promise."""
    try:
        text = path.read_text()
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ValueError(f"Expected a schema in {path}, got: {error.strerror}.") from None
    except ValueError as error:
        raise ValueError(f"Expected JSON or TOML in {path}, got a problem: {error}.") from None
    bandit: dict[str, Any] = {"features": document}
    if isinstance(document, dict) and isinstance(document.get("bandits"), dict):
        own = [one for key, one in document["bandits"].items() if name in (None, key) and isinstance(one, dict)]
        found = [one for one in own if isinstance(one.get("features"), dict)]
        if len(found) != 1:
            raise ValueError(f"Expected one bandit with features of a schema in {path}, got {len(found)}.")
        bandit = found[0]
    budget = _table(bandit, "budget", path)
    unit, reward = _table(budget, "unit", path), _table(bandit, "reward", path)
    settings: dict[str, Any] = {name: budget[name] for name in ("epsilon", "delta") if name in budget}
    settings |= {"rounds_per_person": unit["rounds"]} if "rounds" in unit else {}
    settings |= {"per_day": bandit["per_day"]} if "per_day" in bandit else {}
    settings |= {name: reward[name] for name in REWARD if name in reward}
    notes = [WEEKLY] * ("per" in unit) + [OTHER] * (bandit.get("kind", KIND) != KIND)
    try:
        if "window" in settings:
            settings["window"] = durations.seconds(settings["window"], "window")
        return Schema.from_dict(bandit["features"]), settings, notes
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _table(given: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    """Settings of that name, if there are any; ValueError for another value."""
    found = given.get(name, {})
    if not isinstance(found, dict):
        raise ValueError(f"Expected {name} = {FORMS[name]} in {path}, got another value.")
    return found
