"""What a bandit on a database shows: functions of committed releases and of public counts."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from tacit import checks, durations, forks
from tacit.algorithms.trial_sums import TrialSums
from tacit.core import claim
from tacit.core.actions import Declared
from tacit.core.claim import Counts
from tacit.core.fold import Fold
from tacit.core.onepass import OnePass
from tacit.data import Array
from tacit.errors import BadState
from tacit.features.schema import Schema
from tacit.holders import bookmarks, certificate, opening, rows
from tacit.holders.choosing import Choosing
from tacit.holders.database import Database, again
from tacit.holders.history import LEVEL, Offers, Past
from tacit.holders.opening import Vault
from tacit.holders.terms import Agreed
from tacit.holders.versions import Versions
from tacit.lock import Lock, locked
from tacit.model.arms import Arms
from tacit.models.segments import Segments
from tacit.privacy.certificate import Certificate
from tacit.trials import trial
from tacit.trials.trial import Trial


class Reading:
    """Stored, as far as it is read."""

    one_pass: OnePass
    _sources: Any  # source, and whether the policy's draws are the caller's
    _database: Database
    _vault: Vault
    _agreed: Agreed
    _versions: Versions
    _choosing: Choosing
    _lock: Lock
    _clock: Callable[[], float]
    _closing: threading.Event
    _process: tuple[int, int]

    @property
    @locked
    def choices(self) -> int:
        """Choices made so far: numbers that were given out."""
        return again(lambda: self.head).choices

    @property
    def left(self) -> int | None:
        """Choices that can still be made; None: there is no end. Public."""
        plan = self.one_pass.plan
        if plan.horizon is None and plan.mechanism.capacity is None:
            return None
        return 0 if self.retired else max(0, self._choosing.most - self.choices)

    @property
    def head(self) -> rows.Head:
        """Where it stands: the open step, the choices so far, and how many close the step. All public."""
        self._own()
        with self._database.transaction() as run:
            return rows.head(run, self._vault.uid)

    @property
    @locked
    def entered(self) -> int:
        """The number of the choice that entered last. Public."""
        self._own()
        with self._database.transaction() as run:
            return rows.settled(run, self._vault.uid)

    @property
    def behind(self) -> bool:
        """Whether something waits for its turn: a choice whose deadline has passed to enter, a step that is full to be
        released, or a release to be used. Public. True for a moment now and then; for long, if releases fail."""
        version = self.version
        with self._database.transaction() as run:
            head, opened = rows.head(run, self._vault.uid), rows.open_step(run, self._vault.uid)
            first = rows.first_waiting(run, self._vault.uid, 0 if opened is None else opened.settled)
        due = first is not None and first + self._agreed.now.window + self._database.skew < self._clock()
        return version < head.step or due or (opened is not None and opened.closed_at > 0)

    @property
    @locked
    def version(self) -> int:
        """The number of releases that choices are made by."""
        return self._at_present().step

    @property
    @locked
    def theta(self) -> Array:
        """The estimate that choices are made by: a function of released sums."""
        fold = self._at_present()
        return fold.algorithm.theta(fold.estimate)

    @locked
    def interval(
        self, arms: Arms | Mapping[str, Any], *, actions: Any = None, level: float = 0.9
    ) -> list[tuple[float, float]]:
        """For each arm, given as in `choose`, an interval that holds its mean reward with at least that probability,
        from released sums only."""
        checks.probability(level=level)
        fold = self._at_present()
        offer = self._agreed.door.arms(arms, actions)
        _, low, high = fold.algorithm.intervals(fold.estimate, offer.features, level)
        return list(zip(low.tolist(), high.tolist(), strict=True))

    @property
    @locked
    def history(self) -> tuple[Past, ...]:
        """What was believed before the first release, and at each one that is visible."""
        self._at_present()
        return tuple(self._versions.history)

    def offers(self, arms: Arms | Mapping[str, Any], *, actions: Any = None) -> Offers:
        """What somebody with these arms, given as in `choose`, would be offered now. Nobody asks, so nobody is counted
        and nothing is drawn that a choice or a release needs."""
        with self._lock:
            fold = self._at_present()
            offer = self._agreed.door.arms(arms, actions)
            algorithm, estimate = fold.algorithm, fold.estimate
        mean, low, high = algorithm.intervals(estimate, offer.features, LEVEL)
        return Offers(algorithm.chances(estimate, offer.features), mean, low, high, offer.names or ())

    @property
    @locked
    def trial_sums(self) -> TrialSums | None:
        """What the experiment has released so far, as sums over people; None without a holdout
        group, and where sides were coins and a retired bandit's key is destroyed."""
        fold, assignment = self._at_present(), self._agreed.assignment
        if assignment is None or not assignment.countable:
            return None
        out: TrialSums = self.one_pass.trial_sums(fold.looks, assignment.counts, assignment.ended)
        return out

    @property
    def trial(self) -> Trial | None:
        """What the holdout says, as a bandit's; None before the first look."""
        sums = self.trial_sums
        return None if sums is None else trial.trial(sums, self.one_pass.plan.horizon)

    @property
    def by_fields(self) -> bool:
        """Whether `segments` says what is learnt of people, from the first release on."""
        return self.one_pass.by_fields

    @property
    def segments(self) -> Segments | None:
        """What each field's values say of the actions that are offered, at the version that is served; None where sums
        are not by fields, or nothing was released."""
        with self._lock:
            fold = self._at_present()
            algorithm, estimate, live = fold.algorithm, fold.estimate, fold.live
        out: Segments | None = algorithm.segments(estimate, live)
        return out

    @property
    @locked
    def privacy(self) -> Certificate:
        self._at_present()
        terms, released = self._agreed.now, self._versions.released
        deadline = claim.deadline(f"{durations.words(terms.window)} after it was made", terms.default)
        found = claim.claimed(self.one_pass, self._sources, self.counts, terms.actions, deadline)
        row = self._vault.bandit
        return certificate.of(self.one_pass, found, row, released, ended=self.retired)

    @property
    def counts(self) -> Counts:
        """What a certificate counts, and all of it is public."""
        self._own()
        with self._database.transaction() as run:
            head, learnt = rows.head(run, self._vault.uid), bookmarks.all_learnt(run, self._vault.uid)
        return Counts(head.choices, learnt)

    @property
    def features(self) -> Schema | None:
        """The bandit's schema, with the actions that there are now."""
        return self._agreed.schema

    @property
    def actions(self) -> tuple[Declared, ...]:
        """Its actions, and since and until when they are offered, in choices. Public. New and
        retired ones are named in the schema that the bandit is opened with."""
        return self._agreed.now.actions

    @property
    def window(self) -> float:
        """Seconds after which a choice enters."""
        return self._agreed.now.window

    @property
    def default(self) -> float | None:
        """The reward that a choice without one enters with; None: it enters as nothing."""
        return self._agreed.now.default

    @property
    @locked
    def due_at(self) -> float | None:
        """About when the next release will be used: at the deadline of the last choice of its step, and `delay` later;
        None as long as that choice has not been made. Public: it follows from when choices were made."""
        self._at_present()
        if self._versions.next_at is not None:
            return self._versions.next_at
        with self._database.transaction() as run:
            head, opened = rows.head(run, self._vault.uid), rows.open_step(run, self._vault.uid)
            last = rows.first_waiting(run, self._vault.uid, head.boundary - 1)
        terms = self._agreed.now
        if opened is not None and opened.closed_at:
            return opened.closed_at + terms.delay
        return None if last is None else last + terms.window + self._database.skew + terms.delay

    @property
    def predecessors(self) -> tuple[str, ...]:
        """The uids of the bandits in whose place it came, by restores. Public."""
        return tuple(one.uid for one in self._vault.bandit.predecessors)

    @property
    def retired(self) -> bool:
        """Whether it has ended: nothing but what was released is left of it."""
        return self._agreed.ended

    @property
    def events(self) -> list[tuple[float, str]]:
        """What happened, and when: never a value."""
        self._own()
        with self._database.transaction() as run:
            return rows.events(run, self._vault.uid)

    def check_keys(self) -> None:
        """WrongKeys unless the folder of keys is the one that the database is sealed with."""
        self._own()
        if not self.retired:
            opening.check_keys(self._database, self._vault.seal.keys, self._vault.bandit)

    # helpers

    def _at_present(self) -> Fold:
        """The estimate at the version that is visible now; under the lock."""
        self._own()
        self._versions.expected = max(self._versions.expected, again(lambda: self.head).step)
        again(self._versions.refresh)
        return self._versions.fold

    def _own(self) -> None:
        if self._closing.is_set():
            raise BadState("Expected a bandit that is open, got a closed one.")
        if self._process != forks.process():
            raise BadState("Expected a bandit in the process that opened it, got a forked copy: open it there.")
