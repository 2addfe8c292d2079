"""Bandits on disk: JSON with a checksum, never pickle. The file holds raw data and is readable by its owner only."""

import base64
import dataclasses
import hashlib
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.random import Generator, default_rng

from tacit.errors import BadState
from tacit.kernels.links import LinkTable
from tacit.links import Link
from tacit.privacy.budget import Budget
from tacit.privacy.noise import Simulated

if TYPE_CHECKING:
    from tacit.bandits.face import Bandit

FORMAT = "tacit bandit"
VERSION = 1

B = TypeVar("B", bound="Bandit")


def save(bandit: "Bandit", path: Path) -> None:
    """Write to a new file beside `path`, then put it in its place: an interrupted save leaves the old file whole."""
    waiting = np.flatnonzero(bandit._tickets.ids)
    body = {
        "bandit": type(bandit).__name__,
        "settings": {f.name: _encode(getattr(bandit, f.name)) for f in dataclasses.fields(bandit) if f.init},
        "plan": _encode(tuple(map(float, bandit._plan_numbers()))),
        "state": [_encode(a) for a in _leaves(bandit._state)],
        "tickets": [_encode(bandit._tickets.ids[waiting]), _encode(bandit._tickets.features[waiting])],
    }
    text = json.dumps(body, sort_keys=True)
    document = {"format": FORMAT, "version": VERSION, "raw data": True, "sha256": _digest(text), "body": text}
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def load(cls: type[B], path: Path) -> B:
    try:
        document = json.loads(path.read_text())
        if document["format"] != FORMAT:
            raise KeyError
        version, digest, text = document["version"], document["sha256"], str(document["body"])
    except (ValueError, KeyError, TypeError):
        raise BadState(f"Expected a saved bandit in {path.name}, got something else or a damaged file.") from None
    if version != VERSION:
        raise BadState(f"Expected a saved bandit of version {VERSION} in {path.name}, got version {version}.")
    if _digest(text) != digest:
        raise BadState(f"Expected {path.name} to match its checksum, got a damaged or edited file.")
    body = json.loads(text)
    if body["bandit"] != cls.__name__:
        raise BadState(f"Expected a saved {cls.__name__} in {path.name}, got a {body['bandit']}.")
    bandit = cls(**{name: _decode(value) for name, value in body["settings"].items()})
    if list(_decode(body["plan"])) != list(map(float, bandit._plan_numbers())):
        raise BadState(f"Expected {path.name} to have the noise that its settings give now, got another calibration.")
    for leaf, value in zip(_leaves(bandit._state), body["state"], strict=True):
        leaf[...] = _decode(value)
    ids, features = map(_decode, body["tickets"])
    bandit._tickets.ids[ids % bandit.pending] = ids
    bandit._tickets.features[ids % bandit.pending] = features
    for name, value in body["settings"].items():  # drawing the initial state may have moved the generator
        if isinstance(value, dict) and ("simulated" in value or "generator" in value):
            setattr(bandit, name, _decode(value))
    return bandit


def _leaves(state: Any) -> list[Any]:
    """The arrays of a nested NamedTuple, in order."""
    return [leaf for part in state for leaf in _leaves(part)] if isinstance(state, tuple) else [state]


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": value.dtype.str, "shape": list(value.shape), "base64": data}
    if isinstance(value, Budget):
        return {"budget": [_encode(float(value.epsilon)), float(value.delta)]}
    if isinstance(value, Simulated):
        return {"simulated": value.generator.bit_generator.state}
    if isinstance(value, Generator):
        return {"generator": value.bit_generator.state}
    if isinstance(value, Link) and isinstance(value.code, LinkTable):
        return {"link": [_encode(v) for v in (value.name, tuple(value.code), value.steepest, value.reach)]}
    if isinstance(value, Link):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, tuple):
        return {"tuple": [_encode(v) for v in value]}
    return value


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "base64" in value:
        raw = np.frombuffer(base64.b64decode(value["base64"]), dtype=np.dtype(value["dtype"]))
        return raw.reshape(value["shape"]).copy()
    if "budget" in value:
        return Budget(*map(_decode, value["budget"]))
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
