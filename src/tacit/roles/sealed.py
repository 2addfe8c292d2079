"""Reports sealed to a key of their batch, so that a relay can take a report's sender away and reads nothing itself, and
nobody opens a kept report once the batch is closed: the shuffler destroys the key with it.

A relay that sees an address and an open report breaks the claim of the shuffle model; a shuffler that sees addresses is
trusted with them. With sealed reports behind a relay each sees one of the two. The application pins the shuffler's
identity, a public key that signs the key of each batch: one that came with a billboard would be the server's to choose.
ECDH on P-256 with a key pair of its own for each report, HKDF-SHA-256, AES-256-GCM, and ECDSA with SHA-256 for the
identity, as js/src/sealed.js by WebCrypto. Needs the package cryptography (the extra `store`).

On the wire. A batch's key: its number (8 bytes), the digest of its billboard (16), the public point (65, uncompressed),
the signature (64). A sealed report: 2, the batch's number, the report's own point, the sealed report with its tag of 16
bytes. The number is in the clear, so that a report that comes too late is told so."""

import hashlib
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, NamedTuple

from tacit import extras
from tacit.errors import BadReport
from tacit.roles.wire import PLACE, Parameters

VERSION, NUMBER, POINT, TAG = 2, 8, 65, 16
HEAD = 1 + NUMBER + POINT
LONGER = HEAD + TAG  # bytes that sealing adds
ABOUT, SIGNED = b"tacit sealed report 2", b"tacit batch key 1"
KEY, NONCE, DIGEST, HALF = 32, 12, 16, 32  # HALF: of a signature
SHOWN = NUMBER + DIGEST + POINT + 2 * HALF
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256
GONE = 410


class BatchKey(NamedTuple):
    """The public key of one batch, as its shuffler shows it."""

    place: bytes  # the batch's number and the digest of its billboard
    point: bytes

    @property
    def number(self) -> int:
        return int.from_bytes(self.place[:NUMBER], "little")


# on devices


def sealing(
    identity: bytes, fetch: Callable[[], bytes | None], send: Callable[[bytes], bool]
) -> Callable[[bytes], bool]:
    """A `send` for an Outbox: seals each report to its batch's key. identity: the 65 bytes that the application pins.
    fetch: gets what the shuffler shows of the present batch (`get`), through the relay as `send` does; None after the
    last batch. False for a report whose batch is closed: nobody could open it any more."""
    _public(identity, "Expected an identity of 65 bytes on P-256, got another.")

    def seal_and_send(report: bytes) -> bool:
        shown = fetch()
        if shown is None:
            return False
        try:
            key = checked(shown, identity)
        except BadReport as error:
            raise ConnectionError(str(error)) from None  # of a relay, say: later again
        number = int.from_bytes(report[PLACE][:NUMBER], "little")
        if key.number < number:
            raise ConnectionError("Expected the key of a report's batch, got that of an earlier one.")
        return key.place == report[PLACE] and send(sealed(report, key))

    return seal_and_send


def get(url: str, *, seconds: float = 30.0) -> Callable[[], bytes | None]:
    """A `fetch` by HTTP."""

    def fetch() -> bytes | None:
        try:
            with urllib.request.urlopen(url, timeout=seconds) as answer:
                return bytes(answer.read(SHOWN + 1))
        except urllib.error.HTTPError as answer:
            if answer.code == GONE:
                return None
            raise

    return fetch


def checked(shown: bytes, identity: bytes) -> BatchKey:
    """A batch's key that the shuffler of that identity has signed, or BadReport."""
    expected = "Expected a batch's key that the pinned shuffler has signed, got another."
    if len(shown) != SHOWN:
        raise BadReport(expected)
    signed_part, signature = shown[: -2 * HALF], shown[-2 * HALF :]
    halves = (int.from_bytes(half, "big") for half in (signature[:HALF], signature[HALF:]))
    pair = _load("cryptography.hazmat.primitives.asymmetric.utils").encode_dss_signature(*halves)
    try:
        _public(identity, expected).verify(pair, SIGNED + signed_part, _curve().ECDSA(_parts("hashes").SHA256()))
    except _load("cryptography.exceptions").InvalidSignature:
        raise BadReport(expected) from None
    _public(signed_part[-POINT:], expected)
    return BatchKey(signed_part[:-POINT], signed_part[-POINT:])


