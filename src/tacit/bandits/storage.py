"""Bandits on disk: JSON with a checksum, never pickle. The file holds raw data and is readable by its owner only."""

import base64
import contextlib
import dataclasses
import hashlib
import json
import math
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.random import Generator, default_rng

from tacit.errors import BadState
from tacit.model.links import Link, LinkTable
from tacit.privacy.budget import Budget
from tacit.privacy.noise import Secure, Simulated

try:
    import fcntl
except ImportError as error:
    raise ImportError(
        "Expected a POSIX system (Linux, macOS), whose file locks tacit rests on, got another."
    ) from error

if TYPE_CHECKING:
    from tacit.bandits.base import Bandit

FORMAT = "tacit bandit"
VERSION = 3
ROWS = 1024  # waiting choices are written in multiples of so many
PATIENCE = 10.0  # seconds for another bandit to be done with a file

B = TypeVar("B", bound="Bandit")


class File:
    """Where a bandit stands among its saved states: a line of generations, each newer than the one before.

    Beside a file with secure noise lies a small one, NAME.generation, which knows the last state of that bandit: the
    one saved there last, or none any more once something was released after saving. A file that is older than that is a
    restored copy, or its bandit went on and crashed, or another one that was loaded from the same file went on: in each
    case going on would release the same people's data a second time, with a second noise. What is not noticed: marker
    and file restored together, a file copied without its marker, a machine rolled back.
    NAME.lock is locked while a bandit has a durable file, and else while a state is compared and replaced."""

    def __init__(self) -> None:
        self.bandit_id = secrets.token_hex(16)
        self.generation = 0
        self.steps = -1  # releases in the durable file
        self.superseded = False
        self._places: dict[Path, int] = {}  # where the present state was saved to or loaded from, and as of when
        self._lock: int | None = None
        self._locked: Path | None = None  # the file that the lock is for

    def create(self, bandit: "Bandit", path: Path) -> None:
        if path.exists():
            raise BadState(f"Expected no file {path.name} for a new bandit, got one: load it, or choose another name.")
        self.lock(path)
        self.save(bandit, path)

    def lock(self, path: Path) -> None:
        """Held until this process ends or the bandit is gone."""
        descriptor = _locked(path)
        if descriptor is None:
            raise BadState(f"Expected {path.name} to be free, got one that another bandit has in use.")
        self._lock, self._locked = descriptor, path.absolute()

    def save(self, bandit: "Bandit", path: Path) -> None:
        """First the file, then its marker: a crash between the two leaves a file that is newer, and loads."""
        path = path.absolute()
        private = bandit._noise_is_private
        with self._alone(path) if private else contextlib.nullcontext():
            self._check(path)
            self.generation += 1
            write(path, _document(bandit, self))
            if private:
                self._mark(path)
                self._places[path] = self.generation
        if bandit.durable is not None and Path(bandit.durable).absolute() == path:
            self.steps = bandit._steps

    def releasing(self, durable: str | Path | None) -> None:
        """Noise is about to be drawn: states saved earlier are not the last ones any more. BadState, before anything
        is drawn, if another bandit has gone on from one of them. The durable file stays the last one until it is
        replaced."""
        kept = Path(durable).absolute() if durable is not None else None
        self.generation += 1
        for path in sorted(self._places):
            if path == kept:
                self._check(path)
                continue
            if path.exists():
                with self._alone(path):
                    last = _last(path)
                    if last is None or last[0] == self.bandit_id:  # else another bandit was saved there since
                        self._check(path)
                        self._mark(path)
            del self._places[path]

    def resume(self, path: Path, bandit_id: str, generation: int, *, private: bool) -> None:
        """Take the place of the file that was read; BadState if it is not the last one."""
        self.bandit_id, self.generation = bandit_id, generation
        last = _last(path)
        if last is not None and last[0] != bandit_id:
            raise BadState(f"Expected {path.name} to be the last state that was saved there, got another bandit's.")
        self._check(path)
        if private:
            self._places[path.absolute()] = generation

    @contextlib.contextmanager
    def _alone(self, path: Path) -> Iterator[None]:
        """Nobody else compares or replaces that state meanwhile."""
        if path == self._locked:
            yield
            return
        end = time.monotonic() + PATIENCE
        while (descriptor := _locked(path)) is None:
            if time.monotonic() > end:
                raise BadState(f"Expected {path.name} to be free, got one that another bandit has in use.")
            time.sleep(0.01)
        try:
            yield
        finally:
            os.close(descriptor)

    def _check(self, path: Path) -> None:
        last = _last(path)
        if last is not None and last[0] == self.bandit_id and last[1] > self._places.get(path, self.generation):
            self.superseded = True
            raise BadState(
                f"Expected the last state of the bandit in {path.name}, got an older one: more has been released "
                "since, and releasing it again would spend the budget twice."
            )

    def _mark(self, path: Path) -> None:
        write(_marker(path), {"bandit": self.bandit_id, "generation": self.generation})

    def __del__(self) -> None:
        if self._lock is not None:
            os.close(self._lock)


