"""A bandit in a file: JSON with a checksum, never pickle. The file holds raw data and is readable by its owner only."""

import base64
import dataclasses
import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.random import Generator, default_rng

from tacit.bandits.witness import FileWitness
from tacit.core import actions
from tacit.errors import BadState
from tacit.features.schema import Schema
from tacit.mechanisms.saving import arrays
from tacit.model.links import Link, LinkTable
from tacit.privacy.budget import Budget
from tacit.privacy.noise import Secure, Simulated
from tacit.privacy.relations import REPLACE

if TYPE_CHECKING:
    from tacit.bandits.base import Bandit

FORMAT = "tacit bandit"
VERSION = 9
ROWS = 1024  # waiting choices are written in multiples of so many

B = TypeVar("B", bound="Bandit")


def save(bandit: "Bandit", path: Path) -> None:
    """To the file, and to the marks that say that it is the last state."""

    def made(generation: int) -> dict[str, Any]:
        return _document(bandit, bandit._witness.bandit_id, generation)

    bandit._witness.save(path.absolute(), made, marked=bandit._noise_is_private)


def read(path: Path, *, what: str, format: str, version: int) -> tuple[Any, str]:
    """The body of the document that is saved there, and its digest; BadState as `opened`."""
    return opened(path.read_bytes(), path.name, what=what, format=format, version=version)


def opened(text: bytes, where: str, *, what: str, format: str, version: int) -> tuple[Any, str]:
    """The body of a saved document and its digest, or BadState if it is not one, of another version, damaged or
    edited."""
    try:
        document = json.loads(text)
        if document["format"] != format:
            raise KeyError
        found, digest, body = document["version"], document["sha256"], str(document["body"])
    except (ValueError, KeyError, TypeError):
        raise BadState(f"Expected a saved {what} in {where}, got something else or a damaged file.") from None
    if found != version:
        raise BadState(
            f"Expected a saved {what} of version {version} in {where}, got version {found}, which another release of "
            "tacit wrote: go on with that release, or start anew with another file."
        )
    if _digest(body) != digest:
        raise BadState(f"Expected {where} to match its checksum, got a damaged or edited file.")
    return json.loads(body), digest


def document(body: dict[str, Any], *, format: str, version: int, raw: bool) -> dict[str, Any]:
    """What `read` reads."""
    text = json.dumps(body, sort_keys=True)
    return {"format": format, "version": version, "raw data": raw, "sha256": _digest(text), "body": text}


def load(cls: type[B], path: Path) -> B:
    body, digest = read(path, what="bandit", format=FORMAT, version=VERSION)
    if body["bandit"] != cls.__name__:
        raise BadState(f"Expected a saved {cls.__name__} in {path.name}, got a {body['bandit']}.")
    settings: dict[str, Any] = body["settings"]
    witness = FileWitness()
    if "secure" in (settings.get("source") or {}):
        witness.resume(path, body["id"], body["generation"], digest)
    bandit = cls(**{name: _decode(value) for name, value in settings.items()})
    if list(_decode(body["plan"])) != list(map(float, bandit._plan_numbers())):
        raise BadState(f"Expected {path.name} to have the noise that its settings give now, got another calibration.")
    for leaf, value in zip(arrays(bandit._state), body["state"], strict=True):
        found = _decode(value)
        if found.shape != leaf.shape:
            raise BadState(f"Expected {path.name} to have sums of the size that its settings give now, got another.")
        leaf[...] = found
    saved = [_decode(part) for part in body["tickets"]]
    ids = saved[0]
    part: Any
    for part, rows in zip(arrays(bandit._tickets), saved, strict=True):
        part[ids[ids > 0] % bandit.pending] = rows[ids > 0]
    bandit._persons.restore(body["persons"])
    if body.get("logged"):
        setattr(bandit, "_logged", body["logged"])  # noqa: B010  # of bandits that can learn from logs
    if body.get("logs"):
        setattr(bandit, "_logs", frozenset(body["logs"]))  # noqa: B010
    if body.get("actions"):
        getattr(bandit, "_declare")(actions.read(body["actions"]))  # noqa: B009  # of bandits that have them
    for name, value in settings.items():  # drawing the initial state may have moved the generator
        if isinstance(value, dict) and ("simulated" in value or "generator" in value):
            setattr(bandit, name, _decode(value))
    bandit._witness, bandit._policy_given = witness, body["policy given"]
    return bandit


def _document(bandit: "Bandit", bandit_id: str, generation: int) -> dict[str, Any]:
    tickets = arrays(bandit._tickets)
    waiting = np.flatnonzero(tickets[0])
    rows = min(bandit.pending, bandit.choices, math.ceil(max(1, len(waiting)) / ROWS) * ROWS)
    body = {
        "bandit": type(bandit).__name__,
        "id": bandit_id,
        "generation": generation,
        "settings": {f.name: encoded(getattr(bandit, f.name)) for f in dataclasses.fields(bandit) if f.init},
        "plan": encoded(tuple(map(float, bandit._plan_numbers()))),
        "state": [encoded(a) for a in arrays(bandit._state)],
        "tickets": [encoded(_padded(part[waiting], rows)) for part in tickets],
        "policy given": bandit._policy_given,
        "persons": bandit._persons.document(),
        "logged": getattr(bandit, "_logged", 0),
        "logs": sorted(getattr(bandit, "_logs", ())),
        "actions": actions.written(getattr(bandit, "_declared", ())),
    }
    return document(body, format=FORMAT, version=VERSION, raw=True)


def _padded(rows: Any, count: int) -> Any:
    """`rows`, followed by rows of zeros up to `count`: the size of a file says how many choices wait only in steps of
    ROWS."""
    return np.concatenate([rows, np.zeros((count - len(rows), *rows.shape[1:]), rows.dtype)])


def encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": value.dtype.str, "shape": list(value.shape), "base64": data}
    if isinstance(value, Budget):
        zero_out = [value.adjacency] * (value.adjacency != REPLACE)  # plans in databases have none otherwise
        return {"budget": [encoded(float(value.epsilon)), float(value.delta), *zero_out]}
    if isinstance(value, Schema):
        return {"schema": value.to_dict()}
    if isinstance(value, Secure):
        return {"secure": True}
    if isinstance(value, Simulated):
        return {"simulated": value.generator.bit_generator.state}
    if isinstance(value, Generator):
        return {"generator": value.bit_generator.state}
    if isinstance(value, Link) and isinstance(value.code, LinkTable):
        return {"link": [encoded(v) for v in (value.name, tuple(value.code), value.steepest, value.reach)]}
    if isinstance(value, Link):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, tuple):
        return {"tuple": [encoded(v) for v in value]}
    return value


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "base64" in value:
        raw = np.frombuffer(base64.b64decode(value["base64"]), dtype=np.dtype(value["dtype"]))
        return raw.reshape(value["shape"]).copy()
    if "secure" in value:
        return Secure()
    if "budget" in value:
        return Budget(*map(_decode, value["budget"]))
    if "schema" in value:
        return Schema.from_dict(value["schema"])
    if "link" in value:
        name, table, steepest, reach = map(_decode, value["link"])
        return Link(name, LinkTable(*table), True, steepest, reach)
    if "float" in value:
        return float(value["float"])
    if "generator" in value:
        generator = default_rng(0)
        generator.bit_generator.state = value["generator"]
        return generator
    if "simulated" in value:
        source = Simulated(0)
        source.generator.bit_generator.state = value["simulated"]
        return source
    return tuple(_decode(v) for v in value["tuple"])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
