"""Files that are whole or not there, and locks that end with their process."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tacit.errors import BadState

try:
    import fcntl
except ImportError as error:
    raise ImportError(
        "Expected a POSIX system (Linux, macOS), whose file locks tacit rests on, got another."
    ) from error


PATIENCE = 10.0  # seconds for another bandit to be done with a file


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


def locked(path: Path) -> int | None:
    """NAME.lock, opened and locked; None if another has it. To close it is to let go."""
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """While nobody else has that lock; BadState if another keeps it."""
    end = time.monotonic() + PATIENCE
    while (descriptor := locked(path)) is None:
        if time.monotonic() > end:
            raise in_use(path)
        time.sleep(0.01)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child that was forked meanwhile has the descriptor too
        os.close(descriptor)


def in_use(path: Path) -> BadState:
    return BadState(f"Expected {path.name} to be free, got one that another bandit has in use.")
