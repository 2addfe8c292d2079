"""Which keys a database is sealed with, by their fingerprints: a folder that is another one is noticed before anything
is sealed with its keys.

All workers share one folder. A copy of it goes its own way from the first key on that is made after it was copied, and
one that was taken back alone lacks keys that are in use: a new key under an old label would make rows that others
cannot read, and leave theirs unread. A fingerprint is an HMAC of the label under the key: it tells nothing of it.
Callers hold a transaction (`run`)."""

import hashlib
import hmac
from collections.abc import Sequence

from reticent.errors import WrongKeys
from reticent_serve.holders.database import Run
from reticent_serve.holders.seal import Keys

SIZE = 16  # bytes


def check(run: Run, keys: Keys, owner: str, labels: Sequence[str], *, make: bool = True) -> None:
    """WrongKeys unless the folder has the keys that were recorded under these labels. What is not recorded yet is
    recorded, and made if there is none. owner: with whose end they are forgotten."""
    listed = ", ".join("?" * len(labels))
    found = run(f"SELECT label, fingerprint FROM key_fingerprint WHERE label IN ({listed})", *labels)
    recorded = {str(label): bytes(mark) for label, mark in found}
    for label in labels:
        key = keys.find(label) if label in recorded or not make else keys.make(label)
        if key is not None and label not in recorded:
            recorded[label] = _record(run, owner, label, _fingerprint(label, key))
        if key is None or not hmac.compare_digest(recorded[label], _fingerprint(label, key)):
            raise WrongKeys(
                "Expected the folder of keys that this database is sealed with, got a copy that went its own way, or "
                "an older one: give all workers one folder. If it is lost, restore a backup."
            )


def forget(run: Run, labels: Sequence[str]) -> None:
    """Of keys that are about to be destroyed."""
    for label in labels:
        run("DELETE FROM key_fingerprint WHERE label = ?", label)


def forget_all(run: Run, *owners: str) -> None:
    for owner in owners:
        run("DELETE FROM key_fingerprint WHERE owner = ?", owner)


def _record(run: Run, owner: str, label: str, mark: bytes) -> bytes:
    """That of whoever was first."""
    run(
        "INSERT INTO key_fingerprint (owner, label, fingerprint) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        owner,
        label,
        mark,
    )
    return bytes(run("SELECT fingerprint FROM key_fingerprint WHERE label = ?", label)[0][0])


def _fingerprint(label: str, key: bytes) -> bytes:
    return hmac.digest(key, b"fingerprint\0" + label.encode(), hashlib.sha256)[:SIZE]
