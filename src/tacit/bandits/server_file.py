"""Servers on disk: JSON with a checksum, never pickle. No raw data: none came here. Readable by its owner only.

A server's file needs no mark of which copy is the last: what is in it are sums of reports that are private by
themselves, so two servers that go on from one file release nothing of anybody a second time."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.bandits.snapshot import _decode, document, encoded, opened
from tacit.bandits.witness import write
from tacit.errors import BadState
from tacit.mechanisms.saving import arrays

if TYPE_CHECKING:
    from tacit.bandits.server import Server

FORMAT = "tacit server"
VERSION = 4  # raised where what is summed, or what an estimate makes of it, is no longer the same for the same settings

S = TypeVar("S", bound="Server")


def save(server: "Server", path: Path) -> None:
    """Write to a new file beside `path`, then put it in its place: an interrupted save leaves the old file whole."""
    write(path, saved(server))


def saved(server: "Server") -> dict[str, Any]:
    """Settings and state, as `restored` takes them."""
    body = {
        "server": type(server).__name__,
        "settings": _settings(server),
        "plan": encoded(tuple(map(float, server._plan_numbers()))),
        "state": [encoded(part) for part in arrays(server._state)],
    }
    return document(body, format=FORMAT, version=VERSION, raw=False)


def load(cls: type[S], path: Path) -> S:
    return restored(cls, path.read_bytes(), path.name)


def restored(cls: type[S], text: bytes, where: str) -> S:
    """The server whose `saved` that is, as JSON; `where` it was found is for messages."""
    body, _ = opened(text, where, what="server", format=FORMAT, version=VERSION)
    if body["server"] != cls.__name__:
        raise BadState(f"Expected a saved {cls.__name__} in {where}, got a {body['server']}.")
    try:
        server = cls(**{name: _decode(value) for name, value in body["settings"].items()})
    except (TypeError, ValueError):
        raise BadState(f"Expected settings of a {cls.__name__} in {where}, got others.") from None
    if list(_decode(body["plan"])) != list(map(float, server._plan_numbers())):
        raise BadState(f"Expected {where} to have the noise that its settings give now, got another calibration.")
    leaves, values = arrays(server._state), [_decode(value) for value in body["state"]]
    if [leaf.shape for leaf in leaves] != [value.shape for value in values]:
        raise BadState(f"Expected the state of a {cls.__name__} in {where}, got another.")
    for leaf, value in zip(leaves, values, strict=True):
        leaf[...] = value
    return server


def differing(one: "Server", other: "Server") -> list[str]:
    """The settings in which two servers of a kind are not alike."""
    mine, theirs = _settings(one), _settings(other)
    return [name for name in mine if json.dumps(mine[name]) != json.dumps(theirs[name])]


def _settings(server: "Server") -> dict[str, Any]:
    return {f.name: encoded(getattr(server, f.name)) for f in dataclasses.fields(server) if f.init}
