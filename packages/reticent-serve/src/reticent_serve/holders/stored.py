"""A bandit on a database: choices, rewards and releases are committed rows, and any worker may do anything."""

import contextlib
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

import numpy.typing as npt
from numpy.random import Generator, default_rng

from reticent import checks, durations, process
from reticent.algorithms.trial_sums import TrialSums
from reticent.core import claim, curator
from reticent.core.actions import Declared
from reticent.core.assignment import LOGS, NONE
from reticent.core.claim import Counts
from reticent.core.curator import Asked, Curator, cancelled
from reticent.core.estimator import Estimator
from reticent.core.onepass import OnePass
from reticent.core.validation import PersonId, digest
from reticent.data import Array
from reticent.errors import BadState, ReticentError, Unavailable
from reticent.experiment import Algorithm
from reticent.features.schema import Schema
from reticent.model.arms import Arms
from reticent.models.segments import Segments
from reticent.privacy.certificate import Certificate
from reticent.privacy.noise import Secure
from reticent.process import Lock, Steady, locked
from reticent_serve.holders import (
    backups,
    bookmarks,
    certificate,
    opening,
    requests,
    retirement,
    rows,
    schema,
    served,
    shared_settings,
    upkeep,
)
from reticent_serve.holders.certificate import LEVEL, Offers, Past
from reticent_serve.holders.choosing import Choosing, Following, Made
from reticent_serve.holders.database import Database, again
from reticent_serve.holders.limits import RoundLimits
from reticent_serve.holders.log import Log
from reticent_serve.holders.opening import BanditStore
from reticent_serve.holders.requests import Report, StoredChoice, Ticket
from reticent_serve.holders.served import RowsBook, ServedEstimates
from reticent_serve.holders.shared_settings import SharedSettings
from reticent_serve.holders.sqlite import SQLite
from reticent_serve.holders.steps import Steps
from reticent_serve.trials import trial
from reticent_serve.trials.trial import Trial


