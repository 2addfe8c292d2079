"""What is served: versions of the estimate, each computed from leaves that were read from committed rows and that are
visible by now, and shown only once the witness has them on disk."""

import itertools
from collections import deque
from collections.abc import Callable

from tacit.bandits.joint.continual import ContinualBandit
from tacit.bandits.stored.line import Line
from tacit.mechanisms import leaves
from tacit.store import rows, witness
from tacit.store.database import Database
from tacit.store.rows import Leaf
from tacit.store.witness import Shown


class Versions:
    """Keeps the bandit's estimate at the latest visible version."""

    def __init__(self, bandit: ContinualBandit, line: Line, clock: Callable[[], float]) -> None:
        self._bandit, self._line, self._clock = bandit, line, clock
        prior = line.bandit.prior
        self._prior = None if prior is None else leaves.read(bytes(prior), bandit.mechanism.size)
        self.expected = 0  # steps that are known to be closed
        self._start()

    def _start(self) -> None:
        """From the rows alone: the witness first, since another worker may go on while we read. A database that is
        refused is looked at anew each time, and never served from."""
        generation = self._line.database.generation
        last, identity = self._line.witness.read(), self._line.database.identity()
        self._identity = identity
        self._bandit._state = self._bandit.init()
        self._digests = [witness.start_digest(self._line.uid)]
        self._waiting: deque[Leaf] = deque()
        self._read()
        witness.check(last, incarnation=self._line.bandit.incarnation, digests=self._digests, identity=self._identity)
        if self._prior is not None:
            self._bandit._update(leaves.after(self._prior, 1.0, 0, self._bandit._state.prefix.released))
        self._generation = generation

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
        return self._waiting[0].visible_at if self._waiting else None

    def refresh(self) -> None:
        """The latest version that is visible. After an error of the database everything is read anew."""
        if self._generation != self._line.database.generation:
            self._start()
        if self.released < self.expected:
            self._read()
        now = self._clock()
        visible = list(itertools.takewhile(lambda leaf: leaf.visible_at <= now, self._waiting))
        if visible:
            shown = self._digests[: visible[-1].step + 2]
            self._line.witness.record(Shown(self._line.bandit.incarnation, shown, *self._identity))
        for leaf in visible:
            self._waiting.popleft()
            self._show(leaf)

    def _read(self) -> None:
        with self._line.database.transaction() as run:
            head = rows.head(run, self._line.uid)
            found = rows.leaves(run, self._line.uid, self.released)
        self.expected = head.step
        for leaf in found:
            if leaf.step != self.released:
                raise witness.older()
            self._waiting.append(leaf)
            self._digests.append(witness.next_digest(self._digests[-1], leaf.noisy))

    def _show(self, leaf: Leaf) -> None:
        bandit = self._bandit
        released = leaves.show(bandit._state.prefix, leaves.read(leaf.noisy, bandit.mechanism.size))
        if self._prior is not None:
            released = leaves.after(self._prior, bandit.mechanism.fading, leaf.step + 1, released)
        bandit._update(released)


def verify(line: Line, database: Database) -> None:
    """RolledBack unless that connection's database holds all that was shown."""
    last, identity = line.witness.read(), database.identity()
    with database.transaction() as run:
        found = rows.leaves(run, line.uid, 0)
    digests = witness.digests(line.uid, [leaf.noisy for leaf in found])
    witness.check(last, incarnation=line.bandit.incarnation, digests=digests, identity=identity)
