"""New keys for raw sums, which later releases need as long as the bandit lives. What they were sealed with before is
destroyed: sums in older backups, and in the database's own log, can be read by nobody then, whoever gets the folder of
keys later. Rows that wait have keys of their own, which go by themselves (tacit.holders.upkeep)."""

import time
from pathlib import Path

from tacit.errors import BadState, Retired
from tacit.holders import control, fingerprints, incarnation, leaf_rows, rows
from tacit.holders.database import Database
from tacit.holders.incarnation import Vault, place
from tacit.mechanisms import leaves


def rotate_at(where: str | Path, *, name: str = "bandit", keys: str | Path | None = None) -> None:
    """While workers are at work: that of an SQLite file does it. Killed, do it again."""
    database = incarnation.database_at(where)
    try:
        folder = incarnation.keys_of(where, database, keys)
        with control.asked(database, folder, name, control.ROTATE) as done:
            if done is not None:
                return
        with database.transaction() as run:
            found = incarnation.last(run, name)
            _check(rows.head(run, found.uid))
        rotate(incarnation.vault_of(database, folder, found, ended=False), database)
    finally:
        database.close()


def rotate(vault: Vault, database: Database) -> None:
    """In one transaction: nobody else adds to sums or releases meanwhile. Then all earlier keys are destroyed."""
    uid = vault.uid
    with database.transaction() as run:
        opened = rows.open_step(run, uid, database.locking)
        head = rows.head(run, uid, database.locking)
        _check(head)
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
    destroy_former(vault, new)


def _check(head: rows.Head) -> None:
    if head.ended:
        raise Retired("Expected a bandit that is at work, got one that was retired: its keys are destroyed.")


def destroy_former(vault: Vault, present: int) -> None:
    """All keys of sums before that one: also that of a rotation which was killed before it could."""
    start = vault.seal.label("sums", 0)[:-1]
    for label in vault.seal.keys.labels(start):
        if int(label[len(start) :]) < present:
            vault.seal.keys.destroy(label)


def _resealed(vault: Vault, key: int, where: str, sealed: bytes) -> bytes:
    opened = vault.seal.open("sums", where, sealed)
    if opened is None:
        raise BadState(leaves.NO_KEY)
    return vault.seal.seal("sums", key, where, opened)
