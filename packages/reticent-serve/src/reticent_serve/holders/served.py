"""What is served: versions of the estimate, each computed from leaves that were read from committed rows and that are
visible by now, and shown only once the witness has them on disk."""

import itertools
import math
from collections import deque
from collections.abc import Callable

from numpy.random import Generator

from reticent.core.actions import Declared
from reticent.core.assignment import Assignment
from reticent.core.estimator import LeafEstimator, Prior
from reticent.core.onepass import OnePass, OnePassEstimate, View
from reticent.core.validation import Validator
from reticent.errors import BadState
from reticent.mechanisms import leaves
from reticent_serve.holders import leaf_rows, rows, witness
from reticent_serve.holders.certificate import Past, past
from reticent_serve.holders.database import Database, Run
from reticent_serve.holders.leaf_rows import Leaf
from reticent_serve.holders.opening import BanditStore
from reticent_serve.holders.seal import place
from reticent_serve.holders.shared_settings import SharedSettings
from reticent_serve.holders.witness import Shown

BACK = 1.0  # seconds: a clock that goes back further was set


class ServedEstimates:
    """The estimate at the latest visible version. While the database is away it stays where it is.

    A leaf that was not there at its time, because it was committed or could be read too late, becomes visible at the
    next multiple of the delay: at no time that tells how long something took."""

    def __init__(
        self, algorithm: OnePass, store: BanditStore, shared: SharedSettings, clock: Callable[[], float]
    ) -> None:
        self._algorithm, self._store, self._shared = algorithm, store, shared
        self._clock, self._latest = clock, clock()
        self.expected = 0  # steps that are known to be closed
        self.history: list[Past] = []  # what was shown, version by version, from the prior on
        self._start()

    def _start(self) -> None:
        """From the rows alone: the witness first, since another worker may go on while we read. Nothing changes before
        all of it is read and found to be no older than what was drawn. What was used already is shown at once, whatever
        the clock says now."""
        last, generation = self._store.witness.read(), self._store.database.generation
        identity = self._store.database.identity()
        head, read = self._found(0)
        digests = [witness.start_digest(self._store.uid)]
        add(digests, read)
        used = len(read)  # of a bandit that has ended: nothing is drawn any more
        if not head.ended:
            used = witness.check(last, uid=self._store.uid, digests=digests, identity=identity).used
        self._generation, self._identity, self.expected = generation, identity, head.step
        self._digests, self._waiting = digests, deque(self._timed(read))
        self.estimator = begun(self._algorithm, self._store, self._shared)
        self._offered: tuple[int, tuple[Declared, ...]] = -1, ()
        self.history = [past(self.estimator, None, 0.0)]
        for _ in range(used):
            self._show(self._waiting.popleft()[1])
        self._offer()

    @property
    def version(self) -> int:
        """The present version."""
        return self.estimator.step

    @property
    def released(self) -> int:
        """Leaves that are known to be committed, visible or not."""
        return len(self._digests) - 1

    @property
    def next_at(self) -> float | None:
        """When the next version becomes visible, if it is known."""
        return self._waiting[0][0] if self._waiting else None

    def check(self) -> None:
        """After an error of the database everything is read anew: RolledBack if it is older than what was shown."""
        if self._generation != self._store.database.generation:
            self._start()

    def refresh(self) -> None:
        """The latest version that is visible. When the clock was set back, what waits is shown at once, rather than
        when it says the same time again: that is public, too."""
        self.check()
        if self.released < self.expected:
            head, read = self._found(self.released)
            self.expected = head.step
            add(self._digests, read)
            self._waiting += self._timed(read)
        now = self._clock()
        set_back, self._latest = now < self._latest - BACK, now
        visible = [leaf for _, leaf in itertools.takewhile(lambda one: set_back or one[0] <= now, self._waiting)]
        if visible:
            used = visible[-1].step + 1
            shown = Shown(self._store.uid, self._digests[: used + 1], *self._identity, used)
            self._store.witness.record(shown)
        for leaf in visible:
            self._waiting.popleft()
            self._show(leaf)
        self._offer()

    def _found(self, start: int) -> tuple[rows.Head, list[Leaf]]:
        with self._store.database.transaction() as run:
            read = found(self._store, run, start)
            head = rows.head(run, self._store.uid)  # last: it has the settings of all of these
        if not head.ended:
            self._shared.follow(head)
        return head, read

    def _timed(self, read: list[Leaf]) -> list[tuple[float, Leaf]]:
        """Leaves with the times from which they are used: within two delays, though the clock was set back since."""
        now, delay = self._clock(), self._shared.now.delay
        missed = [math.ceil((now - leaf.visible_at) / delay) if delay else 0 for leaf in read]
        times = [leaf.visible_at + max(0, n) * delay for n, leaf in zip(missed, read, strict=True)]
        return [(min(at, now + 2 * delay), leaf) for at, leaf in zip(times, read, strict=True)]

    def _offer(self) -> None:
        """The estimate is that of the actions that are offered now."""
        now = self.estimator.step, self._shared.now.actions
        if now != self._offered:
            self.estimator.offer(now[1])
            self._offered = now

    def _show(self, leaf: Leaf) -> None:
        follow(self.estimator, leaf, self._shared)
        self.history.append(past(self.estimator, self.history[-1], leaf.visible_at))


