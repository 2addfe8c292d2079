"""After a restore: a new incarnation that starts from what was released, and from nothing else.

Why not go on? The restored database holds contributions that were released after it was copied. To release them again,
with other noise, is a second mechanism on the same people: two of mu each, sqrt 2 mu together. So all that is raw is
dropped. A round that was in the old incarnation is in no other, and costs what it did; noisy leaves are post-processed
for nothing: their prefix is the prior of the new incarnation, its noise included."""

import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit.core import actions
from tacit.data import Released
from tacit.errors import Retired
from tacit.holders import certificate, contexts, fingerprints, incarnation, leaf_rows, rows, terms
from tacit.holders.database import Database, Run
from tacit.holders.leaf_rows import Leaf
from tacit.holders.rows import BanditRow, Head
from tacit.holders.seal import Keys
from tacit.holders.witness import Shown, Witness, alike, differ, digests
from tacit.mechanisms import leaves
from tacit.mechanisms.grid import Grid
from tacit.protocols import Algorithm

TWICE = "releases before the recovery are counted twice: the database had been taken back in time"


def recover(
    bandit: Any,
    where: str | Path,
    *,
    name: str = "bandit",
    keys: str | Path | None = None,
    within_budget: bool = False,
) -> int:
    """Makes that incarnation, with the same settings, and returns its number; open it with `Stored` afterwards. Stop
    all workers first. Choices that wait are void: their ids are unknown from now on. Old keys are destroyed. If this is
    killed, do it again: at most one more incarnation, and keys that were left go then, or when the bandit is opened.

    within_budget: epsilon stays what it is, also with max_rounds_per_person. Any count of a person's rounds may be too
    low by what the restore lost, so nobody who is named by person= teaches from now on; all of them are served.

    Where an id had proved that the database was taken back in time (tacit.holders.rollback), or it holds another
    noise than was shown for a step, nobody knows which of its releases were made after that: all of them are counted as
    second ones (tacit.holders.certificate), within the budget or not, and whatever is restored later."""
    algorithm = incarnation.check(bandit, name)
    database = incarnation.connect(where)
    try:
        folder = incarnation.keys_of(where, database, keys)
        return recover_in(algorithm, bandit.pending, database, folder, name, within_budget)
    finally:
        database.close()


class Cost(NamedTuple):
    """Epsilon, at the same delta."""

    now: float
    after: float  # the recovery
    within_budget: float  # after one within the budget
    delta: float


def cost(bandit: Any, where: str | Path, *, name: str = "bandit", keys: str | Path | None = None) -> Cost:
    """What `recover` would cost. Nothing is changed."""
    database = incarnation.connect(where)
    try:
        return cost_in(bandit, database, incarnation.keys_of(where, database, keys), name)
    finally:
        database.close()


class Doubts(NamedTuple):
    """What is known of an incarnation beside what its database says: by the one that a backup is restored into."""

    disputed: bool = False
    twice: int = 0


def cost_in(bandit: Any, database: Database, keys: Keys, name: str, doubts: Doubts = Doubts()) -> Cost:
    """The same for a database that is open, as a backup that would be restored."""
    algorithm = incarnation.check(bandit, name)
    last = Witness(keys.folder, name).read()
    with database.transaction() as run:
        old = _found(run, name, last, doubts=doubts)
    incarnation.check_plan(algorithm, old.row)
    claim = certificate.claimed(algorithm, certificate.Sources(bandit.source, False))
    rows_ = old.row, old.after(algorithm, False), old.after(algorithm, True)
    claims = [certificate.of(algorithm, claim, row, 0) for row in rows_]
    now, usual, within = (claim.epsilon or 0.0 for claim in claims)
    return Cost(now, usual, within, claims[0].delta or 0.0)


class _Old(NamedTuple):
    """What is recovered from."""

    row: BanditRow
    head: Head
    leaves: list[Leaf]  # of which a new incarnation is made
    number: int  # the latest incarnation that is recorded of, also of those that a restore has lost
    twice: int  # incarnations that are counted twice from now on

    def after(self, algorithm: Algorithm[Any], within_budget: bool) -> BanditRow:
        """The next incarnation, as far as its cost goes."""
        silent = int(within_budget and algorithm.plan.limits.most is not None)
        silences = self.row.silences + silent
        return self.row._replace(incarnation=self.number + 1, twice=self.twice, silent=silent, silences=silences)


