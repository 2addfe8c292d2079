"""Which saved state of a bandit is its last one: to go on from an older one is to release the same people's data again.

A bandit's saved states are a line of generations, each newer than the one before. The last one is marked by a small
file NAME.generation beside each place where the bandit is saved or was loaded from, whatever lies there now, and by
another in the user's register, which knows every bandit of this machine by its id: a file that was copied, moved or
restored under any name is compared with that. NAME.lock is locked while marks are compared and replaced, and as long as
a durable file is in use.

What is not noticed: another machine, or another user of this one, that goes on from a copy without its mark; and file,
mark and register restored together."""

import json
import os
import re
from pathlib import Path
from typing import NamedTuple

from tacit.bandits import disk
from tacit.errors import BadState


class Mark(NamedTuple):
    """The last state of a bandit."""

    bandit: str  # its id
    generation: int
    digest: str  # of the file that holds that state; empty if none does, because more was released after saving


def find(place: Path) -> Mark | None:
    """The mark beside a place, None if there is none."""
    try:
        document = json.loads(_beside(place).read_text())
        return Mark(str(document["bandit"]), int(document["generation"]), str(document["digest"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise BadState(f"Expected {_beside(place).name} to be readable, got a damaged file.") from None


def leave(place: Path, mark: Mark) -> None:
    disk.write(_beside(place), mark._asdict())


def register(bandit: str) -> Path:
    """The place of a bandit in the register: nothing is saved there, but its mark is."""
    if not re.fullmatch("[0-9a-f]{32}", bandit):
        raise BadState("Expected a bandit's id of 32 hexadecimal digits, got something else.")
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    folder = Path(home).expanduser() / "tacit"
    if not folder.is_absolute():
        raise BadState("Expected XDG_STATE_HOME to be an absolute path, got another.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError
    except (OSError, RuntimeError):
        raise BadState(
            f"Expected a folder to write the register of saved bandits to, got {folder}: set XDG_STATE_HOME to one "
            "that stays."
        ) from None
    return folder.absolute() / bandit


def _beside(place: Path) -> Path:
    return place.with_name(place.name + ".generation")