def begun(algorithm: OnePass, store: BanditStore, shared: SharedSettings) -> LeafEstimator:
    """Before the first release: with what those before it released, if there were any."""
    given, size = store.bandit.prior, algorithm.plan.mechanism.size
    prior = None
    if given is not None:
        prior = Prior(leaves.read(bytes(given), size), store.bandit.prior_std)
    return LeafEstimator(algorithm, shared.now.actions, prior)


def follow(estimator: LeafEstimator, leaf: Leaf, shared: SharedSettings) -> None:
    plan = estimator.algorithm.plan
    now, noisy = shared.now, leaves.read(leaf.noisy, plan.mechanism.size)
    estimator.read(noisy, now.actions, leaf.visible_at, now.age(leaf.step))


def found(store: BanditStore, run: Run, start: int) -> list[Leaf]:
    """The leaves from that step on, opened where they are sealed still."""
    return [
        leaf._replace(noisy=opened(store, leaf.step, "noisy", leaf.noisy), sealed=False) if leaf.sealed else leaf
        for leaf in leaf_rows.found(run, store.uid, start)
    ]


def opened(store: BanditStore, step: int, what: str, sealed: bytes) -> bytes:
    """What is sealed with the key of sums."""
    out = store.seal.open("sums", place(store.uid, step, what), sealed)
    if out is None:
        raise BadState(leaves.NO_KEY)
    return out


def verify(store: BanditStore, database: Database) -> Shown:
    """What of that connection's database is, or may be, on record; RolledBack unless it holds all that was drawn."""
    last, identity = store.witness.read(), database.identity()
    digests = [witness.start_digest(store.uid)]
    with database.transaction() as run:
        ended = rows.head(run, store.uid).ended
        add(digests, found(store, run, 0))
    if not ended:
        witness.check(last, uid=store.uid, digests=digests, identity=identity)
    return Shown(store.uid, digests, *identity)


def add(digests: list[str], new: list[Leaf]) -> None:
    """`digests[n]` is that of the first n leaves."""
    for leaf in new:
        if leaf.step != len(digests) - 1:
            raise witness.older()
        digests.append(witness.next_digest(digests[-1], leaf))


class RowsBook:
    """policy: what fresh draws come from."""

    def __init__(self, policy: Generator, store: BanditStore, served: ServedEstimates, shared: SharedSettings) -> None:
        self._policy, self._store, self._served, self._shared = policy, store, served, shared
        self._shown: tuple[OnePassEstimate, View] | None = None

    @property
    def validator(self) -> Validator:
        return self._shared.validator

    @property
    def key(self) -> bytes:
        return self._store.persons

    @property
    def assignment(self) -> Assignment | None:
        return self._shared.assignment

    @property
    def shown(self) -> View:
        estimator = self._served.estimator
        if self._shown is None or self._shown[0] is not estimator.estimate:
            self._shown = estimator.estimate, View(estimator.algorithm, estimator.estimate, self._policy)
        return self._shown[1]

    @property
    def version(self) -> int:
        return self._served.version

    @property
    def default(self) -> float | None:
        return self._shared.now.default
