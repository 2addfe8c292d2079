"""What is served: versions of the estimate, each computed from leaves that were read from committed rows and that are
visible by now, and shown only once the witness has them on disk."""

import itertools
import math
from collections import deque
from collections.abc import Callable

import numpy as np

from tacit.bandits import actions
from tacit.bandits.joint.continual import SummedBandit
from tacit.bandits.stored import contexts
from tacit.bandits.stored.history import Past, past
from tacit.bandits.stored.line import Line
from tacit.bandits.stored.terms import Agreed
from tacit.data import Released
from tacit.kernels.rounds import next_boundary
from tacit.mechanisms import leaves
from tacit.store import rows, witness
from tacit.store.database import Database
from tacit.store.rows import Leaf
from tacit.store.witness import Shown

BACK = 1.0  # seconds: a clock that goes back further was set


class Versions:
    """Keeps the bandit's estimate at the latest visible version. While the database is away it stays where it is.

    A leaf that was not there at its time, because it was committed or could be read too late, becomes visible at the
    next multiple of the delay: at no time that tells how long something took."""

    def __init__(self, bandit: SummedBandit, line: Line, agreed: Agreed, clock: Callable[[], float]) -> None:
        self._bandit, self._line, self._agreed = bandit, line, agreed
        self._clock, self._latest = clock, clock()
        prior, size = line.bandit.prior, 8 * bandit.mechanism.size
        self._prior = None if prior is None else leaves.read(bytes(prior)[:size], bandit.mechanism.size)
        self.expected = 0  # steps that are known to be closed
        self._released: Released | None = None  # what the present version is computed from
        self.history: list[Past] = []  # what was shown, version by version, from the prior on
        self._start()

    def _start(self) -> None:
        """From the rows alone: the witness first, since another worker may go on while we read. Nothing changes before
        all of it is read and found to be no older than what was shown. What was shown already is shown at once,
        whatever the clock says now."""
        last, generation = self._line.witness.read(), self._line.database.generation
        identity, incarnation = self._line.database.identity(), self._line.bandit.incarnation
        head, found = self._found(0)
        digests = [witness.start_digest(self._line.uid)]
        _add(digests, found)
        witness.check(last, incarnation=incarnation, digests=digests, identity=identity)
        self._generation, self._identity, self.expected = generation, identity, head.step
        self._digests, self._waiting = digests, deque(self._timed(found))
        self._offer(0)
        self._bandit._state, self._released = self._bandit.init(), None
        closed = self._bandit._also().closed
        closed[:] = contexts.of_prior(self._line.bandit.prior, closed.size)
        if self._prior is not None:
            self._released = leaves.after(self._prior, 1.0, 0, self._bandit._state.prefix.released)
            self._bandit._update(self._released)
        self.history = [past(self._bandit, None, 0.0)]
        if last is not None and last.incarnation == incarnation:
            for _ in range(last.steps):
                self._show(self._waiting.popleft()[1])
        self._offer_now()

    @property
    def shown(self) -> int:
        """The present version."""
        return self._bandit._steps

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
        if self._generation != self._line.database.generation:
            self._start()

    def refresh(self) -> None:
        """The latest version that is visible. When the clock was set back, what waits is shown at once, rather than
        when it says the same time again: that is public, too."""
        self.check()
        if self.released < self.expected:
            head, found = self._found(self.released)
            self.expected = head.step
            _add(self._digests, found)
            self._waiting += self._timed(found)
        now = self._clock()
        set_back, self._latest = now < self._latest - BACK, now
        visible = [leaf for _, leaf in itertools.takewhile(lambda one: set_back or one[0] <= now, self._waiting)]
        if visible:
            shown = self._digests[: visible[-1].step + 2]
            self._line.witness.record(Shown(self._line.bandit.incarnation, shown, *self._identity))
        for leaf in visible:
            self._waiting.popleft()
            self._show(leaf)
        self._offer_now()

    def _found(self, start: int) -> tuple[rows.Head, list[Leaf]]:
        with self._line.database.transaction() as run:
            return rows.head(run, self._line.uid), rows.leaves(run, self._line.uid, start)

    def _timed(self, found: list[Leaf]) -> list[tuple[float, Leaf]]:
        """Leaves with the times from which they are used."""
        now, delay = self._clock(), self._agreed.now.delay
        missed = [math.ceil((now - leaf.visible_at) / delay) if delay else 0 for leaf in found]
        return [(leaf.visible_at + max(0, n) * delay, leaf) for n, leaf in zip(missed, found, strict=True)]

    def _show(self, leaf: Leaf) -> None:
        bandit = self._bandit
        released = leaves.show(bandit._state.prefix, leaves.read(leaf.noisy, bandit.mechanism.size))
        if self._prior is not None:
            released = leaves.after(self._prior, bandit.mechanism.fading, leaf.step + 1, released)
        self._offer(int(next_boundary(self.history[-1].choices, *bandit._schedule)))
        self._released = leaves.part(released, slice(None))
        contexts.after(leaf, bandit.mechanism.fading, bandit._also().closed)
        bandit._update(released)
        self.history.append(past(bandit, self.history[-1], leaf.visible_at))

    def _offer(self, choices: int | None = None) -> bool:
        """The estimate is that of the actions which were offered at that number of choices, or now: so each version is
        the same, whichever worker computes it, and when. Whether this is a change."""
        declared, before = self._agreed.now.actions, self._bandit._live
        known = declared if choices is None else actions.at(declared, choices)
        self._bandit._live = self._bandit._estimated(known)
        return not np.array_equal(before, self._bandit._live)

    def _offer_now(self) -> None:
        if self._offer():
            if self._released is None:
                self._bandit._reestimate()
            else:
                self._bandit._update(self._released)


def verify(line: Line, database: Database) -> None:
    """RolledBack unless that connection's database holds all that was shown."""
    last, identity = line.witness.read(), database.identity()
    with database.transaction() as run:
        found = rows.leaves(run, line.uid, 0)
    digests = witness.digests(line.uid, found)
    witness.check(last, incarnation=line.bandit.incarnation, digests=digests, identity=identity)


def _add(digests: list[str], found: list[Leaf]) -> None:
    """`digests[n]` is that of the first n leaves."""
    for leaf in found:
        if leaf.step != len(digests) - 1:
            raise witness.older()
        digests.append(witness.next_digest(digests[-1], leaf))
