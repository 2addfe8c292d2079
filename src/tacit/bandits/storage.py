"""Bandits on disk: JSON with a checksum, never pickle. The file holds raw data and is readable by its owner only."""

import base64
import contextlib
import dataclasses
import hashlib
import json
import math
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.random import Generator, default_rng

from tacit.bandits import actions, disk, marks
from tacit.errors import BadState
from tacit.features.schema import Schema
from tacit.model.links import Link, LinkTable
from tacit.privacy.budget import Budget
from tacit.privacy.noise import Secure, Simulated
from tacit.privacy.relations import REPLACE

if TYPE_CHECKING:
    from tacit.bandits.base import Bandit

FORMAT = "tacit bandit"
VERSION = 7
GONE = {  # settings of 0.6.0, and what they were where nobody gave them
    "teach": 1.0,
    "average": False,
    "weeks": None,
    "noise": "gaussian",
    "calibration": "exact",
    "release": "batched",
    "shift": None,
}
ROWS = 1024  # waiting choices are written in multiples of so many

B = TypeVar("B", bound="Bandit")


class File:
    """Where a bandit stands in the line of its saved states (bandits.marks), and where they lie."""

    def __init__(self) -> None:
        self.bandit_id = secrets.token_hex(16)
        self.generation = 0
        self.digest = ""  # of the file that holds the present generation
        self.steps = -1  # releases in the durable file
        self.superseded = False
        self._places: set[Path] = set()  # where a state lies that could be gone on from
        self._lock: int | None = None
        self._locked: Path | None = None  # the file that the lock is for

    def create(self, bandit: "Bandit", path: Path) -> None:
        if path.exists():
            raise BadState(f"Expected no file {path.name} for a new bandit, got one: load it, or choose another name.")
        self.lock(path)
        self.save(bandit, path)

    def lock(self, path: Path) -> None:
        """Held until this process ends or the bandit is gone."""
        descriptor = disk.locked(path)
        if descriptor is None:
            raise disk.in_use(path)
        self._lock, self._locked = descriptor, path.absolute()

    def save(self, bandit: "Bandit", path: Path) -> None:
        """First the file, then the marks: a crash in between leaves a file that is newer, and loads. Where the bandit
        was before, the mark says that its last state is elsewhere now."""
        path = path.absolute()
        if bandit._noise_is_private:
            with self._alone(path) as places:
                self._places = self._places | {path}  # a save that fails halfway has left a file all the same
                self._write(bandit, path)
                self._mark(places)
            self._places = {path}
        else:
            self._write(bandit, path)
        if bandit.durable is not None and Path(bandit.durable).absolute() == path:
            self.steps = bandit._steps

    def releasing(self, durable: str | Path | None) -> None:
        """Noise is about to be drawn: no file holds the last state any more. BadState, before anything is drawn, if
        another bandit has gone on from one. A durable file stays the last one until it is replaced, which is before
        anything is shown."""
        if self._places:
            with self._alone() as places:
                if durable is None:
                    self.generation, self.digest = self.generation + 1, ""
                    self._mark(places)
                    self._places = set()

    def resume(self, path: Path, bandit_id: str, generation: int, digest: str) -> None:
        """Take the place of the file that was read; BadState if it is not the last one."""
        self.bandit_id, self.generation, self.digest = bandit_id, generation, digest
        path = path.absolute()
        last = marks.find(path)
        if last is not None and last.bandit != bandit_id:
            raise BadState(f"Expected {path.name} to be the last state that was saved there, got another bandit's.")
        for place in (path, marks.register(bandit_id)):
            self._check(place)
        self._places = {path}

    def separate(self) -> "File":
        """For a forked copy of a bandit that has not been used: another bandit, unless a file knows it."""
        return self if self._places else File()

    @contextlib.contextmanager
    def _alone(self, *more: Path) -> Iterator[list[Path]]:
        """The places whose marks count, while nobody else compares or replaces them; BadState if one of them knows of a
        later state than this bandit's."""
        places = sorted({marks.register(self.bandit_id), *more, *filter(self._ours, self._places)})
        with contextlib.ExitStack() as stack:
            for place in places:
                if place != self._locked:
                    stack.enter_context(disk.alone(place))
            for place in places:
                self._check(place)
            yield [place for place in places if place in more or self._ours(place)]

    def _ours(self, place: Path) -> bool:
        """Not if another bandit was saved there since. A folder that is gone has no room for a mark: if it comes back,
        the register knows."""
        last = marks.find(place)
        return place.parent.exists() and (last is None or last.bandit == self.bandit_id)

    def _check(self, place: Path) -> None:
        last = marks.find(place)
        if last is None or last.bandit != self.bandit_id or last.generation < self.generation:
            return
        if (last.generation, last.digest) != (self.generation, self.digest):
            self.superseded = True
            raise BadState(
                "Expected the last state of a bandit, got an older one: it has been saved elsewhere or more has been "
                "released since, and releasing it again would spend the budget twice."
            )

    def _mark(self, places: Iterable[Path]) -> None:
        for place in places:
            marks.leave(place, marks.Mark(self.bandit_id, self.generation, self.digest))

    def _write(self, bandit: "Bandit", path: Path) -> None:
        document = _document(bandit, self.bandit_id, self.generation + 1)
        disk.write(path, document)
        self.generation, self.digest = self.generation + 1, document["sha256"]

    def __del__(self) -> None:
        if self._lock is not None:
            os.close(self._lock)


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
    for name in GONE.keys() - {f.name for f in dataclasses.fields(cls)}:
        if settings.pop(name, GONE[name]) != GONE[name]:
            raise BadState(f"Expected settings that this release has, got {name}: go on with 0.6.0, or start anew.")
    file = File()
    if settings["durable"] is not None:
        file.lock(path)
    if "secure" in (settings.get("source") or {}):
        file.resume(path, body["id"], body["generation"], digest)
    bandit = cls(**{name: _decode(value) for name, value in (settings | {"durable": None}).items()})
    if list(_decode(body["plan"])) != list(map(float, bandit._plan_numbers())):
        raise BadState(f"Expected {path.name} to have the noise that its settings give now, got another calibration.")
    for leaf, value in zip(_leaves(bandit._state), body["state"], strict=True):
        found = _decode(value)
        if found.shape != leaf.shape:
            raise BadState(f"Expected {path.name} to have sums of the size that its settings give now, got another.")
        leaf[...] = found
    ids, features, people = map(_decode, body["tickets"])
    ids, features, people = ids[ids > 0], features[ids > 0], people[ids > 0]
    bandit._tickets.ids[ids % bandit.pending] = ids
    bandit._tickets.features[ids % bandit.pending] = features
    bandit._tickets.people[ids % bandit.pending] = people
    bandit._persons.restore(body["persons"])
    turns = getattr(bandit, "_turns", None)  # of bandits that count answers
    if turns is not None:
        turns.restore(body["turns"])
    if body.get("logged"):
        setattr(bandit, "_logged", body["logged"])  # noqa: B010  # of bandits that can learn from logs
    if body.get("actions"):
        getattr(bandit, "_declare")(actions.read(body["actions"]))  # noqa: B009  # of bandits that have them
    for name, value in settings.items():  # drawing the initial state may have moved the generator
        if isinstance(value, dict) and ("simulated" in value or "generator" in value):
            setattr(bandit, name, _decode(value))
    bandit._file, bandit._policy_given = file, body["policy given"]
    if settings["durable"] is not None:
        bandit.durable, file.steps = str(path.absolute()), bandit._steps
    return bandit