class Reading:
    """Stored, as far as it is read."""

    one_pass: OnePass
    _sources: Any  # source, and whether the policy's draws are the caller's
    _database: Database
    _store: BanditStore
    _shared: SharedSettings
    _served: ServedEstimates
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
            return rows.head(run, self._store.uid)

    @property
    @locked
    def entered(self) -> int:
        """The number of the choice that entered last. Public."""
        self._own()
        with self._database.transaction() as run:
            return rows.settled(run, self._store.uid)

    @property
    def behind(self) -> bool:
        """Whether something waits for its turn: a choice whose deadline has passed to enter, a step that is full to be
        released, or a release to be used. Public. True for a moment now and then; for long, if releases fail."""
        version = self.version
        with self._database.transaction() as run:
            head, opened = rows.head(run, self._store.uid), rows.open_step(run, self._store.uid)
            first = rows.first_waiting(run, self._store.uid, 0 if opened is None else opened.settled)
        due = first is not None and first + self._shared.now.window + self._database.skew < self._clock()
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
        estimator = self._at_present()
        return estimator.algorithm.theta(estimator.estimate)

    @locked
    def interval(
        self, arms: Arms | Mapping[str, Any], *, actions: Any = None, level: float = 0.9
    ) -> list[tuple[float, float]]:
        """For each arm, given as in `choose`, an interval that holds its mean reward with at least that probability,
        from released sums only."""
        checks.probability(level=level)
        estimator = self._at_present()
        offer = self._shared.validator.arms(arms, actions)
        _, low, high = estimator.algorithm.intervals(estimator.estimate, offer.features, level)
        return list(zip(low.tolist(), high.tolist(), strict=True))

    @property
    @locked
    def history(self) -> tuple[Past, ...]:
        """What was believed before the first release, and at each one that is visible."""
        self._at_present()
        return tuple(self._served.history)

    def offers(self, arms: Arms | Mapping[str, Any], *, actions: Any = None) -> Offers:
        """What somebody with these arms, given as in `choose`, would be offered now. Nobody asks, so nobody is counted
        and nothing is drawn that a choice or a release needs."""
        with self._lock:
            estimator = self._at_present()
            offer = self._shared.validator.arms(arms, actions)
            algorithm, estimate = estimator.algorithm, estimator.estimate
        mean, low, high = algorithm.intervals(estimate, offer.features, LEVEL)
        return Offers(algorithm.chances(estimate, offer.features), mean, low, high, offer.names or ())

    @property
    @locked
    def trial_sums(self) -> TrialSums | None:
        """What the experiment has released so far, as sums over people; None without a holdout
        group, and where groups were coins and a retired bandit's key is destroyed."""
        estimator, assignment = self._at_present(), self._shared.assignment
        if assignment is None or not assignment.countable:
            return None
        out: TrialSums = self.one_pass.trial_sums(estimator.looks, assignment.counts, assignment.ended)
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
            estimator = self._at_present()
            algorithm, estimate, live = estimator.algorithm, estimator.estimate, estimator.live
        out: Segments | None = algorithm.segments(estimate, live)
        return out

    @property
    @locked
    def privacy(self) -> Certificate:
        self._at_present()
        now, released = self._shared.now, self._served.released
        deadline = claim.deadline(f"{durations.words(now.window)} after it was made", now.default)
        found = claim.claimed(self.one_pass, self._sources, self.counts, now.actions, deadline)
        row = self._store.bandit
        return certificate.of(self.one_pass, found, row, released, ended=self.retired)

    @property
    def counts(self) -> Counts:
        """What a certificate counts, and all of it is public."""
        self._own()
        with self._database.transaction() as run:
            head, learnt = rows.head(run, self._store.uid), bookmarks.all_learnt(run, self._store.uid)
        return Counts(head.choices, learnt)

    @property
    def features(self) -> Schema | None:
        """The bandit's schema, with the actions that there are now."""
        return self._shared.schema

    @property
    def actions(self) -> tuple[Declared, ...]:
        """Its actions, and since and until when they are offered, in choices. Public. New and
        retired ones are named in the schema that the bandit is opened with."""
        return self._shared.now.actions

    @property
    def window(self) -> float:
        """Seconds after which a choice enters."""
        return self._shared.now.window

    @property
    def default(self) -> float | None:
        """The reward that a choice without one enters with; None: it enters as nothing."""
        return self._shared.now.default

    @property
    @locked
    def due_at(self) -> float | None:
        """About when the next release will be used: at the deadline of the last choice of its step, and `delay` later;
        None as long as that choice has not been made. Public: it follows from when choices were made."""
        self._at_present()
        if self._served.next_at is not None:
            return self._served.next_at
        with self._database.transaction() as run:
            head, opened = rows.head(run, self._store.uid), rows.open_step(run, self._store.uid)
            last = rows.first_waiting(run, self._store.uid, head.boundary - 1)
        now = self._shared.now
        if opened is not None and opened.closed_at:
            return opened.closed_at + now.delay
        return None if last is None else last + now.window + self._database.skew + now.delay

    @property
    def predecessors(self) -> tuple[str, ...]:
        """The uids of the bandits in whose place it came, by restores. Public."""
        return tuple(one.uid for one in self._store.bandit.predecessors)

    @property
    def retired(self) -> bool:
        """Whether it has ended: nothing but what was released is left of it."""
        return self._shared.ended

    @property
    def events(self) -> list[tuple[float, str]]:
        """What happened, and when: never a value."""
        self._own()
        with self._database.transaction() as run:
            return rows.events(run, self._store.uid)

    def check_keys(self) -> None:
        """WrongKeys unless the folder of keys is the one that the database is sealed with."""
        self._own()
        if not self.retired:
            opening.check_keys(self._database, self._store.seal.keys, self._store.bandit)

    # helpers

    def _at_present(self) -> Estimator:
        """The estimate at the version that is visible now; under the lock."""
        self._own()
        self._served.expected = max(self._served.expected, again(lambda: self.head).step)
        again(self._served.refresh)
        return self._served.estimator

    def _own(self) -> None:
        if self._closing.is_set():
            raise BadState("Expected a bandit that is open, got a closed one.")
        if self._process != process.process():
            raise BadState("Expected a bandit in the process that opened it, got a forked copy: open it there.")


T = TypeVar("T")


