"""A bandit on a database: choices, rewards and releases are committed rows, and any worker may do anything."""

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

import numpy.typing as npt

from tacit import checks, forks
from tacit.bandits.joint.continual import SummedBandit
from tacit.bandits.persons import Person, Persons, digests
from tacit.bandits.stored import asks as packed
from tacit.bandits.stored import certificate, erasure, learning, line, rehearsal, tending
from tacit.bandits.stored.asks import Answer, Ask, Report, StoredChoice
from tacit.bandits.stored.outage import MODES, Outage
from tacit.bandits.stored.people import People
from tacit.bandits.stored.population import Membership, check_relation
from tacit.bandits.stored.releases import Releases
from tacit.bandits.stored.rounds import Drawn, Rounds
from tacit.bandits.stored.shown import Shown
from tacit.bandits.stored.terms import Agreed, Terms
from tacit.bandits.stored.versions import Versions
from tacit.clock import Steady
from tacit.errors import TacitError, Unavailable
from tacit.lock import Lock, locked
from tacit.model.arms import Arms
from tacit.store.sqlite import SQLite

T = TypeVar("T")


class Stored(Shown):
    """`Stored(JointGLM(...), "bandit.db")` or `Stored(JointGLM(...), "postgresql://...", keys="folder")`: the same
    bandit, whose state is rows. Opened again, here or by another worker of PostgreSQL, it goes on where it stood.

    Guarantee: that of the bandit. What it shows is a function of committed noisy leaves, the asking user's own request
    and fresh randomness; each step has one noise; each reward that was acknowledged counts once.

    name: of the bandit within its database. keys: the folder of keys and the witness (tacit.store.seal, .witness), by
    default FILE.keys. delay: seconds from the end of a step until its release is used. on_limit: what a person beyond
    max_rounds_per_person gets, by default as the bandit has it. degraded: what a choice
    gets while the database is away or cannot be written: "refuse" raises Unavailable, "serve" answers by the last
    estimate that was shown, without learning (tacit.bandits.stored.outage). missing_as, after: the
    reward of a choice that is not answered within so many seconds, for where only clicks are reported and silence means
    0: without it, choices that are not answered teach nothing. rate: the most choices a second that are expected, which
    `after` needs: silence must come before a choice expires. population: whose data these are; what all bandits of a
    population cost together is on record (tacit.store.register). background: whether a thread makes releases; without
    it, call `tend`. The bandit's `pending` is how many later choices a choice waits for its reward. clock: by default
    one that goes on evenly while the process lives (tacit.clock): if the system's clock is set, an event tells, and
    nothing else changes."""

    def __init__(
        self,
        bandit: SummedBandit,
        where: str | Path,
        *,
        name: str = "bandit",
        keys: str | Path | None = None,
        delay: float = 1.0,
        on_limit: str | None = None,
        degraded: str = "refuse",
        missing_as: float | None = None,
        after: float | None = None,
        rate: float | None = None,
        population: str = "everyone",
        background: bool = True,
        clock: Callable[[], float] | None = None,
    ) -> None:
        line.check(bandit, name, population)
        checks.non_negative(delay=delay)
        on_limit = bandit._limit(on_limit)
        checks.one_of(MODES, degraded=degraded)
        self._bandit = bandit
        self._clock = clock = Steady() if clock is None else clock
        silence = tending.silence(bandit, missing_as, after, rate) or (None, None)
        self._agreed = Agreed(Terms(bandit.pending, float(delay), on_limit, *silence), bandit)
        self._lock, self._process = Lock(), forks.process()
        self._closing, self._wake = threading.Event(), threading.Event()
        self._database = line.connect(where)
        try:
            register = line.register_of(where, self._database, keys)
            check_relation(population, register.members(), bandit._planned())
            self._line = line.open_line(self._database, line.keys_of(where, self._database, keys), name, bandit)
            self.incarnation = self._line.bandit.incarnation  # 1, and one more for each recovery
            if self._line.bandit.prior is not None:
                bandit._prior_noise(self._line.bandit.prior_std)
            self._agreed.begin(self._line)
            most, key = bandit.max_rounds_per_person, self._line.persons
            self._people = People(bandit, self._line, Persons(most, serve=True, key=key))
            self._versions = Versions(bandit, self._line, self._agreed, clock)
            self._outage = Outage(degraded, self._line, clock)
            self._other = self._database.another()
            self._rounds = Rounds(
                bandit, self._line, self._versions, self._agreed, clock=clock, wake=self._wake, people=self._people
            )
            self._releases = Releases(bandit, self._line, self._other, self._agreed, clock)
            self._agreed.decide(self._line, clock())
            rehearsal.check(bandit, self._line, self._agreed, clock())
            claim = certificate.of(bandit, self._line.bandit, 0)
            self.membership = Membership(population, self._line, register, claim, certificate.all_rounds(bandit))
            line.destroy_keys(self._database, self._line.seal.keys, register, self._line.bandit, ended=self.retired)
            self._count()
        except BaseException:
            self._database.close()
            raise
        self._thread: threading.Thread | None = None
        if background and not self._agreed.ended:
            arguments = (weakref.ref(self), self._closing, self._wake)
            self._thread = threading.Thread(target=tending.work, args=arguments, daemon=True, name="tacit releases")
            self._thread.start()

    # the face

    def choose(
        self,
        arms: Arms | Mapping[str, Any],
        *,
        actions: Any = None,
        request: str | bytes | None = None,
        available: npt.ArrayLike | None = None,
        person: Person | None = None,
        asker: str = "",
        deferred: bool = False,
        propensity: bool = False,
    ) -> StoredChoice:
        """The arm for one user, on disk before it is returned. The same `request` again, by the same `asker`, has the
        same answer, until it expires; give one if you may have to ask again. deferred: nothing is learnt from it unless
        `activate` says that it was shown. propensity: it is stored with the answer. Otherwise as a bandit's
        `choose`."""
        given: dict[str, Any] = {"actions": actions, "request": request, "available": available, "person": person}
        ask = self.ask(arms, asker=asker, deferred=deferred, **given)
        answer = self.choose_group([self.with_propensity(ask) if propensity or self.weighs else ask])[0]
        if isinstance(answer, TacitError):
            raise answer
        return answer

    def observe(self, choice: StoredChoice | str, reward: float | None) -> None:
        """Report a reward, by the choice or its id; None cancels, and nothing is learnt. On disk when this returns.
        Again, or after it was answered, cancelled or expired: nothing happens, and nothing tells which it was."""
        _raised(self.observe_group([self.report(choice, reward)]))

    def activate(self, choice: StoredChoice | str) -> None:
        """A deferred choice was shown: its reward counts from now on, also one that came before, and silence does. A
        choice that is never shown teaches nothing. On disk when this returns; again, and for other choices: nothing
        happens."""
        _raised(self.activate_group([self.ticket(choice)]))

    def ask(
        self,
        arms: Arms | Mapping[str, Any],
        *,
        actions: Any = None,
        request: str | bytes | None = None,
        available: npt.ArrayLike | None = None,
        person: Person | None = None,
        asker: str = "",
        deferred: bool = False,
    ) -> Ask:
        """A request, checked: ValueError for a bad one, which then is no user and delays nobody."""
        self._agreed.at_work()
        features, names, index = self._bandit._request(arms, available, actions)
        problem = self._bandit._undeclared(len(features), names)
        if problem:
            raise ValueError(problem)
        packed.check_names(names)
        who = self._people.known(person)
        hashed = packed.request_hash(request, asker, self._line.requests)
        return Ask(hashed, features, names, index, *who, deferred)

    def with_propensity(self, ask: Ask) -> Ask:
        """The same, with an answer drawn now and its probability: by whoever asks for it, since it takes its time."""
        with self._lock:
            self._own()
            if not self._outage.on:
                with contextlib.suppress(Unavailable):
                    self._outage.again(self._versions.refresh)
            answer, propensity = self._rounds.draw(ask, ahead=True)
        return ask._replace(ahead=answer.drawn(propensity))

    def report(self, choice: StoredChoice | str, reward: float | None) -> Report:
        """A reward, checked."""
        problem = None if reward is None else self._bandit._problem(reward)
        if problem:
            raise ValueError(problem)
        return Report(self.ticket(choice), None if reward is None else float(reward))

    def ticket(self, choice: StoredChoice | str) -> bytes:
        """What a choice is known by in the store; UnknownChoice if it was never made here."""
        self._agreed.at_work()
        return self._line.tickets.read(choice)

    @locked
    def choose_group(self, asks: Sequence[Ask]) -> list[StoredChoice | TacitError]:
        """Answers to several requests in one transaction; an error in place of an answer concerns that one alone."""
        self._own()
        if self._outage.on:
            return self._answer_without(asks, [self._rounds.draw(ask) for ask in asks])
        drawn, began = [], time.monotonic()
        try:
            self._outage.again(self._versions.refresh)
            drawn = [self._rounds.draw(ask) for ask in asks]
            out = self._outage.again(lambda: self._rounds.choose(asks, drawn))
        except Unavailable:
            if not self._outage.begins(time.monotonic() - began):
                raise
            # what was drawn may have been committed without our seeing it: then this is its answer, by another id
            return self._answer_without(asks, drawn or [self._rounds.draw(ask) for ask in asks])
        self._outage.refused = False
        return out

    @locked
    def observe_group(self, reports: Sequence[Report]) -> list[TacitError | None]:
        """Several rewards in one transaction; an error in place of None concerns that one alone."""
        return self._write(lambda: self._rounds.observe(reports))

    @locked
    def activate_group(self, tickets: Sequence[bytes]) -> list[TacitError | None]:
        """Several choices that were shown, in one transaction; errors as in observe_group."""
        return self._write(lambda: self._rounds.activate(tickets))

    def learn_log(self, table: Any, *, log: str, actions: Any = None) -> Mapping[int, str]:
        """Learn from logged rounds, as a bandit's learn_log, some rows in each transaction. table: also the path of a
        folder of Parquet files. log: what it is called. Its rows are learnt once under that name: after a crash, or
        with rows added at the end, the same call goes on with the next one. Each step of rows waits for the release of
        the one before, `delay` seconds. Returns row -> reason for those that this call refused."""
        return learning.learn_log(self, table, log, actions)

    def erase(self, person: Person) -> str:
        """Deletes what is still waiting of that person (tacit.bandits.stored.erasure), on disk when this returns. Their
        count of rounds stays. Returns what cannot be undone, in words: the same whether or not anything was found."""
        known = digests(person, self._line.persons)
        if not self.retired:  # else nothing waits any more
            self._write(lambda: erasure.erase(self._line, self._other, known))
        return erasure.erased(self._line.bandit)

    def tend(self) -> None:
        """Makes the releases that are due, and removes what has expired with its keys. A thread does this."""
        self._own()
        if isinstance(self._clock, Steady) and self._clock.jumped():
            self._outage.again(lambda: tending.tell_of_a_jump(self._line, self._other, self._clock()))
        self._outage.again(self._releases.run)
        with self._lock:
            self._versions.expected = max(self._versions.expected, self._versions.released + 1)
            self._outage.again(self._versions.refresh)
            if self._outage.on:
                self._outage.again(self._outage.end)
        if self._agreed.now.silence is not None:
            tending.answer_for_the_silent(self, *self._agreed.now.silence)
        self._outage.again(lambda: tending.purge(self._line, self._other, self._agreed))
        self._outage.again(lambda: self._people.sweep(self._other))

    def backup(self, path: str | Path) -> None:
        """A copy of an SQLite database while it is in use. The folder of keys is not part of it, and should not be."""
        self._own()
        if not isinstance(self._database, SQLite):
            raise ValueError("Expected an SQLite database, got another: use its own tools.")
        self._database.backup(Path(path))

    def rotate_keys(self) -> None:
        """Seals all sums with a new key, and destroys the old one."""
        self._own()
        self._outage.again(lambda: tending.rotate(self._line, self._database))

    def secret(self, purpose: str) -> bytes:
        """32 random bytes that all workers share, from the folder of keys: made when first asked for."""
        return self._line.seal.keys.make(f"{self._line.bandit.name}.{purpose}")

    def close(self) -> None:
        """Lets go of the database. Nothing is lost if it is not called."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        if self._process == forks.process():
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
        self._outage.check()
        return self._outage.again(work)

    def _answer_without(self, asks: Sequence[Ask], drawn: Sequence[Drawn]) -> list[StoredChoice | TacitError]:
        """In an outage: the answers that are in the database, where it can be read, and others by what was drawn."""
        known: dict[bytes, Answer] = {}
        if self._outage.readable:
            try:
                known = self._outage.again(lambda: self._rounds.known(asks))
            except Unavailable:
                self._outage.readable = False
        return self._rounds.without(asks, drawn, known)


def _raised(results: Sequence[TacitError | None]) -> None:
    for error in results:
        if error is not None:
            raise error
