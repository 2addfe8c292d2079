"""HPKE (RFC 9180, base mode, one message a context) with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM.
js/src/hpke.js seals the same. Needs the package cryptography (the extra `store`).

What is sealed is 32 bytes of a key that serves this alone, then the text with its tag of 16 bytes."""

import importlib
from typing import Any

from reticent.errors import BadReport

PUBLIC, TAG = 32, 16
LONGER = PUBLIC + TAG  # bytes that sealing adds


def drawn() -> bytes:
    """A new private key, of the kernel's randomness. Any 32 random bytes are one."""
    made: bytes = _x25519().X25519PrivateKey.generate().private_bytes_raw()
    return made


def public(private: bytes) -> bytes:
    made: bytes = _private(private).public_key().public_bytes_raw()
    return made


def sealed(public: bytes, about: bytes, text: bytes) -> bytes:
    """For whoever has the private key, bound to `about`; BadReport for a key that nothing can be sealed to."""
    try:
        made: bytes = _suite().encrypt(text, _x25519().X25519PublicKey.from_public_bytes(public), info=about)
    except ValueError:
        raise BadReport("Expected a public key that something can be sealed to, got another.") from None
    return made


def opened(private: bytes, about: bytes, text: bytes) -> bytes:
    """BadReport for what was not sealed to this key about exactly that."""
    try:
        made: bytes = _suite().decrypt(text, _private(private), info=about)
    except Exception:  # of which kind would tell nothing more
        raise BadReport("Expected what was sealed to this key, got something else or damaged.") from None
    return made


def _private(private: bytes) -> Any:
    return _x25519().X25519PrivateKey.from_private_bytes(private)


def _suite() -> Any:
    hpke = _load("hpke")
    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)


def _x25519() -> Any:
    return _load("asymmetric.x25519")


def _load(module: str) -> Any:
    return importlib.import_module(f"cryptography.hazmat.primitives.{module}")
