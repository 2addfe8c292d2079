"""What a bandit on a database shows: functions of committed releases and of public counts."""

import threading
from collections.abc import Mapping
from typing import Any

from tacit import forks
from tacit.algorithms.earnings import Earned
from tacit.bandits.actions import Declared
from tacit.bandits.joint.continual import SummedBandit
from tacit.bandits.stored import certificate, line
from tacit.bandits.stored.history import LEVEL, Offers, Past
from tacit.bandits.stored.line import Line
from tacit.bandits.stored.outage import Outage
from tacit.bandits.stored.population import Membership, Population
from tacit.bandits.stored.terms import Agreed
from tacit.bandits.stored.versions import Versions
from tacit.data import Array
from tacit.errors import BadState
from tacit.features.schema import Schema
from tacit.kernels.rounds import CHOICES
from tacit.lock import Lock, locked
from tacit.model.arms import Arms
from tacit.privacy.certificate import Certificate
from tacit.store import bookmarks, rows
from tacit.store.database import Database


class Shown:
    """Stored, as far as it is read."""

    membership: Membership
    _bandit: SummedBandit
    _database: Database
    _line: Line
    _agreed: Agreed
    _versions: Versions
    _outage: Outage
    _lock: Lock
    _closing: threading.Event
    _process: tuple[int, int]

    @property
    @locked
    def choices(self) -> int:
        """Choices made so far, of this incarnation."""
        self._outage.again(self._count)
        return self._bandit.choices

    @property
    def left(self) -> int | None:
        """Choices that this incarnation can still make; None: there is no end. Public."""
        ends = [most for most in (self._bandit.horizon, self._bandit._capacity) if most is not None]
        return 0 if self.retired else max(0, min(ends) - self.choices) if ends else None

    @property
    def degraded(self) -> bool:
        """Whether choices are answered without learning, because the database is away or cannot be written."""
        return self._outage.on

    @property
    def head(self) -> rows.Head:
        """Where this incarnation stands: the open step, the choices so far, and how many close the step. All public."""
        self._own()
        with self._database.transaction() as run:
            return rows.head(run, self._line.uid)

    @property
    @locked
    def version(self) -> int:
        """The number of releases that choices are made by."""
        return int(self._at_present()._steps)

    @property
    @locked
    def theta(self) -> Array:
        """The bandit's, at the version that is served."""
        theta: Array = self._at_present().theta
        return theta

    @locked
    def interval(
        self, arms: Arms | Mapping[str, Any], *, actions: Any = None, level: float = 0.9
    ) -> list[tuple[float, float]]:
        """The bandit's, at the version that is served."""
        out: list[tuple[float, float]] = self._at_present().interval(arms, actions=actions, level=level)
        return out

    @property
    @locked
    def history(self) -> tuple[Past, ...]:
        """What was believed before the first release, and at each one that is visible, of this incarnation."""
        self._at_present()
        return tuple(self._versions.history)

    def offers(self, arms: Arms | Mapping[str, Any], *, actions: Any = None) -> Offers:
        """What somebody with these arms, given as in `choose`, would be offered now. Nobody asks, so nobody is counted
        and nothing is drawn that a choice or a release needs."""
        features, names, _ = self._bandit._request(arms, None, actions)
        with self._lock:
            bandit = self._at_present()
            middle, half = bandit._beliefs(features, LEVEL)
            probability = bandit._offers(features)
        mean, low, high = map(bandit._mean, (middle, middle - half, middle + half))
        return Offers(probability(), mean, low, high, names or ())

    @property
    def weighs(self) -> bool:
        """Whether each choice is kept with its propensity, sealed: `with_propensity` computes it beside others."""
        return self._bandit._weighs

    @property
    @locked
    def earned(self) -> Earned | None:
        """The bandit's, at the version that is served."""
        out: Earned | None = self._at_present().earned
        return out

    @property
    @locked
    def statistics(self) -> Any:
        """The bandit's, at the version that is served."""
        return self._at_present().statistics

    @property
    @locked
    def privacy(self) -> Certificate:
        bandit, now = self._at_present(), self._versions.released
        return certificate.of(bandit, self._line.bandit, now, ended=self.retired, population=self.population)

    @property
    def features(self) -> Schema | None:
        """The bandit's schema, with the actions that there are now."""
        return self._bandit.features

    @property
    def actions(self) -> tuple[Declared, ...]:
        """Its actions, and since and until when they are offered, in choices of this incarnation. Public. New and
        retired ones are named in the schema that the bandit is opened with."""
        return self._bandit.actions

    @property
    def retired(self) -> bool:
        """Whether it has ended: nothing but what was released is left of it."""
        return self._agreed.ended

    @property
    def population(self) -> Population:
        """What all bandits of its population cost together, as far as they are on record here."""
        return self.membership.together()

    @property
    def events(self) -> list[tuple[float, str]]:
        """What happened, and when: never a value."""
        self._own()
        with self._database.transaction() as run:
            return rows.events(run, self._line.uid)

    def check_keys(self) -> None:
        """WrongKeys unless the folder of keys is the one that the database is sealed with."""
        self._own()
        if not self.retired:
            line.check_keys(self._database, self._line.seal.keys, self._line.bandit)

    # helpers

    def _at_present(self) -> Any:
        """The bandit at the version that is visible now; under the lock."""
        self._own()
        self._outage.check(reading=True)
        self._outage.again(self._count)
        self._outage.again(self._versions.refresh)
        return self._bandit

    def _count(self) -> None:
        """The public counts, as they are now."""
        self._own()
        with self._database.transaction() as run:
            head, self._bandit._logged = rows.head(run, self._line.uid), bookmarks.all_learnt(run, self._line.uid)
        self._bandit._state.counts[CHOICES] = head.choices
        self._bandit._persons.unnamed = head.unnamed
        self._versions.expected = max(self._versions.expected, head.step)

    def _own(self) -> None:
        if self._closing.is_set():
            raise BadState("Expected a bandit that is open, got a closed one.")
        if self._process != forks.process():
            raise BadState("Expected a bandit in the process that opened it, got a forked copy: open it there.")
