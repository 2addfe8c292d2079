"""An aggregator's lasting identity: an Ed25519 key that signs tasks, boards, keys and commitments, and opens nothing.

The application ships both public keys. They are what a device trusts: identities that came with a billboard would be
the server's to choose. What is signed begins with a line that says what it is, so that no signature of one kind is one
of another. Needs the package cryptography (the extra `aggregator`)."""

from typing import Any, NamedTuple

from tacit import extras
from tacit.errors import BadBillboard

TASK, BOARD, KEY, LEAF = (
    f"tacit {what} of two aggregators 1\n".encode() for what in ("task", "board", "sealing key", "leaf commitment")
)
PRIVATE = PUBLIC = 32  # bytes
SIGNATURE = 64


class Identities(NamedTuple):
    """The public keys of both aggregators, 32 bytes each."""

    leader: bytes
    helper: bytes


def public(private: bytes) -> bytes:
    """What applications ship, of a private key of 32 random bytes."""
    made: bytes = _private(private).public_key().public_bytes_raw()
    return made


def signed(private: bytes, kind: bytes, text: bytes) -> bytes:
    made: bytes = _private(private).sign(kind + text)
    return made


def check(identity: bytes, kind: bytes, text: bytes, signature: bytes) -> None:
    """BadBillboard unless that identity has signed it."""
    keys, invalid = _load("hazmat.primitives.asymmetric.ed25519"), _load("exceptions").InvalidSignature
    try:
        keys.Ed25519PublicKey.from_public_bytes(identity).verify(signature, kind + text)
    except (invalid, ValueError, TypeError):
        what = kind.decode().rpartition(" of two")[0].removeprefix("tacit ")
        raise BadBillboard(f"Expected a {what} signed by the identity that is known, got another.") from None


def _private(private: bytes) -> Any:
    if not isinstance(private, bytes) or len(private) != PRIVATE:
        raise ValueError(f"Expected an identity of {PRIVATE} bytes, got another.")
    return _load("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.from_private_bytes(private)


def _load(module: str) -> Any:
    return extras.load(f"cryptography.{module}", "two aggregators", extra="aggregator")
