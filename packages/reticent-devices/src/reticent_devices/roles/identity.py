"""A server's lasting identity: an Ed25519 key that signs and opens nothing. The application pins its public half: one
that came with a billboard would be the server's to choose. What is signed begins with what it is, so that no signature
of one kind is one of another. Needs the package cryptography (the extra `store`)."""

import importlib
from typing import Any

from reticent.privacy import randomness

PRIVATE = PUBLIC = 32  # bytes
SIGNATURE = 64


def drawn() -> bytes:
    """A new private identity."""
    return randomness.octets(PRIVATE)


def public(private: bytes) -> bytes:
    """What applications pin, of a private identity."""
    made: bytes = _private(private).public_key().public_bytes_raw()
    return made


def signed(private: bytes, kind: bytes, text: bytes) -> bytes:
    made: bytes = _private(private).sign(kind + text)
    return made


def holds(identity: bytes, kind: bytes, text: bytes, signature: bytes) -> bool:
    """Whether that identity has signed it."""
    keys, invalid = _load("hazmat.primitives.asymmetric.ed25519"), _load("exceptions").InvalidSignature
    try:
        keys.Ed25519PublicKey.from_public_bytes(identity).verify(signature, kind + text)
    except (invalid, ValueError, TypeError):
        return False
    return True


def _private(private: bytes) -> Any:
    if not isinstance(private, bytes) or len(private) != PRIVATE:
        raise ValueError(f"Expected an identity of {PRIVATE} bytes, got another.")
    return _load("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.from_private_bytes(private)


def _load(module: str) -> Any:
    return importlib.import_module(f"cryptography.{module}")
