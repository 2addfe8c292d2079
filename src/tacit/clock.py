"""Time that nobody sets: within a process it goes on evenly, whatever happens to the system's clock."""

import time
from collections.abc import Callable

JUMP = 1.0  # seconds: a clock that moves by more from one look to the next was set


class Steady:
    """Seconds since 1970, as the system's clock had them when this was made, and what has passed since."""

    def __init__(self, wall: Callable[[], float] = time.time, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._elapsed = wall, elapsed
        self._start = wall() - elapsed()
        self._apart = 0.0

    def __call__(self) -> float:
        return self._start + self._elapsed()

    def jumped(self) -> bool:
        """Whether the system's clock was set since this was last asked. It is not followed."""
        before, self._apart = self._apart, self._wall() - self()
        return abs(self._apart - before) > JUMP