def _locked(path: Path) -> int | None:
    """NAME.lock, opened and locked; None if another has it."""
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def read(path: Path, *, what: str, format: str, version: int) -> Any:
    """The body of a saved document, or BadState if it is not one, of another version, damaged or edited."""
    try:
        document = json.loads(path.read_text())
        if document["format"] != format:
            raise KeyError
        found, digest, text = document["version"], document["sha256"], str(document["body"])
    except (ValueError, KeyError, TypeError):
        raise BadState(f"Expected a saved {what} in {path.name}, got something else or a damaged file.") from None
    if found != version:
        raise BadState(f"Expected a saved {what} of version {version} in {path.name}, got version {found}.")
    if _digest(text) != digest:
        raise BadState(f"Expected {path.name} to match its checksum, got a damaged or edited file.")
    return json.loads(text)


def document(body: dict[str, Any], *, format: str, version: int, raw: bool) -> dict[str, Any]:
    """What `read` reads."""
    text = json.dumps(body, sort_keys=True)
    return {"format": format, "version": version, "raw data": raw, "sha256": _digest(text), "body": text}


def load(cls: type[B], path: Path) -> B:
    body = read(path, what="bandit", format=FORMAT, version=VERSION)
    if body["bandit"] != cls.__name__:
        raise BadState(f"Expected a saved {cls.__name__} in {path.name}, got a {body['bandit']}.")
    file = File()
    if body["settings"]["durable"] is not None:
        file.lock(path)
    file.resume(path, body["id"], body["generation"], private="secure" in (body["settings"].get("source") or {}))
    bandit = cls(**{name: _decode(value) for name, value in (body["settings"] | {"durable": None}).items()})
    if list(_decode(body["plan"])) != list(map(float, bandit._plan_numbers())):
        raise BadState(f"Expected {path.name} to have the noise that its settings give now, got another calibration.")
    for leaf, value in zip(_leaves(bandit._state), body["state"], strict=True):
        leaf[...] = _decode(value)
    ids, features = map(_decode, body["tickets"])
    ids, features = ids[ids > 0], features[ids > 0]
    bandit._tickets.ids[ids % bandit.pending] = ids
    bandit._tickets.features[ids % bandit.pending] = features
    bandit._persons.restore(body["persons"])
    for name, value in body["settings"].items():  # drawing the initial state may have moved the generator
        if isinstance(value, dict) and ("simulated" in value or "generator" in value):
            setattr(bandit, name, _decode(value))
    bandit._file, bandit._policy_given = file, body["policy given"]
    if body["settings"]["durable"] is not None:
        bandit.durable, file.steps = str(path.absolute()), bandit._steps
    return bandit


def _document(bandit: "Bandit", file: File) -> dict[str, Any]:
    waiting = np.flatnonzero(bandit._tickets.ids)
    rows = min(bandit.pending, bandit.choices, math.ceil(max(1, len(waiting)) / ROWS) * ROWS)
    body = {
        "bandit": type(bandit).__name__,
        "id": file.bandit_id,
        "generation": file.generation,
        "settings": {f.name: _encode(getattr(bandit, f.name)) for f in dataclasses.fields(bandit) if f.init},
        "plan": _encode(tuple(map(float, bandit._plan_numbers()))),
        "state": [_encode(a) for a in _leaves(bandit._state)],
        "tickets": [_encode(_padded(part[waiting], rows)) for part in bandit._tickets],
        "policy given": bandit._policy_given,
        "persons": bandit._persons.document(),
    }
    return document(body, format=FORMAT, version=VERSION, raw=True)


def _padded(rows: Any, count: int) -> Any:
    """So many rows, the last of them zeros: the size of a file does not tell, but to the ROWS, how many wait."""
    return np.concatenate([rows, np.zeros((count - len(rows), *rows.shape[1:]), rows.dtype)])


def write(path: Path, document: dict[str, Any]) -> None:
    """To a new file beside `path`, then in its place, on disk: an interrupted save leaves the old file whole."""
    if path.is_dir():
        raise BadState(f"Expected a file to write to, got the folder {path}.")
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _last(path: Path) -> tuple[str, int] | None:
    """The bandit and generation in the marker beside `path`, None if there is none."""
    try:
        document = json.loads(_marker(path).read_text())
        return str(document["bandit"]), int(document["generation"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise BadState(f"Expected {_marker(path).name} to be readable, got a damaged file.") from None


def _marker(path: Path) -> Path:
    return path.with_name(path.name + ".generation")


def _leaves(state: Any) -> list[Any]:
    """The arrays of a nested NamedTuple, in order."""
    return [leaf for part in state for leaf in _leaves(part)] if isinstance(state, tuple) else [state]


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": value.dtype.str, "shape": list(value.shape), "base64": data}
    if isinstance(value, Budget):
        return {"budget": [_encode(float(value.epsilon)), float(value.delta)]}
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