def sealed(report: bytes, key: BatchKey) -> bytes:
    """A report, for the shuffler that has the private key alone."""
    own = _curve().generate_private_key(_curve().SECP256R1())
    theirs = _public(key.point, "Expected a public key of 65 bytes on P-256, got another.")
    head = bytes([VERSION]) + key.place[:NUMBER] + _point(own.public_key())
    cipher, nonce = _cipher(own.exchange(_curve().ECDH(), theirs), head, key.point)
    text: bytes = cipher.encrypt(nonce, report, None)
    return head + text


# at the shuffler


def new_identity() -> bytes:
    """A private key for a shuffler, as PKCS #8 in PEM: for a file that only it may read."""
    s, own = _parts("serialization"), _curve().generate_private_key(_curve().SECP256R1())
    made: bytes = own.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    return made


def public_identity(private: bytes) -> bytes:
    """The 65 bytes that applications pin, of a private key in PEM."""
    return _point(_loaded(private).public_key())


def shown_key(private: bytes, secret: bytes, of: Parameters) -> bytes:
    """What devices get of the key that a batch's `secret` makes, signed by the shuffler's identity (PEM)."""
    signed_part = of.batch.to_bytes(NUMBER, "little") + of.digest + _point(_private(secret).public_key())
    signature = _loaded(private).sign(SIGNED + signed_part, _curve().ECDSA(_parts("hashes").SHA256()))
    halves = _load("cryptography.hazmat.primitives.asymmetric.utils").decode_dss_signature(signature)
    return signed_part + b"".join(half.to_bytes(HALF, "big") for half in halves)


def opener(secret: bytes) -> Callable[[bytes], bytes]:
    """A function that opens what was sealed to the key of that batch, or raises BadReport."""
    own = _private(secret)
    key = _point(own.public_key())

    def unseal(text: bytes) -> bytes:
        number_in(text)
        head = text[:HEAD]
        theirs = _public(head[-POINT:], "Expected a sealed report, got one without a point of P-256.")
        cipher, nonce = _cipher(own.exchange(_curve().ECDH(), theirs), head, key)
        try:
            report: bytes = cipher.decrypt(nonce, text[HEAD:], None)
        except Exception:  # of which kind would tell nothing more
            raise BadReport("Expected a report sealed to its batch's key, got another or a damaged one.") from None
        return report

    return unseal


def number_in(text: bytes) -> int:
    """Of the batch that a sealed report is for; BadReport if it is none."""
    if not isinstance(text, bytes) or len(text) < LONGER or text[0] != VERSION:
        raise BadReport("Expected a sealed report, got something else or a truncated one.")
    return int.from_bytes(text[1 : 1 + NUMBER], "little")


def _cipher(shared: bytes, head: bytes, key: bytes) -> tuple[Any, bytes]:
    """The cipher and the nonce of one report: both are used once, since its point is new. They are bound to its
    head."""
    hkdf = _load("cryptography.hazmat.primitives.kdf.hkdf").HKDF
    sha = _parts("hashes").SHA256()
    made = hkdf(algorithm=sha, length=KEY + NONCE, salt=None, info=ABOUT + head + key).derive(shared)
    return _load("cryptography.hazmat.primitives.ciphers.aead").AESGCM(made[:KEY]), made[KEY:]


def _private(secret: bytes) -> Any:
    """By 384 bits of a hash, so that each key is as likely as any other."""
    number = int.from_bytes(hashlib.sha384(SIGNED + secret).digest(), "big") % (ORDER - 1) + 1
    return _curve().derive_private_key(number, _curve().SECP256R1())


def _public(point: bytes, expected: str) -> Any:
    try:
        if len(point) != POINT:
            raise ValueError
        return _curve().EllipticCurvePublicKey.from_encoded_point(_curve().SECP256R1(), point)
    except (ValueError, TypeError):
        raise BadReport(expected) from None


def _point(public: Any) -> bytes:
    s = _parts("serialization")
    made: bytes = public.public_bytes(s.Encoding.X962, s.PublicFormat.UncompressedPoint)
    return made


def _loaded(private: bytes) -> Any:
    return _parts("serialization").load_pem_private_key(private, None)


def _curve() -> Any:
    return _load("cryptography.hazmat.primitives.asymmetric.ec")


def _parts(name: str) -> Any:
    return _load(f"cryptography.hazmat.primitives.{name}")


def _load(module: str) -> Any:
    return extras.load(module, "sealed reports", extra="store")
