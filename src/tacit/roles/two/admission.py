"""Admission: one report for one token, a blind signature of somebody who knows accounts (RFC 9474,
RSABSSA-SHA384-PSS-Deterministic).

It is for robustness alone: it bounds how many reports an account can send, since lies of 15 % of all reports and more
turn learning round (docs/two-servers.md). No promise to people rests on it, and none is made by it.

What is signed is the task and the nonce of a report, so that a token is spent with its nonce: nobody keeps a list of
tokens. The issuer signs them blindly: of an account it knows how many and when it asked, and nothing by which a report
could be known again. Whoever is issuer and leader at once can compare times.

    issuer      knows accounts, and asks Issuer.signed for as many a week as an account may have
    device      `admitting` is a `send` for its outbox, which asks for a token and sends it behind the report
    leader      admission = "issuer.pem" in its configuration: reports without a token are refused

Needs the package cryptography (the extra `aggregator`)."""

import hashlib
import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

from tacit import extras
from tacit.errors import BadReport
from tacit.roles.two.wire import DIGEST
from tacit.vdaf.prio3 import NONCE

LABEL = b"tacit admission 1"
BITS = 2048
SALT = HASH = 48  # bytes, of SHA-384


class Blinding(NamedTuple):
    """What the issuer gets, and what undoes it, which stays on the device."""

    blinded: bytes
    inverse: int


class IssuerKey:
    """The issuer's public key, as PEM or DER: ValueError for another than RSA of 2048 bits or more."""

    def __init__(self, public: bytes) -> None:
        loaders = _load("serialization")
        load = loaders.load_pem_public_key if public.startswith(b"-----") else loaders.load_der_public_key
        self._key = load(public)
        if not isinstance(self._key, _load("asymmetric.rsa").RSAPublicKey) or self._key.key_size < BITS:
            raise ValueError(f"Expected a public RSA key of {BITS} bits or more, got another.")
        numbers = self._key.public_numbers()
        self.n: int = numbers.n
        self.e: int = numbers.e
        self.size = (self.n.bit_length() + 7) // 8

    def blinded(self, message: bytes, *, salt: bytes | None = None, inverse: int | None = None) -> Blinding:
        """Of a message, with fresh randomness; salt and inverse are given in tests alone."""
        encoded = int.from_bytes(_encoded(message, self.n.bit_length() - 1, salt or secrets.token_bytes(SALT)), "big")
        undo = inverse or 1 + secrets.randbelow(self.n - 1)
        hidden = encoded * pow(pow(undo, -1, self.n), self.e, self.n) % self.n
        return Blinding(hidden.to_bytes(self.size, "big"), undo)

    def finished(self, message: bytes, answer: bytes, blinding: Blinding) -> bytes:
        """The token, from the issuer's answer; BadReport where the issuer has signed something else."""
        token = int.from_bytes(answer, "big") * blinding.inverse % self.n
        made = token.to_bytes(self.size, "big")
        self.check(message, made)
        return made

    def check(self, message: bytes, token: bytes) -> None:
        """BadReport unless the issuer has signed that message."""
        padding, hashes = _load("asymmetric.padding"), _load("hashes")
        scheme = padding.PSS(padding.MGF1(hashes.SHA384()), SALT)
        try:
            self._key.verify(token, message, scheme, hashes.SHA384())
        except extras.load("cryptography.exceptions", "admission", extra="aggregator").InvalidSignature:
            raise BadReport("Expected a report with a token of the issuer, got none or another.") from None


class Issuer:
    """The issuer's private key, as PEM. Who may ask, and how often, is the application's to decide."""

    def __init__(self, private: bytes) -> None:
        key = _load("serialization").load_pem_private_key(private, None)
        self._d: int = key.private_numbers().d
        serialization = _load("serialization")
        shape = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        self.public: bytes = key.public_key().public_bytes(*shape)
        self._known = IssuerKey(self.public)

    def signed(self, blinded: bytes) -> bytes:
        """ValueError for what no device sends. What is computed with the private key is blinded once more, so that the
        time it takes tells nothing of the key."""
        n, e, size = self._known.n, self._known.e, self._known.size
        given = int.from_bytes(blinded, "big")
        if len(blinded) != size or not 0 < given < n:
            raise ValueError(f"Expected a blinded message of {size} bytes, got another.")
        own = 1 + secrets.randbelow(n - 1)
        made = pow(given * pow(own, e, n) % n, self._d, n) * pow(own, -1, n) % n
        if pow(made, e, n) != given:
            raise ArithmeticError("Expected a signature that holds, got another: nothing is given out.")
        return made.to_bytes(size, "big")


def new_issuer() -> bytes:
    """A private key, as PEM."""
    serialization = _load("serialization")
    key = _load("asymmetric.rsa").generate_private_key(65537, BITS)
    shape = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    made: bytes = key.private_bytes(serialization.Encoding.PEM, *shape)
    return made


def message(report: bytes) -> bytes:
    """What the token of a report signs: its task and its nonce."""
    return LABEL + report[: DIGEST + NONCE]


def admitting(public: bytes, ask: Callable[[bytes], bytes], send: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
    """A `send` for Outbox: each report leaves with a token behind it. ask: from a blinded message to the issuer's
    answer, over a way by which the issuer knows the account; OSError: later again. Until a report is taken the same
    token is sent, but for a restart of the program."""
    key, tokens = IssuerKey(public), dict[bytes, bytes]()

    def sent(report: bytes) -> bool:
        about = message(report)
        if about not in tokens:
            blinding = key.blinded(about)
            try:
                tokens[about] = key.finished(about, ask(blinding.blinded), blinding)
            except BadReport as error:
                raise ConnectionError(str(error)) from None  # later again
        taken = send(report + tokens[about])
        del tokens[about]
        return taken

    return sent


def _encoded(message: bytes, bits: int, salt: bytes) -> bytes:
    """EMSA-PSS-ENCODE of RFC 8017, 9.1.1, with SHA-384 and MGF1 of it."""
    length = (bits + 7) // 8
    digest = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = bytes(length - len(salt) - HASH - 2) + b"\1" + salt
    stream = b"".join(hashlib.sha384(digest + i.to_bytes(4, "big")).digest() for i in range(-(-len(block) // HASH)))
    masked = bytearray(a ^ b for a, b in zip(block, stream, strict=False))
    masked[0] &= 0xFF >> (8 * length - bits)
    return bytes(masked) + digest + b"\xbc"


def _load(module: str) -> Any:
    return extras.load(f"cryptography.hazmat.primitives.{module}", "admission", extra="aggregator")
