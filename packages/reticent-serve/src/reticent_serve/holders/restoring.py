"""After a database was lost, or taken back in time: a successor, a new bandit of the same name that starts from what
its predecessor had released, as far as a backup holds it, and from nothing else.

Why not go on? The backup holds contributions that were released after it was made. To release them again, with other
noise, is a second mechanism on the same people. So nothing raw is taken over, no rows, open sums or sums of leaves. A
round that was in the predecessor is in no other bandit, and costs what it did; noisy leaves are post-processed for
nothing: their prefix is the prior of the successor, its noise included. What the predecessor released is charged by the
witness's record, since a backup is older: people who were in both have both together.

In this order: the witness names the successor, and the predecessor can release nothing from then on (1); the successor
has its keys (2); in one transaction its rows take the place of the predecessor's (3); the predecessor's keys are
destroyed, but for that of its ids (4). Killed between (1) and (3), nobody is served: do it again."""

import contextlib
import functools
import math
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reticent.core import actions, claim
from reticent.core.onepass import OnePass
from reticent.errors import BadState, Retired
from reticent.experiment import Algorithm
from reticent.mechanisms import leaves
from reticent.mechanisms.grid import Grid
from reticent.mechanisms.phases import Phases
from reticent.privacy.ledger import epsilon_of
from reticent.privacy.noise import Secure
from reticent_serve.holders import certificate, closed, leaf_rows, moving, opening, rows, schema, shared_settings
from reticent_serve.holders.database import Database
from reticent_serve.holders.leaf_rows import Leaf
from reticent_serve.holders.rows import BanditRow, Head
from reticent_serve.holders.witness import Predecessor, Shown, Witness, digests

AGAIN = "Expected nobody else to make a bandit of that name meanwhile, got another one: run it again."


def restore(
    algorithm: Algorithm,
    file: str | Path,
    where: str | Path,
    *,
    name: str = "bandit",
    keys: str | Path | None = None,
    pending: int = 100_000,
) -> str:
    """Makes a new bandit from a backup, in the place of the one of that name, and returns its uid; open it with
    `Stored` afterwards. It has the same settings; its predecessor's choices wait no more, and their ids count for
    nothing. Stop all workers first. Killed, do it again. What this costs is in the certificate; `cost` says it before.

    The predecessor is charged with what the witness has on record, whatever the backup holds; with its whole plan where
    the witness is lost; and with its whole plan besides if an id or two noises of one step prove that its database was
    taken back in time: its witness may have been as well, and tells of what was released since alone."""
    one_pass = opening.check(algorithm, name)
    with _both(Path(file), where) as (backup, database):
        folder = opening.keys_of(where, database, keys)
        old, present = _read(one_pass, backup, database, name)
        seen, witness = [old] if present is None else [old, present], Witness(folder.folder, name)
        _charged(seen, witness.read())  # refused, where it is of another bandit
        schema.ready(database)
        new = opening.new_row(one_pass, name, pending, *_prior(one_pass, old))
        charged = witness.succeed(new.uid, database.identity(), functools.partial(_charged, seen))
        new = new._replace(predecessors=charged)
        opening.make_keys(folder, new)
        with database.transaction() as run:
            found = rows.last(run, name, database.locking)
            if (found and found.uid) != (present and present.row.uid):
                raise BadState(AGAIN)
            moving.delete(run, name)
            if not opening.make(run, folder, new, one_pass, closed.OPEN):
                raise BadState(AGAIN)
            rows.settle(run, new.uid, shared_settings.inherited(old.head))
            rows.event(run, new.uid, time.time(), f"restored: a new bandit in the place of {old.row.uid}")
        opening.destroy_keys(folder, new, ended=False)
    return new.uid


class Cost(NamedTuple):
    """Epsilon of the successor, and of it together with all bandits before it, at the same delta."""

    alone: float
    together: float
    delta: float
    predecessors: tuple[Predecessor, ...]


def cost(
    algorithm: Algorithm, file: str | Path, where: str | Path, *, name: str = "bandit", keys: str | Path | None = None
) -> Cost:
    """What `restore` would cost. Nothing is changed."""
    one_pass = opening.check(algorithm, name)
    with _both(Path(file), where) as (backup, database):
        folder = opening.keys_of(where, database, keys)
        seen = [one for one in _read(one_pass, backup, database, name) if one is not None]
        found = _charged(seen, Witness(folder.folder, name).read())
    own = claim.claimed(one_pass, claim.Sources(Secure(), False))
    together = epsilon_of([*own.releases, *certificate.charged(one_pass, found)], own.delta or 0.0)
    return Cost(own.epsilon or 0.0, together, own.delta or 0.0, found)


