"""What goes on in the background: entries and releases, the end of what has expired, and of its keys."""

import time
import weakref
from threading import Event
from typing import TYPE_CHECKING

from tacit.errors import BadState
from tacit.holders import fingerprints, leaf_rows, rows
from tacit.holders.database import Database
from tacit.holders.incarnation import Vault, check_epochs, coming, place
from tacit.holders.terms import Agreed
from tacit.mechanisms import leaves

if TYPE_CHECKING:
    from tacit.holders.stored import Stored

JUMPED = "the system's clock was set: it is not followed until this process is started again"
PATIENCE = 0.25  # seconds between looks at what is due


def work(stored: "weakref.ref[Stored]", closing: Event) -> None:
    """Until the bandit is closed or gone. An error ends nothing: a later look may succeed."""
    wait = 0.0
    while not closing.wait(wait):
        one = stored()
        if one is None:
            return
        at = None
        try:
            one.tend()
            at = one.next_at
        except Exception:
            wait = PATIENCE
        wait = PATIENCE if at is None else min(PATIENCE, max(0.001, at))
        del one


def tell_of_a_jump(vault: Vault, database: Database, at: float) -> None:
    with database.transaction() as run:
        rows.event(run, vault.uid, at, JUMPED)


def purge(vault: Vault, database: Database, agreed: Agreed) -> None:
    """Removes what is left of epochs all of whose choices have entered, and whose answers have expired; then their
    keys: by the number of choices alone. The next epoch's key is made ahead."""
    epoch = vault.bandit.epoch
    with database.transaction() as run:
        head = rows.head(run, vault.uid)
        check_epochs(run, vault.seal.keys, vault.bandit, coming(vault.bandit, head.choices))
        settled = rows.settled(run, vault.uid)
    vault.seal.keys.forget_destroyed()
    over = min(head.choices - agreed.follow(head).pending, settled + 1)
    oldest = max(0, over // epoch)  # the first epoch with a choice that is needed
    start = vault.seal.label("epoch", 0)[:-1]
    dead = [label for label in vault.seal.keys.labels(start) if int(label[len(start) :]) < oldest]
    if not dead:
        return
    more = True
    while more:
        with database.transaction() as run:
            more = rows.purge(run, vault.uid, oldest * epoch, database.locking)
        time.sleep(0)  # requests first
    with database.transaction() as run:
        fingerprints.forget(run, dead)
    for label in dead:
        vault.seal.keys.destroy(label)


def rotate(vault: Vault, database: Database) -> None:
    """In one transaction: nobody else adds to sums or releases meanwhile. All earlier keys are destroyed: also that of
    a rotation whose end was not seen."""
    uid = vault.uid
    with database.transaction() as run:
        opened = rows.open_step(run, uid, database.locking)
        head = rows.head(run, uid, database.locking)
        new = head.sums_key + 1
        fingerprints.check(run, vault.seal.keys, uid, [vault.seal.label("sums", new)])
        if opened is not None:
            sums = _resealed(vault, new, place(uid, opened.step, "open"), opened.sums)
            rows.put_step(run, uid, opened._replace(sums=sums))
        for step, sealed in leaf_rows.sums(run, uid, 0):
            leaf_rows.put_sum(run, uid, step, _resealed(vault, new, place(uid, step, "leaf"), sealed))
        for one in leaf_rows.drawn(run, uid):
            leaf_rows.reseal(run, uid, one.step, _resealed(vault, new, place(uid, one.step, "noisy"), one.noisy))
        rows.advance(run, uid, head._replace(sums_key=new))
        fingerprints.forget(run, [vault.seal.label("sums", head.sums_key)])
        rows.event(run, uid, time.time(), "keys rotated")
    start = vault.seal.label("sums", 0)[:-1]
    for label in vault.seal.keys.labels(start):
        if int(label[len(start) :]) < new:
            vault.seal.keys.destroy(label)


def _resealed(vault: Vault, key: int, where: str, sealed: bytes) -> bytes:
    opened = vault.seal.open("sums", where, sealed)
    if opened is None:
        raise BadState(leaves.NO_KEY)
    return vault.seal.seal("sums", key, where, opened)
