"""What all workers of a bandit do alike: how long a choice waits, when a release is used, what a person's limit and
silence mean, and which actions there are. It stands in the bandit's row: the worker that was opened last decides, with
an event, and the others follow in their next transaction. Actions can only be added and retired (tacit.bandits.actions)
at the number of choices that the row has then."""

import json
from typing import NamedTuple

from tacit.bandits import actions
from tacit.bandits.actions import Declared
from tacit.bandits.joint.continual import SummedBandit
from tacit.bandits.stored.line import Line, made_with
from tacit.errors import Retired
from tacit.store import rows
from tacit.store.rows import Bandit, Head

SHORTEST = 1e-6  # seconds: a release is visible at a multiple of the delay, whose number has to be finite


class Terms(NamedTuple):
    """All public."""

    pending: int
    delay: float
    on_limit: str
    missing_as: float | None
    after: float | None
    actions: tuple[Declared, ...] = ()

    @property
    def silence(self) -> tuple[float, float] | None:
        """(the reward that silence means, after how many seconds)."""
        return None if self.missing_as is None or self.after is None else (self.missing_as, self.after)


def recorded(head: Head, row: Bandit) -> tuple[Declared, ...]:
    """The actions of an incarnation, as far as it is known."""
    kept = json.loads(head.settings or "{}").get("actions")
    return made_with(row) if kept is None else actions.read(kept)


class Agreed:
    """The terms that one worker knows."""

    def __init__(self, given: Terms, bandit: SummedBandit) -> None:
        if 0 < given.delay < SHORTEST:
            raise ValueError(f"Expected delay to be 0 or at least {SHORTEST:g} seconds, got {given.delay:g}.")
        self.now, self._bandit, self._schema = given, bandit, bandit.features
        self._text, self.ended = "", False

    def begin(self, line: Line) -> None:
        """The actions, as they will be when `decide` is called; BadState if those that were declared before are not
        among them."""
        with line.database.transaction() as run:
            self._declare(rows.head(run, line.uid), line)

    def decide(self, line: Line, at: float) -> None:
        """The given terms, for everybody. A bandit that has ended keeps what it has."""
        with line.database.transaction() as run:
            head = rows.head(run, line.uid, line.database.locking)
            self.ended = head.ended
            before = self._declare(head, line)
            text = json.dumps(self.now._asdict(), sort_keys=True)
            if head.settings != text and not head.ended:
                rows.settle(run, line.uid, text)
                old, new = json.loads(head.settings or "{}"), json.loads(text)
                names = ", ".join(name for name in new if name != "actions" and old.get(name) != new[name])
                if names and old:  # it is not new
                    rows.event(run, line.uid, at, f"settings changed for all workers: {names}")
                for what in actions.events(before, self.now.actions):
                    rows.event(run, line.uid, at, what)
        self._text = text

    def _declare(self, head: Head, line: Line) -> tuple[Declared, ...]:
        """Takes over the given actions, and returns those before."""
        before = recorded(head, line.bandit)
        new = before if head.ended else actions.changed(before, self._schema, head.choices)
        self.now = self.now._replace(actions=new)
        if new:
            self._bandit._declare(new)
        return before

    def follow(self, head: Head) -> Terms:
        """As they are in that row; Retired if the bandit has ended."""
        self.ended = head.ended
        self.at_work()
        if head.settings is not None and head.settings != self._text:
            found = json.loads(head.settings)
            self.now = self.now._replace(**{name: found[name] for name in Terms._fields if name in found})
            if found.get("actions"):
                self.now = self.now._replace(actions=actions.read(found["actions"]))
                self._bandit._declare(self.now.actions)
            self._text = head.settings
        return self.now

    def at_work(self) -> None:
        if self.ended:
            raise Retired("Expected a bandit that is at work, got one that was retired.")