def _document(bandit: "Bandit", bandit_id: str, generation: int) -> dict[str, Any]:
    waiting = np.flatnonzero(bandit._tickets.ids)
    rows = min(bandit.pending, bandit.choices, math.ceil(max(1, len(waiting)) / ROWS) * ROWS)
    body = {
        "bandit": type(bandit).__name__,
        "id": bandit_id,
        "generation": generation,
        "settings": {f.name: _encode(getattr(bandit, f.name)) for f in dataclasses.fields(bandit) if f.init},
        "plan": _encode(tuple(map(float, bandit._plan_numbers()))),
        "state": [_encode(a) for a in _leaves(bandit._state)],
        "tickets": [_encode(_padded(part[waiting], rows)) for part in bandit._tickets],
        "policy given": bandit._policy_given,
        "persons": bandit._persons.document(),
        "turns": None if getattr(bandit, "_turns", None) is None else bandit._turns.document(),  # type: ignore[attr-defined]
        "logged": getattr(bandit, "_logged", 0),
        "actions": actions.written(getattr(bandit, "_declared", ())),
    }
    return document(body, format=FORMAT, version=VERSION, raw=True)


def _padded(rows: Any, count: int) -> Any:
    """`rows`, followed by rows of zeros up to `count`: the size of a file says how many choices wait only in steps of
    ROWS."""
    return np.concatenate([rows, np.zeros((count - len(rows), *rows.shape[1:]), rows.dtype)])


def _leaves(state: Any) -> list[Any]:
    """The arrays of a nested NamedTuple, in order; other numbers in it are settings."""
    if isinstance(state, tuple):
        return [leaf for part in state for leaf in _leaves(part)]
    return [state] if isinstance(state, np.ndarray) else []


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": value.dtype.str, "shape": list(value.shape), "base64": data}
    if isinstance(value, Budget):
        zero_out = [value.adjacency] * (value.adjacency != REPLACE)  # plans in databases have none otherwise
        return {"budget": [_encode(float(value.epsilon)), float(value.delta), *zero_out]}
    if isinstance(value, Schema):
        return {"schema": value.to_dict()}
    if isinstance(value, Secure):
        return {"secure": True}
    if isinstance(value, Path):
        return str(value)
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
