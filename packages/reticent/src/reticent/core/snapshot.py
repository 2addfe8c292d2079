"""Bandits and servers in a file: JSON with a checksum, never pickle, readable by its owner only. A bandit's file holds
raw data."""

import base64
import dataclasses
import hashlib
import json
import math
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.random import Generator, default_rng

from reticent.core.file_witness import FileWitness
from reticent.core.reward import Reward
from reticent.errors import BadState
from reticent.features.schema import Schema
from reticent.mechanisms.memory import Ring
from reticent.mechanisms.saving import arrays
from reticent.model.holdout import Holdout
from reticent.model.links import Link, LinkTable
from reticent.privacy.budget import Budget, Person
from reticent.privacy.noise import Secure, Simulated

FORMAT = "reticent bandit"
VERSION = 10
ROWS = 1024  # waiting choices are written in multiples of so many


class Kept:
    """What bandits and servers have in common: settings and a state of arrays, which a file keeps, and kernels that can
    be compiled ahead."""

    _state: Any

    def _plan_numbers(self) -> list[float]:
        """What the noise in a saved state was drawn with; a state that does not match is not loaded."""
        return []

    def _compile_more(self) -> None:
        """Run what a few hundred made-up users may not reach: called by warm_up, on a twin that is thrown away."""

    def warm_up(self) -> float:
        """Compile all that choices, rewards, reports and releases need: once on a machine, for seconds, and not in
        somebody's request. Nothing of this one changes and nothing is spent. The log "reticent" says so; returns the
        seconds."""
        from reticent.core import compiling

        return compiling.warm_up(self)

    def _stage(self) -> Any:
        """What made-up users play with."""
        return self

    def _saved(self) -> dict[str, Any]:
        """What a file has of it, as `_made` takes it."""
        return {
            "settings": settings_of(self),
            "plan": encoded(tuple(map(float, self._plan_numbers()))),
            "state": written(self._state),
        }

    @classmethod
    def _made(cls, body: dict[str, Any], where: str) -> Self:
        """The one whose body that is; BadState if it cannot be. where: what messages call the file."""
        try:
            made = cls(**{name: decoded(value) for name, value in body["settings"].items()})
        except (TypeError, ValueError):
            raise BadState(f"Expected settings of a {cls.__name__} in {where}, got others.") from None
        made._resume(body, where)
        return made

    def _resume(self, body: dict[str, Any], where: str) -> None:
        """Take over what is in the body beside the settings."""
        if list(decoded(body["plan"])) != list(map(float, self._plan_numbers())):
            raise BadState(f"Expected {where} to have the noise that its settings give now, got another calibration.")
        if not put(self._state, body["state"]):
            raise BadState(f"Expected the state of a {type(self).__name__} in {where}, of its size, got another.")


def written(state: Any) -> list[Any]:
    """RAW. A nested NamedTuple of arrays, as a file has them."""
    return [encoded(part) for part in arrays(state)]


def put(state: Any, saved: list[Any]) -> bool:
    """Its arrays get what was saved of them; False, and nothing is done, for others."""
    found, values = arrays(state), [decoded(value) for value in saved]
    if [array.shape for array in found] != [value.shape for value in values]:
        return False
    for array, value in zip(found, values, strict=True):
        array[...] = value
    return True


def settings_of(made: Any) -> dict[str, Any]:
    """As a file has them."""
    return {f.name: encoded(getattr(made, f.name)) for f in dataclasses.fields(made) if f.init}


def differing(one: Kept, other: Kept) -> list[str]:
    """The settings in which two of a kind are not alike."""
    mine, theirs = settings_of(one), settings_of(other)
    return [name for name in mine if json.dumps(mine[name]) != json.dumps(theirs[name])]


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
            "reticent wrote: go on with that release, or start anew with another file."
        )
    if _digest(body) != digest:
        raise BadState(f"Expected {where} to match its checksum, got a damaged or edited file.")
    return json.loads(body), digest


def document(body: dict[str, Any], *, format: str, version: int, raw: bool) -> dict[str, Any]:
    """What `read` reads."""
    text = json.dumps(body, sort_keys=True)
    return {"format": format, "version": version, "raw data": raw, "sha256": _digest(text), "body": text}


