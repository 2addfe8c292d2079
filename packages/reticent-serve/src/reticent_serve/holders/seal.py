"""Raw columns are sealed: what is deleted from a database stays in its write-ahead log and in backups, so it is the key
that has to go.

Keys are files in a folder of their own that only its owner may read, that all workers share and that backups leave out.
Waiting features and answers are sealed under the key of an epoch of choices, which is destroyed when all of them have
expired; sums of steps, which later releases need, under a key of the bandit's, one of its own for each step derived
from it. AES-256-GCM with random nonces; what is sealed is bound to its place, so that rows cannot be exchanged.

A key is overwritten before its file is removed. Discs may keep what was overwritten: keep the folder on a file system
that is encrypted, or in memory that all workers share."""

import contextlib
import hashlib
import hmac
import importlib
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reticent.errors import BadState, Unavailable

KEY, NONCE, TAG, NUMBER, MARK = 32, 12, 16, 8, 16  # bytes


class Keys:
    """The folder, which is made with its first key: one file for each key, by its label. A key is made once and never
    changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        if self.folder.exists() and stat.S_IMODE(self.folder.stat().st_mode) & 0o077:
            raise BadState(f"Expected a folder of keys that only its owner may enter, got {self.folder.name}.")
        self._cache: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def make(self, label: str) -> bytes:
        """The key of that label: a new one if there is none. Two who make it at once get the same."""
        with contextlib.suppress(KeyError):
            return self._cache[label]
        new = self.folder / f".{secrets.token_hex(8)}.new"
        with self._lock, using():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(secrets.token_bytes(KEY))
                    file.flush()
                    os.fsync(file.fileno())
                with contextlib.suppress(FileExistsError):
                    os.link(new, self._path(label))
            finally:
                new.unlink(missing_ok=True)
            sync(self.folder)
        found = self.find(label)
        if found is None:
            raise BadState("Expected a key that was just made, got none: something else removes keys.")
        return found

    def find(self, label: str) -> bytes | None:
        """The key of that label, None if it was never made or has been destroyed."""
        found = self._cache.get(label)
        if found is None:
            with using():
                try:
                    found = self._path(label).read_bytes()
                except FileNotFoundError:
                    return None
            if found == bytes(KEY):
                return None  # it is being destroyed
            if len(found) != KEY:
                raise BadState("Expected a key of 32 bytes, got a damaged file.")
            self._cache[label] = found
        return found

    def destroy(self, label: str) -> None:
        self._cache.pop(label, None)
        with using():
            with contextlib.suppress(FileNotFoundError), open(self._path(label), "r+b") as file:
                file.write(bytes(KEY))
                file.flush()
                os.fsync(file.fileno())
            self._path(label).unlink(missing_ok=True)
            sync(self.folder)

    def labels(self, start: str) -> list[str]:
        """The labels of keys that begin so."""
        return sorted(path.name[:-4] for path in self.folder.glob(f"{start}*.key"))

    def forget_destroyed(self) -> None:
        """From memory: what another worker has destroyed."""
        for label in list(self._cache):
            if not self._path(label).exists():
                self._cache.pop(label, None)

    def _path(self, label: str) -> Path:
        return self.folder / f"{label}.key"


class Seal:
    """Seals and opens for one bandit. `kind` and `number` say under which of its keys."""

    def __init__(self, keys: Keys, uid: str) -> None:
        self.keys, self._uid = keys, uid
        module = "cryptography.hazmat.primitives.ciphers.aead"
        self._cipher: Any = importlib.import_module(module).AESGCM

    def label(self, kind: str, number: int) -> str:
        return label_of(self._uid, kind, number)

    def seal(self, kind: str, number: int, place: str, text: bytes) -> bytes:
        """`text`, sealed for its place; the key has to be there."""
        nonce = secrets.token_bytes(NONCE)
        sealed: bytes = self._with(self._key(kind, number), place).encrypt(nonce, text, place.encode())
        return number.to_bytes(NUMBER, "big") + nonce + sealed

    def open(self, kind: str, place: str, sealed: bytes) -> bytes | None:
        """What was sealed for that place; None if its key is destroyed. BadState if it is not what was sealed."""
        key = self.keys.find(self.label(kind, number_of(sealed)))
        if key is None:
            return None
        nonce, text = sealed[NUMBER : NUMBER + NONCE], sealed[NUMBER + NONCE :]
        try:
            opened: bytes = self._with(key, place).decrypt(nonce, text, place.encode())
        except Exception:
            raise BadState("Expected a sealed row as it was written there, got another.") from None
        return opened

    def mark(self, kind: str, number: int, place: str, text: bytes) -> bytes | None:
        """What shows to who has the key that `text` belongs to that place. It looks random to others, and the same text
        has another one in each place. None if the key is destroyed."""
        key, marked = self.keys.find(self.label(kind, number)), b"mark\0" + place.encode() + b"\0" + text
        return None if key is None else hmac.digest(key, marked, hashlib.sha256)[:MARK]

    def _key(self, kind: str, number: int) -> bytes:
        key = self.keys.find(self.label(kind, number))
        if key is None:
            raise BadState("Expected the keys that this database was sealed with, got a folder without them.")
        return key

    def _with(self, key: bytes, place: str) -> Any:
        """One key for each place: no number of rewards wears it out."""
        return self._cipher(hmac.digest(key, place.encode(), hashlib.sha256))


def label_of(uid: str, kind: str, number: int) -> str:
    """Of a bandit's key."""
    return f"{uid}.{kind}.{number}"


def number_of(sealed: bytes) -> int:
    """Of the key that it was sealed with."""
    return int.from_bytes(sealed[:NUMBER], "big")


@contextlib.contextmanager
def using() -> Iterator[None]:
    """A folder of keys that cannot be read or written (a full disk, one that is read-only) is a database that is
    away."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"Expected a folder of keys that can be used, got {type(error).__name__}.") from None


def sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def place(uid: str, step: int, what: str) -> str:
    """Where sums are: what they are sealed for."""
    return f"{uid} sums {step} {what}"


def choice_place(uid: str, request: bytes) -> str:
    """Where the answer to a request is: what it is sealed and marked for."""
    return f"{uid} choice {request.hex()}"


def waiting_place(uid: str, number: int) -> str:
    """Where what is kept of a choice is."""
    return f"{uid} waiting {number}"


def written_place(uid: str, number: int) -> str:
    """Where what was written of a choice is."""
    return f"{uid} written {number}"
