"""Which saved state of a bandit is its last one: to go on from an older one is to release the same people's data again.

A bandit's saved states are a line of generations, each newer than the one before. The last one is marked by a small
file NAME.generation beside each place where the bandit is saved or was loaded from, whatever lies there now, and by
another in the user's register, which knows every bandit of this machine by its id: a file that was copied, moved or
restored under any name is compared with that. NAME.lock is locked while marks are compared and replaced.

What is not noticed: another machine, or another user of this one, that goes on from a copy without its mark; and file,
mark and register restored together."""

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reticent.errors import BadState

try:
    import fcntl
except ImportError as error:
    raise ImportError(
        "Expected a POSIX system (Linux, macOS), whose file locks reticent rests on, got another."
    ) from error


PATIENCE = 10.0  # seconds for another bandit to be done with a file


class Mark(NamedTuple):
    """The last state of a bandit."""

    bandit: str  # its id
    generation: int
    digest: str  # of the file that holds that state; empty if none does, because more was released after saving


class FileWitness:
    """Where a bandit stands in the line of its saved states, and where they lie."""

    def __init__(self) -> None:
        self.bandit_id = secrets.token_hex(16)
        self.generation = 0
        self.digest = ""  # of the file that holds the present generation
        self.superseded = False
        self._places: set[Path] = set()  # where a state lies that could be gone on from

    def save(self, path: Path, made: Callable[[int], dict[str, Any]], *, marked: bool) -> None:
        """The document that is `made` for the next generation. First the file, then the marks: a crash in between
        leaves a file that is newer, and loads. Where the bandit was before, the mark says that its last state is
        elsewhere now. marked: not where noise is simulated, which may be drawn again."""
        if not marked:
            self._write(path, made)
            return
        with self._alone(path) as places:
            self._places = self._places | {path}  # a save that fails halfway has left a file all the same
            self._write(path, made)
            self._mark(places)
        self._places = {path}

    def releasing(self) -> None:
        """Noise is about to be drawn: no file holds the last state any more. BadState, before anything is drawn, if
        another bandit has gone on from one."""
        if self._places:
            with self._alone() as places:
                self.generation, self.digest = self.generation + 1, ""
                self._mark(places)
                self._places = set()

    def resume(self, path: Path, bandit_id: str, generation: int, digest: str) -> None:
        """Take the place of the file that was read; BadState if it is not the last one."""
        self.bandit_id, self.generation, self.digest = bandit_id, generation, digest
        path = path.absolute()
        last = find(path)
        if last is not None and last.bandit != bandit_id:
            raise BadState(f"Expected {path.name} to be the last state that was saved there, got another bandit's.")
        for place in (path, register(bandit_id)):
            self._check(place)
        self._places = {path}

    def separate(self) -> "FileWitness":
        """For a forked copy of a bandit that has not been used: another bandit, unless a file knows it."""
        return self if self._places else FileWitness()

    @contextlib.contextmanager
    def _alone(self, *more: Path) -> Iterator[list[Path]]:
        """The places whose marks count, while nobody else compares or replaces them; BadState if one of them knows of a
        later state than this bandit's."""
        places = sorted({register(self.bandit_id), *more, *filter(self._ours, self._places)})
        with contextlib.ExitStack() as stack:
            for place in places:
                stack.enter_context(alone(place))
            for place in places:
                self._check(place)
            yield [place for place in places if place in more or self._ours(place)]

    def _ours(self, place: Path) -> bool:
        """Not if another bandit was saved there since. A folder that is gone has no room for a mark: if it comes back,
        the register knows."""
        last = find(place)
        return place.parent.exists() and (last is None or last.bandit == self.bandit_id)

    def _check(self, place: Path) -> None:
        last = find(place)
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
            leave(place, Mark(self.bandit_id, self.generation, self.digest))

    def _write(self, path: Path, made: Callable[[int], dict[str, Any]]) -> None:
        document = made(self.generation + 1)
        write(path, document)
        self.generation, self.digest = self.generation + 1, document["sha256"]


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
    write(_beside(place), mark._asdict())


def register(bandit: str) -> Path:
    """The place of a bandit in the register: nothing is saved there, but its mark is."""
    if not re.fullmatch("[0-9a-f]{32}", bandit):
        raise BadState("Expected a bandit's id of 32 hexadecimal digits, got something else.")
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    folder = Path(home).expanduser() / "reticent"
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


def write(path: Path, document: dict[str, Any]) -> None:
    """To a new file beside `path`, then in its place, on disk: an interrupted save leaves the old file whole."""
    if path.is_dir():
        raise BadState(f"Expected a file to write to, got the folder {path}.")
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(json.dumps(document))  # at once: json.dump writes piece by piece, by Python's encoder
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """While nobody else has NAME.lock; BadState if another keeps it for longer than PATIENCE."""
    end = time.monotonic() + PATIENCE
    while (descriptor := locked(path)) is None:
        if time.monotonic() > end:
            raise BadState(f"Expected {path.name} to be free, got one that another bandit has in use.")
        time.sleep(0.01)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child that was forked meanwhile has the descriptor too
        os.close(descriptor)


def locked(path: Path) -> int | None:
    """NAME.lock, opened and locked; None if another has it. To close it is to let go."""
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
