"""Servers on disk: JSON with a checksum, never pickle. No raw data: none came here. Readable by its owner only.

A server's file needs no mark of which copy is the last: what is in it are sums of reports that are private by
themselves, so two servers that go on from one file release nothing of anybody a second time."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tacit.bandits.disk import write
from tacit.bandits.storage import _decode, _encode, _leaves, document, read
from tacit.errors import BadState

if TYPE_CHECKING:
    from tacit.bandits.server import Server

FORMAT, VERSION = "tacit server", 3

S = TypeVar("S", bound="Server")


def save(server: "Server", path: Path) -> None:
    """Write to a new file beside `path`, then put it in its place: an interrupted save leaves the old file whole."""
    body = {
        "server": type(server).__name__,
        "settings": {f.name: _encode(getattr(server, f.name)) for f in dataclasses.fields(server) if f.init},
        "plan": _encode(tuple(map(float, server._plan_numbers()))),
        "state": [_encode(part) for part in _leaves(server._state)],
    }
    write(path, document(body, format=FORMAT, version=VERSION, raw=False))


def load(cls: type[S], path: Path) -> S:
    body, _ = read(path, what="server", format=FORMAT, version=VERSION)
    if body["server"] != cls.__name__:
        raise BadState(f"Expected a saved {cls.__name__} in {path.name}, got a {body['server']}.")
    try:
        server = cls(**{name: _decode(value) for name, value in body["settings"].items()})
    except (TypeError, ValueError):
        raise BadState(f"Expected settings of a {cls.__name__} in {path.name}, got others.") from None
    if list(_decode(body["plan"])) != list(map(float, server._plan_numbers())):
        raise BadState(f"Expected {path.name} to have the noise that its settings give now, got another calibration.")
    leaves, values = _leaves(server._state), [_decode(value) for value in body["state"]]
    if [leaf.shape for leaf in leaves] != [value.shape for value in values]:
        raise BadState(f"Expected the state of a {cls.__name__} in {path.name}, got another.")
    for leaf, value in zip(leaves, values, strict=True):
        leaf[...] = value
    return server
