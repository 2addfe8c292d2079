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
from tacit.bandits.stored.line import Line, place
from tacit.bandits.stored.terms import Agreed
from tacit.data import Released
from tacit.errors import BadState
from tacit.kernels.rounds import next_boundary
from tacit.mechanisms import leaves
from tacit.store import leaf_rows, rows, witness
from tacit.store.database import Database, Run
from tacit.store.leaf_rows import Leaf
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
        all of it is read and found to be no older than what was drawn. What was used already is shown at once, whatever
        the clock says now."""
        last, generation = self._line.witness.read(), self._line.database.generation
        identity, incarnation = self._line.database.identity(), self._line.bandit.incarnation
        head, read = self._found(0)
        digests = [witness.start_digest(self._line.uid)]
        add(digests, read)
        used = len(read)  # of a bandit that has ended: nothing is drawn any more
        if not head.ended:
            used = witness.check(last, incarnation=incarnation, digests=digests, identity=identity).used
        self._generation, self._identity, self.expected = generation, identity, head.step
        self._digests, self._waiting = digests, deque(self._timed(read))
        self._offer(0)
        self._bandit._state, self._released = self._bandit.init(), None
        closed = self._bandit._also().closed
        closed[:] = contexts.of_prior(self._line.bandit.prior, closed.size)
        if self._prior is not None:
            self._released = leaves.after(self._prior, 1.0, 0, self._bandit._state.prefix.released)
            self._bandit._update(self._released)
        self.history = [past(self._bandit, None, 0.0)]
        for _ in range(used):
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
            head, read = self._found(self.released)
            self.expected = head.step
            add(self._digests, read)
            self._waiting += self._timed(read)
        now = self._clock()
        set_back, self._latest = now < self._latest - BACK, now
        visible = [leaf for _, leaf in itertools.takewhile(lambda one: set_back or one[0] <= now, self._waiting)]
        if visible:
            used = visible[-1].step + 1
            shown = Shown(self._line.bandit.incarnation, self._digests[: used + 1], *self._identity, used)
            self._line.witness.record(shown)
        for leaf in visible:
            self._waiting.popleft()
            self._show(leaf)
        self._offer_now()

    def _found(self, start: int) -> tuple[rows.Head, list[Leaf]]:
        with self._line.database.transaction() as run:
            return rows.head(run, self._line.uid), found(self._line, run, start)

    def _timed(self, read: list[Leaf]) -> list[tuple[float, Leaf]]:
        """Leaves with the times from which they are used."""
        now, delay = self._clock(), self._agreed.now.delay
        missed = [math.ceil((now - leaf.visible_at) / delay) if delay else 0 for leaf in read]
        return [(leaf.visible_at + max(0, n) * delay, leaf) for n, leaf in zip(missed, read, strict=True)]

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


def found(line: Line, run: Run, start: int) -> list[Leaf]:
    """The leaves from that step on, opened where they are sealed still."""
    return [
        leaf._replace(noisy=opened(line, leaf.step, "noisy", leaf.noisy), sealed=False) if leaf.sealed else leaf
        for leaf in leaf_rows.found(run, line.uid, start)
    ]


def opened(line: Line, step: int, shard: int | str, sealed: bytes) -> bytes:
    """What is sealed with the key of sums."""
    out = line.seal.open("sums", place(line.uid, step, shard), sealed)
    if out is None:
        raise BadState("Expected the key that sums are sealed with, got a folder without it: recover.")
    return out


def verify(line: Line, database: Database) -> Shown:
    """What of that connection's database is, or may be, on record; RolledBack unless it holds all that was drawn."""
    last, identity = line.witness.read(), database.identity()
    digests = [witness.start_digest(line.uid)]
    with database.transaction() as run:
        ended = rows.head(run, line.uid).ended
        add(digests, found(line, run, 0))
    if not ended:
        witness.check(last, incarnation=line.bandit.incarnation, digests=digests, identity=identity)
    return Shown(line.bandit.incarnation, digests, *identity)


def add(digests: list[str], new: list[Leaf]) -> None:
    """`digests[n]` is that of the first n leaves."""
    for leaf in new:
        if leaf.step != len(digests) - 1:
            raise witness.older()
        digests.append(witness.next_digest(digests[-1], leaf))
