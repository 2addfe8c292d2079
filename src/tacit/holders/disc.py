"""Little room on the discs that a worker writes to: told while everything still works, rather than by errors.

How much room there is depends on how many rewards came, which is raw. So it is looked at once an hour, and against a
limit that is drawn anew each time, between one and two gigabytes (or 5 and 10 % of a disc that is small). What one
person's rows take moves that answer with a probability of their bytes over a gigabyte (or 5 % of that disc): less than
1 in 100 000 where a disc is not small."""

import contextlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

EVENT = "little disc space is left: writing will fail when there is none"
HOUR = 3600.0  # seconds
ROOM, SHARE = 1 << 30, 0.05  # bytes; of a small disc


class Disc:
    """Of these folders."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._hour, self._low = -1, False

    def runs_low(self, now: float) -> bool:
        """Whether it does since the last look, an hour ago: then an event is due."""
        hour, before = int(now // HOUR), self._low
        if hour == self._hour:
            return False
        self._hour = hour
        self._low = any(map(_little, self._folders))
        return self._low and not before


def _little(folder: Path) -> bool:
    """Whether there is less than the limit; False where nobody can tell."""
    with contextlib.suppress(OSError):
        found = os.statvfs(folder)
        least = min(ROOM, int(SHARE * found.f_blocks * found.f_frsize))
        return found.f_bavail * found.f_frsize < least + secrets.randbelow(least + 1)
    return False
