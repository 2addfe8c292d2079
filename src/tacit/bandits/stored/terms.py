"""What all workers of a bandit do alike: how long a choice waits, when a release is used, what a person's limit and
silence mean. It stands in the bandit's row: the worker that was opened last decides, with an event, and the others
follow in their next transaction."""

import json
from typing import NamedTuple

from tacit.errors import Retired
from tacit.store import rows
from tacit.store.database import Database
from tacit.store.rows import Head

SHORTEST = 1e-6  # seconds: a release is visible at a multiple of the delay, whose number has to be finite


class Terms(NamedTuple):
    """All public."""

    pending: int
    delay: float
    on_limit: str
    missing_as: float | None
    after: float | None

    @property
    def silence(self) -> tuple[float, float] | None:
        """(the reward that silence means, after how many seconds)."""
        return None if self.missing_as is None or self.after is None else (self.missing_as, self.after)


class Agreed:
    """The terms that one worker knows."""

    def __init__(self, given: Terms) -> None:
        if 0 < given.delay < SHORTEST:
            raise ValueError(f"Expected delay to be 0 or at least {SHORTEST:g} seconds, got {given.delay:g}.")
        self.now, self._text, self.ended = given, "", False

    def decide(self, database: Database, uid: str, at: float) -> None:
        """The given terms, for everybody. A bandit that has ended keeps what it has."""
        text = json.dumps(self.now._asdict(), sort_keys=True)
        with database.transaction() as run:
            head = rows.head(run, uid, database.locking)
            self.ended = head.ended
            if head.settings != text and not head.ended:
                rows.settle(run, uid, text)
                if head.settings is not None:  # it is not new
                    old, new = json.loads(head.settings), self.now._asdict()
                    names = ", ".join(name for name in new if old.get(name) != new[name])
                    rows.event(run, uid, at, f"settings changed for all workers: {names}")
        self._text = text

    def follow(self, head: Head) -> Terms:
        """As they are in that row; Retired if the bandit has ended."""
        self.ended = head.ended
        self.at_work()
        if head.settings is not None and head.settings != self._text:
            found = json.loads(head.settings)
            self.now = self.now._replace(**{name: found[name] for name in Terms._fields if name in found})
            self._text = head.settings
        return self.now

    def at_work(self) -> None:
        if self.ended:
            raise Retired("Expected a bandit that is at work, got one that was retired.")