def resumed(path: Path, kind: str) -> tuple[dict[str, Any], FileWitness]:
    """The body of a bandit of that kind that was saved there, and the witness that goes on from it."""
    body, digest = read(path, what="bandit", format=FORMAT, version=VERSION)
    if body["bandit"] != kind:
        raise BadState(f"Expected a saved {kind} in {path.name}, got a {body['bandit']}.")
    witness = FileWitness()
    if "secure" in (body.get("source") or body["settings"].get("source") or {}):
        witness.resume(path, body["id"], body["generation"], digest)
    return body, witness


def generators(settings: dict[str, Any]) -> dict[str, Any]:
    """Those among the settings, as they were when they were saved."""
    drawn = ("simulated", "generator")
    return {name: decoded(v) for name, v in settings.items() if isinstance(v, dict) and any(key in v for key in drawn)}


def waiting(tickets: Ring, choices: int) -> list[Any]:
    """Choices that wait for their reward, of so many in all."""
    parts = arrays(tickets)
    there = np.flatnonzero(parts[0])
    rows = min(len(parts[0]), choices, math.ceil(max(1, len(there)) / ROWS) * ROWS)
    return [encoded(_padded(part[there], rows)) for part in parts]


def wait_again(tickets: Ring, saved: list[Any]) -> None:
    """Put them back into a ring that is empty."""
    there = [decoded(part) for part in saved]
    ids = there[0]
    for part, rows in zip(arrays(tickets), there, strict=True):
        part[ids[ids > 0] % len(part)] = rows[ids > 0]


def _padded(rows: Any, count: int) -> Any:
    """`rows`, followed by rows of zeros up to `count`: the size of a file says how many choices wait only in steps of
    ROWS."""
    return np.concatenate([rows, np.zeros((count - len(rows), *rows.shape[1:]), rows.dtype)])


def encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": value.dtype.str, "shape": list(value.shape), "base64": data}
    if isinstance(value, Budget):
        unit = None if value.unit is None else [value.unit.rounds, value.unit.per]
        return {"budget": [encoded(float(value.epsilon)), float(value.delta), unit]}
    if isinstance(value, Schema):
        return {"schema": value.to_dict()}
    if isinstance(value, Holdout):
        return {"holdout": {name: encoded(part) for name, part in dataclasses.asdict(value).items()}}
    if isinstance(value, Reward):
        return {"reward": {name: encoded(part) for name, part in vars(value).items()}}
    if type(value) is Secure:
        return {"secure": True}
    if hasattr(value, "private") and not isinstance(value, Simulated):  # it would be Secure() when it is loaded
        raise ValueError(
            f"Expected Secure() or Simulated(seed) as the source of what is saved, got {type(value).__name__}."
        )
    if isinstance(value, Simulated):
        return {"simulated": value.generator.bit_generator.state}
    if isinstance(value, Generator):
        return {"generator": value.bit_generator.state}
    if callable(value) and not isinstance(value, Link):
        name = getattr(value, "__qualname__", type(value).__name__)
        raise ValueError(f"Expected a model by its name in what is saved, got the function {name}.")
    if isinstance(value, Link) and isinstance(value.code, LinkTable):
        return {"link": [encoded(v) for v in (value.name, tuple(value.code), value.steepest, value.reach)]}
    if isinstance(value, Link):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, tuple | list):
        return {"tuple": [encoded(v) for v in value]}
    return value


def decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "base64" in value:
        raw = np.frombuffer(base64.b64decode(value["base64"]), dtype=np.dtype(value["dtype"]))
        return raw.reshape(value["shape"]).copy()
    if "secure" in value:
        return Secure()
    if "budget" in value:
        epsilon, delta, unit = value["budget"]
        return Budget(decoded(epsilon), delta, None if unit is None else Person(*unit))
    if "schema" in value:
        return Schema.from_dict(value["schema"])
    if "holdout" in value:
        return Holdout(**{name: decoded(part) for name, part in value["holdout"].items()})
    if "reward" in value:
        return Reward(**{name: decoded(part) for name, part in value["reward"].items()})
    if "link" in value:
        name, table, steepest, reach = map(decoded, value["link"])
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
    return tuple(decoded(v) for v in value["tuple"])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