class Stored(Reading):
    """`Stored(algorithm, "bandit.db")` or `Stored(algorithm, "postgresql://...", keys="folder")`, of a JointGLM or an
    Experiment whose reward has a window ("1 hour"): a bandit whose state is rows. Opened again, here or by another
    worker of PostgreSQL, it goes on where it stood.

    Guarantee: that of the bandit. What it shows is a function of committed noisy leaves, the asking user's own request
    and fresh randomness; each step has one noise; each choice enters once, in the order of numbers.

    The window has to be said when the bandit is made; without, it stays as it was. Window and default may be others at
    any start. name: of the bandit within its database. keys: the folder of keys and the witness
    (reticent_serve.holders.seal, .witness), by default FILE.keys. delay: the time from the end of a step until its
    release is used. pending: for how many later choices the answer to a request is kept. background: whether a thread
    does what is due; without it, call `tend`. clock: by default one that goes on evenly while the process lives
    (reticent.process): if the system's clock is set, an event tells, and nothing else changes. source, policy: of
    noise, and of the draws of choices; by default secure, and fresh."""

    def __init__(
        self,
        algorithm: Algorithm,
        where: str | Path,
        *,
        name: str = "bandit",
        keys: str | Path | None = None,
        delay: float | str = 1.0,
        pending: int = 100_000,
        background: bool = True,
        clock: Callable[[], float] | None = None,
        source: Secure | None = None,
        policy: Generator | None = None,
    ) -> None:
        self.algorithm, source = algorithm, Secure() if source is None else source
        if not getattr(source, "private", False):
            raise ValueError("Expected secure noise, got another: a database is for people's data.")
        self.one_pass = one_pass = opening.check(algorithm, name)
        given = shared_settings.checked(one_pass, pending=pending, delay=delay)
        self._shared = SharedSettings(given, one_pass)
        self._sources = claim.Sources(source, policy is not None)
        self._clock = clock = Steady() if clock is None else clock
        self._lock, self._process, self._closing = Lock(), process.process(), threading.Event()
        self._database = self._other = opening.database_at(where)
        try:
            folder = opening.keys_of(where, self._database, keys)
            if opening.is_new(self._database, folder, name, where):
                if not given.window:
                    raise ValueError(shared_settings.NO_WINDOW)
                schema.ready(self._database)
            self._store = store = opening.opened(self._database, folder, name, one_pass, given.pending)
            served.verify(store, self._database)  # before anything is written
            self._shared.begin(store)
            self._shared.decide(store, clock())
            self._people = RoundLimits(one_pass, store)
            self._served = ServedEstimates(one_pass, store, self._shared, clock)
            self._other = self._database.another()
            policy = default_rng() if policy is None else policy
            self._curator = Curator(RowsBook(policy, store, self._served, self._shared))
            self._choosing = Choosing(self._curator, store, self._served, self._shared, clock)
            self._log = Log(one_pass, store, self._shared, self._curator, self._choosing, self._lock)
            self._steps = Steps(one_pass, source, store, self._other, self._shared, self._curator, self._people, clock)
            opening.destroy_keys(folder, store.bandit, ended=self.retired)
        except BaseException:
            for database in {self._database, self._other}:
                database.close()
            raise
        self._control: backups.WorkerSide | None = None
        if isinstance(self._database, SQLite):
            self._control = backups.WorkerSide(folder.folder, name, self._database.path)
        self._thread: threading.Thread | None = None
        if background and (self._control is not None or not self._shared.ended):
            arguments = (weakref.ref(self), self._closing)
            self._thread = threading.Thread(target=upkeep.work, args=arguments, daemon=True, name="reticent releases")
            self._thread.start()

    # choices

    def choose(
        self,
        arms: Arms | Mapping[str, Any],
        *,
        actions: Any = None,
        request: str | bytes | None = None,
        available: npt.ArrayLike | None = None,
        person: PersonId | None = None,
        asker: str = "",
        propensity: bool = False,
        own: str | int | None = None,
    ) -> StoredChoice:
        """The arm for one user, on disk before it is returned. The same `request` again, by the same `asker`, has the
        same answer, until it expires; give one if you may have to ask again. propensity: it is stored with the answer.
        Otherwise as a bandit's `choose`."""
        given: dict[str, Any] = {"actions": actions, "request": request, "available": available, "person": person}
        asked = self.prepare(arms, asker=asker, own=own, **given)
        answer = self.choose_group([self.with_propensity(asked) if propensity else asked])[0]
        if isinstance(answer, ReticentError):
            raise answer
        return answer

    def observe(self, choice: StoredChoice | str, reward: Any) -> bool:
        """Report a reward, by the choice or its id; None cancels, and nothing is learnt. On disk when this returns.
        Whether it came before the choice's deadline: later ones never count. The first one counts; again, the
        same is written once more: no answer tells, and the work is the same."""
        return self.write_group([self.report(choice, reward)])[0]

    def prepare(
        self,
        arms: Arms | Mapping[str, Any],
        *,
        actions: Any = None,
        request: str | bytes | None = None,
        available: npt.ArrayLike | None = None,
        person: PersonId | None = None,
        asker: str = "",
        own: str | int | None = None,
    ) -> Asked:
        """A request, checked: ValueError for a bad one, which then is no user and delays nobody. In an experiment a bad
        one is prepared, too, and refused when it has its number. own: as a bandit's."""
        self._shared.at_work()
        try:
            hashed = requests.request_hash(request, asker, self._store.requests)
            asked = self._curator.ask(arms, actions=actions, available=available, person=person, own=own)
            requests.check_names(asked.offer.names)
        except ValueError as error:
            if self._shared.assignment is None:
                raise
            return self.unreadable(error, asker, request)
        return asked._replace(hashed=hashed)

    def unreadable(self, error: Exception, asker: str = "", request: Any = None) -> Asked:
        """With a holdout: a request that cannot be read has a number, too, and one alone however often it is
        sent. request: what tells it from others, if that can be read."""
        named = request if isinstance(request, str | bytes) and request else None
        return curator.refused(error, requests.request_hash(named, asker, self._store.requests))

    def with_propensity(self, request: Asked) -> Asked:
        """The same, with an answer drawn now and its probability: by whoever asks for it, since it takes its time."""
        with self._lock:
            self._own()
            with contextlib.suppress(Unavailable):
                again(self._served.refresh)
            drawn = self._curator.draw(request)
        return self._curator.ahead(request, drawn)

    def report(self, choice: StoredChoice | str, reward: Any) -> Report:
        """A reward, checked."""
        return Report(self._ticket(choice), cancelled() if reward is None else self._shared.validator.check(reward))

    def _ticket(self, choice: StoredChoice | str) -> Ticket:
        """UnknownChoice if it was never made here."""
        self._shared.at_work()
        return self._store.tickets.read(choice)

    @locked
    def choose_group(
        self, requests: Sequence[Asked], following: Following = tuple
    ) -> list[StoredChoice | ReticentError]:
        """Answers to several requests in one transaction; an error in place of an answer concerns that one alone.
        following: what gives the requests of the next call, as far as they are known when the rows of these are sent:
        then their numbers are taken on the way."""
        self._own()
        again(self._served.refresh)
        drawn, made = [self._curator.draw(one) for one in requests], Made()
        return again(lambda: self._choosing.choose(requests, drawn, made, following))

    @locked
    def write_group(self, reports: Sequence[Report]) -> list[bool]:
        """Several rewards in one transaction: whether each came before its deadline."""
        return self._write(lambda: self._choosing.write(reports))

    def end_experiment(self) -> None:
        """The holdout ends, for all workers and for good: numbers after the present block are all the bandit's.
        The last interval before stands. On disk when this returns."""
        if self._shared.assignment is None:
            raise ValueError(NONE)
        with self._lock:
            self._write(lambda: self._shared.end_experiment(self._store, self._clock()))

    def learn_log(self, table: Any, *, log: str, actions: Any = None) -> Mapping[int, str]:
        """Learn from logged rounds, as a bandit's learn_log, some rows in each transaction. log: what it is called. Its
        rows are learnt once under that name: after a crash, or with rows added at the end, the same call goes on with
        the next one. A row enters as soon as the choices before it have. Returns row -> reason for those that this call
        refused."""
        self._own()
        if self._shared.assignment is not None:
            raise ValueError(LOGS)
        return self._log.learn(table, log, actions, self.left, self.tend)

    def erase(self, person: PersonId) -> str:
        """Deletes what is still waiting of that person (reticent_serve.holders.retirement), on disk when this returns.
        Their count of rounds stays. Returns what cannot be undone, in words: the same whether or not anything was
        found."""
        hashed = digest(person, self._store.persons)
        if not self.retired:  # else nothing waits any more
            self._write(lambda: retirement.erase(self._store, self._other, hashed))
        return retirement.ERASED

    def tend(self) -> None:
        """What is due: choices enter, steps are released, and what has expired is removed with its keys. A thread does
        this."""
        self._own()
        if isinstance(self._clock, Steady) and self._clock.jumped():
            again(lambda: upkeep.tell_of_a_jump(self._store, self._other, self._clock()))
        again(self._steps.run)
        with self._lock:
            self._served.expected = max(self._served.expected, self._served.released + 1)
            again(self._served.refresh)
        again(lambda: upkeep.purge(self._store, self._other, self._shared))
        again(lambda: self._people.sweep(self._other))

    def look(self) -> None:
        """Whether another process asks for a copy (reticent_serve.holders.backups), and begins it. A thread does
        this."""
        self._own()
        if self._control is not None:
            self._control.look(self.backup)

    def backup(self, path: str | Path) -> None:
        """A copy of an SQLite database while it is in use. The folder of keys is not part of it, and should not be."""
        self._own()
        if not isinstance(self._database, SQLite):
            raise ValueError("Expected an SQLite database, got another: use its own tools.")
        self._database.backup(Path(path))

    def secret(self, purpose: str) -> bytes:
        """32 random bytes that all workers share, from the folder of keys: made when first asked for."""
        return self._store.seal.keys.make(f"{self._store.bandit.name}.{purpose}")

    def close(self) -> None:
        """Lets go of the database. Nothing is lost if it is not called."""
        self._closing.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        if self._process == process.process():
            self._other.close()
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("Expected a bandit to be opened from its database, got pickle or copy.")

    # helpers

    def _write(self, work: Callable[[], T]) -> T:
        self._own()
        return again(work)

    @property
    def next_at(self) -> float | None:
        """Seconds until the next version becomes visible, if that is known."""
        at = self._served.next_at
        return None if at is None else at - self._clock()