class _Old(NamedTuple):
    """A bandit, as a database has it. leaves: those that are not sealed."""

    row: BanditRow
    head: Head
    leaves: list[Leaf]

    @property
    def uids(self) -> set[str]:
        return {self.row.uid, *(one.uid for one in self.row.predecessors)}


def _found(database: Database, name: str) -> _Old | None:
    if not opening.known(database, name):
        return None
    with database.transaction() as run:
        row = opening.last(run, name)
        found = [leaf for leaf in leaf_rows.found(run, row.uid, 0) if not leaf.sealed]
        return _Old(row, rows.standing(run, row.uid), found)


def _read(algorithm: OnePass, backup: Database, database: Database, name: str) -> tuple[_Old, _Old | None]:
    """The bandit in the backup, and the one in the database; an error where the one cannot be restored in the place of
    the other."""
    old, present = _found(backup, name), _found(database, name)
    if old is None:
        raise BadState(f"Expected a bandit of the name {name} in the backup, got none.")
    for one in (old, present):
        if one is not None:
            closed.refuse_moved(one.head.state, one.head.place)
            if one.head.ended:
                raise Retired("Expected a bandit that is at work, got one that was retired.")
    opening.check_plan(algorithm, old.row)  # the certificate counts the same noise for all of them
    actions.changed(
        shared_settings.recorded(old.head, old.row), algorithm.plan.features, old.head.choices
    )  # none comes back
    return old, present


def _charged(seen: Sequence[_Old], last: Shown | None) -> tuple[Predecessor, ...]:
    """What all of them are charged with, by what the witness has on record; BadState if backup, database and witness
    are not of one bandit and those in whose place it came."""
    families, found = [one.uids for one in seen], list[Predecessor]()
    if last is not None:
        families.append({last.uid, *(one.uid for one in last.predecessors)})
        found = [*last.predecessors, Predecessor(last.uid, last.steps, 1 + last.taken_back)]
    if any(not families[0] & family for family in families):
        raise BadState(
            "Expected a backup of the bandit that is in this database and on the witness's record, got that of another "
            "bandit of the same name."
        )
    for one in seen:
        found += [*one.row.predecessors, _of(one, seen, last)]
    out = dict[str, Predecessor]()
    for new in found:  # what is on record anywhere, rather than the whole plan
        before = out.get(new.uid, new)
        steps = max((n for n in (before.steps, new.steps) if n is not None), default=None)
        out[new.uid] = Predecessor(new.uid, steps, max(before.times, new.times))
    return tuple(out.values())


def _of(one: _Old, seen: Sequence[_Old], last: Shown | None) -> Predecessor:
    """As its own rows show it; its whole plan where the witness does not have it."""
    uid, witnessed = one.row.uid, last is not None and last.uid == one.row.uid
    histories = [digests(uid, other.leaves) for other in seen if other.row.uid == uid]
    if last is not None and witnessed:
        histories.append(last.digests)
    two = any(a[at] != b[at] for a in histories for b in histories for at in [min(len(a), len(b)) - 1])
    return Predecessor(uid, len(one.leaves) if witnessed else None, 1 + (two or one.head.state == closed.BACK))


def _prior(algorithm: OnePass, old: _Old) -> tuple[bytes, float]:
    """The last prefix that was released, with the prior that it was used with, and the std of its noise."""
    grid, row, found = algorithm.plan.mechanism, old.row, old.leaves
    assert isinstance(grid, Grid)
    if isinstance(grid, Phases):  # whose first sums do not fade
        raise ValueError("Expected a bandit without a first phase of the l1 norm to be restored, got one with it.")
    prefixes, released = leaves.Prefixes(grid), leaves.nothing(grid.size)
    for leaf in found:
        released = prefixes.following(leaves.read(leaf.noisy, grid.size))
    std = grid.sigma * float(grid.gain(np.array([float(len(found))]))[0])
    if row.prior is not None:
        faded = grid.fading ** len(found)
        earlier = leaves.read(bytes(row.prior), grid.size)
        released = leaves.after(earlier, grid.fading, len(found), released)
        std = math.hypot(std, faded * row.prior_std)
    return leaves.written(released), std


@contextlib.contextmanager
def _both(file: Path, where: str | Path) -> Iterator[tuple[Database, Database]]:
    """The backup, as a copy that is removed afterwards, and the database that it is for."""
    if not file.is_file():
        raise ValueError(f"Expected a backup in {file}, got {'a folder' if file.is_dir() else 'no such file'}.")
    with tempfile.TemporaryDirectory(prefix="reticent-restore-") as folder:
        copy = shutil.copy(file, Path(folder) / file.name)
        with (
            contextlib.closing(opening.database_at(copy)) as backup,
            contextlib.closing(opening.database_at(where)) as database,
        ):
            yield backup, database
