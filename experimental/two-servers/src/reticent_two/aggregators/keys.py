"""The sealing keys of one aggregator, in a file beside its counter file: never in the database or in a backup of it.

A key lives for `lifetime` seconds. A new one is made at half of that, so that a report that was sealed to the newest
key has at least half of it to arrive; at the end the key is destroyed, and so are all when the era is retired.
Destroyed means overwritten and gone from the file system: a disk may keep older copies of a block, which an encrypted
disk hides."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from reticent.core.file_witness import write
from reticent.errors import BadState
from reticent_two.roles import sealing
from reticent_two.roles.sealing import LONGEST, PrivateKey

DAY = 86400
SHORTEST = 60  # seconds


class KeyRing:
    """show: what devices get of a key. Not for several threads at once."""

    def __init__(
        self, path: Path, show: Callable[[PrivateKey], bytes], clock: Callable[[], float], lifetime: int
    ) -> None:
        if not SHORTEST <= lifetime <= LONGEST:
            raise ValueError(f"Expected keys that live between {SHORTEST} and {LONGEST} seconds, got {lifetime}.")
        self._path, self._show, self._clock, self._lifetime = path, show, clock, lifetime
        self._new = path.with_name(path.name + ".new")
        _destroyed(self._new)  # of a save that was interrupted
        self._keys = self._read()
        self._shown: tuple[int, bytes] = -1, b""

    def shown(self) -> bytes:
        """The newest, for devices; it is on disk."""
        now = int(self._clock())
        self._forget(now)
        if not self._keys or now >= self._keys[-1].since + self._lifetime // 2:
            since = max(now, self._keys[-1].since + 1 if self._keys else 0)
            self._write([*self._keys, sealing.drawn(since, since + self._lifetime)])
        newest = self._keys[-1]
        if self._shown[0] != newest.since:
            self._shown = newest.since, self._show(newest)
        return self._shown[1]

    def find(self, since: int) -> PrivateKey | None:
        """None for one that is gone, or never was."""
        self._forget(int(self._clock()))
        return next((key for key in self._keys if key.since == since), None)

    def destroy(self) -> None:
        """All of them."""
        self._keys = []
        for path in (self._path, self._new):
            _destroyed(path)

    def _forget(self, now: int) -> None:
        left = [key for key in self._keys if now < key.until]
        if len(left) < len(self._keys):
            self._write(left)

    def _write(self, keys: list[PrivateKey]) -> None:
        with _overwriting(self._path):
            rows = [{"since": key.since, "until": key.until, "private": key.private.hex()} for key in keys]
            write(self._path, {"keys": rows})
        self._keys = keys

    def _read(self) -> list[PrivateKey]:
        try:
            found = json.loads(self._path.read_text())["keys"]
            return [PrivateKey(int(k["since"]), int(k["until"]), bytes.fromhex(k["private"])) for k in found]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError):
            raise BadState(f"Expected {self._path.name} to be readable, got a damaged file: delete it.") from None


def _destroyed(path: Path) -> None:
    with _overwriting(path):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _overwriting(path: Path) -> Iterator[None]:
    """Zeros over what was there, once something else is in its place."""
    try:
        old = os.open(path, os.O_WRONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield
        return
    try:
        yield
        os.pwrite(old, bytes(os.fstat(old).st_size), 0)
        os.fsync(old)
    finally:
        os.close(old)
