"""Servers on disk: JSON with a checksum, never pickle. No raw data: none came here. Readable by its owner only."""

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tacit.bandits.storage import _decode, _encode, _leaves
from tacit.errors import BadState

if TYPE_CHECKING:
    from tacit.bandits.server import Server

FORMAT, VERSION = "tacit server", 1

S = TypeVar("S", bound="Server")


def save(server: "Server", path: Path) -> None:
    """Write to a new file beside `path`, then put it in its place: an interrupted save leaves the old file whole."""
    body = {
        "server": type(server).__name__,
        "settings": {f.name: _encode(getattr(server, f.name)) for f in dataclasses.fields(server) if f.init},
        "plan": _encode(tuple(map(float, server._plan_numbers()))),
        "state": [_encode(part) for part in _leaves(server._state)],
    }
    text = json.dumps(body, sort_keys=True)
    document = {"format": FORMAT, "version": VERSION, "raw data": False, "sha256": _digest(text), "body": text}
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def load(cls: type[S], path: Path) -> S:
    try:
        document = json.loads(path.read_text())
        if document["format"] != FORMAT:
            raise KeyError
        version, digest, text = document["version"], document["sha256"], str(document["body"])
    except (ValueError, KeyError, TypeError):
        raise BadState(f"Expected a saved server in {path.name}, got something else or a damaged file.") from None
    if version != VERSION:
        raise BadState(f"Expected a saved server of version {VERSION} in {path.name}, got version {version}.")
    if _digest(text) != digest:
        raise BadState(f"Expected {path.name} to match its checksum, got a damaged or edited file.")
    body = json.loads(text)
    if body["server"] != cls.__name__:
        raise BadState(f"Expected a saved {cls.__name__} in {path.name}, got a {body['server']}.")
    server = cls(**{name: _decode(value) for name, value in body["settings"].items()})
    if list(_decode(body["plan"])) != list(map(float, server._plan_numbers())):
        raise BadState(f"Expected {path.name} to have the noise that its settings give now, got another calibration.")
    for leaf, value in zip(_leaves(server._state), body["state"], strict=True):
        leaf[...] = _decode(value)
    return server


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
