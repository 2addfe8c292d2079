"""What goes on in the background: entries and releases, the end of what has expired, and of its keys."""

import contextlib
import time
import weakref
from threading import Event
from typing import TYPE_CHECKING

from reticent_serve.holders import fingerprints, leaf_rows, rows
from reticent_serve.holders.database import Database
from reticent_serve.holders.opening import BanditStore, check_epochs
from reticent_serve.holders.shared_settings import SharedSettings

if TYPE_CHECKING:
    from reticent_serve.holders.stored import Stored

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
            with contextlib.suppress(Exception):
                one.look()
            one.tend()
            at = one.next_at
        except Exception:
            wait = PATIENCE
        wait = PATIENCE if at is None else min(PATIENCE, max(0.001, at))
        del one


def tell_of_a_jump(store: BanditStore, database: Database, at: float) -> None:
    with database.transaction() as run:
        rows.event(run, store.uid, at, JUMPED)


def purge(store: BanditStore, database: Database, shared: SharedSettings) -> None:
    """Removes what is left of epochs all of whose choices have entered, and whose answers have expired; then their
    keys: by the number of choices alone. The next epoch's key is made ahead."""
    epoch = store.bandit.epoch
    with database.transaction() as run:
        head = rows.head(run, store.uid)
        check_epochs(run, store.seal.keys, store.bandit, store.bandit.coming(head.choices))
        settled, sealed = rows.settled(run, store.uid), leaf_rows.drawn(run, store.uid)
    store.seal.keys.forget_destroyed()
    if not sealed:  # the witness has all that was drawn: nobody goes on from a database with the sums before
        for label in _before(store, "sums", head.sums_key):
            store.seal.keys.destroy(label)
    over = min(head.choices - shared.follow(head).pending, settled + 1)
    oldest = max(0, over // epoch)  # the first epoch with a choice that is needed
    dead = _before(store, "epoch", oldest)
    if not dead:
        return
    more = True
    while more:
        with database.transaction() as run:
            more = rows.purge(run, store.uid, oldest * epoch, database.locking)
        time.sleep(0)  # requests first
    with database.transaction() as run:
        fingerprints.forget(run, dead)
    for label in dead:
        store.seal.keys.destroy(label)


def _before(store: BanditStore, kind: str, number: int) -> list[str]:
    """The labels of keys of that kind with smaller numbers."""
    start = store.seal.label(kind, 0)[:-1]
    return [label for label in store.seal.keys.labels(start) if int(label[len(start) :]) < number]
