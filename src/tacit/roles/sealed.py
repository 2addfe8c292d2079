"""Reports sealed to the shuffler's key, so that a relay can take a report's sender away and reads nothing itself.

A relay that sees an address and an open report breaks the claim of the shuffle model; a shuffler that sees addresses is
trusted with them. With sealed reports behind a relay each sees one of the two. ECDH on P-256 with a key pair of its own
for each report, HKDF-SHA-256, AES-256-GCM, as js/src/sealed.js by WebCrypto. The key is pinned by the application: one
that came with a billboard would be the server's to choose.

On the wire: 1, the report's public point (65 bytes, uncompressed), the sealed report with its tag of 16 bytes. Needs
the package cryptography (the extra `store`)."""

from collections.abc import Callable
from typing import Any

from tacit import extras
from tacit.errors import BadReport

VERSION, POINT, TAG = 1, 65, 16
LONGER = 1 + POINT + TAG  # bytes that sealing adds
ABOUT = b"tacit sealed report 1"
KEY, NONCE = 32, 12


def new_key() -> bytes:
    """A private key for a shuffler, as PKCS #8 in PEM: for a file that only it may read."""
    s = _parts("serialization")
    made: bytes = (
        _curve()
        .generate_private_key(_curve().SECP256R1())
        .private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    )
    return made


def public_key(private: bytes) -> bytes:
    """The 65 bytes that applications pin, of a private key in PEM."""
    return _point(_loaded(private).public_key())


def sealer(key: bytes) -> Callable[[bytes], bytes]:
    """A function that seals reports to the shuffler of that public key."""
    theirs = _public(key, "Expected a public key of 65 bytes on P-256, got another.")

    def seal(report: bytes) -> bytes:
        own = _curve().generate_private_key(_curve().SECP256R1())
        point = _point(own.public_key())
        cipher, nonce = _cipher(own.exchange(_curve().ECDH(), theirs), point, key)
        sealed: bytes = cipher.encrypt(nonce, report, None)
        return bytes([VERSION]) + point + sealed

    return seal


def opener(private: bytes) -> Callable[[bytes], bytes]:
    """A function that opens what was sealed to the public key of this private one (PEM), or raises BadReport."""
    own = _loaded(private)
    key = _point(own.public_key())

    def unseal(sealed: bytes) -> bytes:
        if not isinstance(sealed, bytes) or len(sealed) < LONGER or sealed[0] != VERSION:
            raise BadReport("Expected a sealed report, got something else or a truncated one.")
        point = sealed[1 : 1 + POINT]
        theirs = _public(point, "Expected a sealed report, got one without a point of P-256.")
        cipher, nonce = _cipher(own.exchange(_curve().ECDH(), theirs), point, key)
        try:
            report: bytes = cipher.decrypt(nonce, sealed[1 + POINT :], None)
        except Exception:  # of which kind would tell nothing more
            raise BadReport("Expected a report sealed to this shuffler's key, got another or a damaged one.") from None
        return report

    return unseal


def _cipher(shared: bytes, point: bytes, key: bytes) -> tuple[Any, bytes]:
    """The cipher and the nonce of one report: both are used once, since its point is new."""
    hkdf = _load("cryptography.hazmat.primitives.kdf.hkdf").HKDF
    sha = _parts("hashes").SHA256()
    made = hkdf(algorithm=sha, length=KEY + NONCE, salt=None, info=ABOUT + point + key).derive(shared)
    return _load("cryptography.hazmat.primitives.ciphers.aead").AESGCM(made[:KEY]), made[KEY:]


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
