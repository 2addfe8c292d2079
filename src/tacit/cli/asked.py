"""What `tacit plan` is asked: its options, and what a file says where an option is not given."""

import dataclasses
import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from tacit import checks
from tacit.features.schema import Schema
from tacit.planning.advice import Question
from tacit.privacy.relations import ADJACENCIES, REPLACE, ZERO_OUT

SETTINGS = {"rounds_per_person": "max_rounds_per_person", "radius": "radius", "per_day": "per_day"}  # in a file
WEEKLY = "The file promises for a week: read people as people times weeks."
ZEROED = (
    'The file promises for adjacency = "zero-out", with about half the noise; this plan is for "replace" at the same '
    "epsilon, and so too cautious (docs/problem.md)."
)

PUBLIC = 'The file has contexts = "public", with less noise; this plan is for private ones (docs/problem.md).'


class Asked(NamedTuple):
    """notes: what was taken from a file, for the heading."""

    question: Question
    notes: list[str]


def asked(*, dim: int | None, arms: int | None, schema: Path | None, **options: Any) -> Asked:
    """Sizes that a schema has need not be given, and must not differ from it; other options win over the file."""
    given = {name: value for name, value in options.items() if value is not None}
    notes: list[str] = []
    if schema is not None:
        made, settings, told = read(schema)
        small = offered(made)
        if dim not in (None, small.dim):
            raise ValueError(f"Expected --dim {small.dim}, as the schema has it for what is offered, got {dim}.")
        sizes = ["d"] if arms or not small.actions else ["d", "K"]
        dim, arms = small.dim, arms or len(small.actions) or None
        taken = [name for name in settings if name not in given]
        given = settings | given
        notes.append(f"From {schema}: {', '.join([*sizes, *taken])}.")
        if small.dim < made.dim:
            notes.append("Places of actions that are not offered, spare or retired, do not count.")
        notes += told
    if dim is None:
        raise ValueError("Expected --dim or --schema, got neither.")
    if arms is None:
        raise ValueError("Expected --arms: how many there are to choose from, got none.")
    return Asked(Question(dim=dim, arms=arms, **given), notes)


def offered(schema: Schema) -> Schema:
    """Without places that nobody is offered: spare ones cost no measurable regret, and retired ones are like them."""
    return dataclasses.replace(schema, actions=schema.offered, max_actions=None, retired=())


def read(path: Path) -> tuple[Schema, dict[str, Any], list[str]]:
    """From a JSON or TOML file: the schema itself, as `Schema.to_dict` writes it, or the one bandit with features of a
    configuration of `tacit serve`, with its settings, and what has to be said of its promise."""
    try:
        text = path.read_text()
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ValueError(f"Expected a schema in {path}, got: {error.strerror}.") from None
    except ValueError as error:
        raise ValueError(f"Expected JSON or TOML in {path}, got a problem: {error}.") from None
    bandit: dict[str, Any] = {"features": document}
    if isinstance(document, dict) and isinstance(document.get("bandits"), dict):
        found = [b for b in document["bandits"].values() if isinstance(b, dict) and "features" in b]
        if len(found) != 1:
            raise ValueError(f"Expected one bandit with features in {path}, got {len(found)}.")
        bandit = found[0]
    budget = bandit.get("budget", {})
    if not isinstance(budget, dict):
        raise ValueError(f"Expected budget = {{epsilon = ..., delta = ...}} in {path}, got another value.")
    settings = {name: budget[name] for name in ("epsilon", "delta") if name in budget}
    settings |= {name: bandit[own] for name, own in SETTINGS.items() if own in bandit}
    notes = [WEEKLY] * ("week" in bandit)
    try:
        adjacency = budget.get("adjacency", REPLACE)
        checks.one_of(ADJACENCIES, adjacency=adjacency)
        notes += [ZEROED] * (adjacency == ZERO_OUT)
        notes += [PUBLIC] * (bandit.get("contexts") == "public")
        return Schema.from_dict(bandit["features"]), settings, notes
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