def _found(run: Run, name: str, last: Shown | None, *, locking: str = "", doubts: Doubts = Doubts()) -> _Old:
    row = incarnation.last(run, name)
    row = row._replace(twice=max(row.twice, doubts.twice))
    head, drawn = rows.standing(run, row.uid, locking), leaf_rows.found(run, row.uid, 0)
    head = head._replace(disputed=head.disputed or doubts.disputed)
    unsealed = [leaf for leaf in drawn if not leaf.sealed]
    usable, second = unsealed, head.disputed and bool(drawn)
    if last is None:
        return _Old(row, head, usable, row.incarnation, row.twice + second)
    second = second or (last.disputed and last.steps > 0)
    if last.incarnation == row.incarnation:
        digested = digests(row.uid, unsealed)
        usable, second = _undisputed(unsealed, digested, last), second or (bool(unsealed) and differ(last, digested))
    number, twice = max(row.incarnation, last.incarnation), max(row.twice, last.twice) + second
    return _Old(row, head, usable, number, twice)


def recover_in(
    algorithm: Algorithm[Any],
    pending: int,
    database: Database,
    keys: Keys,
    name: str,
    within_budget: bool,
) -> int:
    """As `recover`, in a database that is open."""
    last, identity = Witness(keys.folder, name).read(), database.identity()
    with database.transaction() as run:
        found = _found(run, name, last, locking=database.locking)
        old, head = found.row, found.head
        if head.ended:
            raise Retired("Expected a bandit that is at work, got one that was retired.")
        incarnation.check_plan(algorithm, old)  # the certificate counts the same noise for each incarnation
        actions.changed(terms.recorded(head, old), algorithm.plan.features, head.choices)  # none comes back
        complete = contexts.complete(found.leaves, algorithm.plan.contexts)
        prior, std = _prior(algorithm, old, complete)
        after = found.after(algorithm, within_budget)
        prior_row, number = leaves.written(prior) + _contexts(algorithm, old, complete), after.incarnation
        new = incarnation.new_row(algorithm, name, pending, number, prior_row, std)._replace(
            twice=after.twice, silent=after.silent
        )
        rows.retire(run, old.uid, rows.REPLACED)
        fingerprints.forget_all(run, old.uid, name)  # the folder may be lost
        rows.event(run, new.uid, time.time(), f"recovered: incarnation {number}")
        if new.twice > old.twice:
            rows.event(run, new.uid, time.time(), TWICE)
        incarnation.make(run, keys, new, algorithm, identity)
        rows.settle(run, new.uid, terms.inherited(head))
    incarnation.destroy_keys(database, keys, new, ended=False)
    return number


def _undisputed(found: list[Leaf], recorded: list[str], last: Shown) -> list[Leaf]:
    """Leaves without those that have another noise than was shown for their step, as after two servers went on from one
    history: to use both would be a second release. The same for other sums of public contexts."""
    same = alike(last, recorded)
    return found if same == min(last.steps, len(found)) else found[: max(0, same)]


def _prior(algorithm: Algorithm[Any], old: BanditRow, found: list[Leaf]) -> tuple[Released, float]:
    """The last prefix that was released, with the prior that it was used with, and the std of its noise."""
    grid = algorithm.plan.mechanism
    assert isinstance(grid, Grid)
    prefixes, released = leaves.Prefixes(grid), leaves.nothing(grid.size)
    for leaf in found:
        released = prefixes.following(leaves.read(leaf.noisy, grid.size))
    std = grid.sigma * float(grid.gain(np.array([float(len(found))]))[0])
    if old.prior is None:
        return released, std
    faded = grid.fading ** len(found)
    earlier = leaves.read(bytes(old.prior)[: 8 * grid.size], grid.size)
    return leaves.after(earlier, grid.fading, len(found), released), math.hypot(std, faded * old.prior_std)


def _contexts(algorithm: Algorithm[Any], old: BanditRow, found: list[Leaf]) -> bytes:
    """What the contexts of those steps sum to, where they are public, and of the prior's; else nothing."""
    closed = contexts.of_prior(old.prior, algorithm.plan.contexts)
    for leaf in found:
        contexts.after(leaf, algorithm.plan.mechanism.fading, closed)
    return closed.tobytes()
