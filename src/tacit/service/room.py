"""Memory that requests take: so many bytes of bodies at the same time, of all who ask, and no more. Choices and rewards
have rooms of their own: rewards, whose number is raw, keep out no choice."""

import contextlib
from collections.abc import Callable, Iterator

from tacit.service.groups import Full


class Room:
    """Bodies that come, wait or are at work, until they are answered."""

    def __init__(self, most: int) -> None:
        self._most, self._taken = most, 0

    @contextlib.contextmanager
    def held(self) -> Iterator[Callable[[int], None]]:
        """For one request: called with the size of each part that came, it raises Full where there is no room."""
        mine = 0

        def hold(size: int) -> None:
            nonlocal mine
            if self._taken + size > self._most:
                raise Full
            mine += size
            self._taken += size

        try:
            yield hold
        finally:
            self._taken -= mine
