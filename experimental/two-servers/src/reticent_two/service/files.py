"""The private keys of an aggregator: its identity, which signs, and a TLS key of its own for the way between the two.

FILE has the identity, FILE.key the TLS key, FILE.crt the certificate for the other operator: the first two are for its
owner alone. They are made at the first start."""

import datetime
import importlib
import os
from pathlib import Path
from typing import Any, NamedTuple

from reticent.errors import BadState
from reticent.privacy import randomness
from reticent_two.roles import identity

MARK = "reticent aggregator identity\n"
YEARS = 20  # of a certificate, which is pinned


class IdentityFiles(NamedTuple):
    private: bytes
    key: Path
    certificate: Path

    @property
    def public(self) -> bytes:
        return identity.public(self.private)


def opened(path: Path) -> IdentityFiles:
    """Made if there are none; BadState for another file."""
    key, certificate = (path.with_name(path.name + ending) for ending in (".key", ".crt"))
    if not path.exists():
        _made(key, certificate)
        _new(path, (MARK + randomness.octets(identity.PRIVATE).hex() + "\n").encode())
    found = path.read_text()
    if not found.startswith(MARK):
        raise BadState(f"Expected the identity of an aggregator in {path.name}, got another file.")
    return IdentityFiles(bytes.fromhex(found.removeprefix(MARK)), key, certificate)


def _made(key: Path, certificate: Path) -> None:
    x509, ec, hashes, pem = (
        _load("x509"),
        _primitive("asymmetric.ec"),
        _primitive("hashes"),
        _primitive("serialization"),
    )
    own = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(_load("x509.oid").NameOID.COMMON_NAME, "reticent aggregator")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=365 * YEARS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(own, hashes.SHA256())
    )
    certificate.write_bytes(made.public_bytes(pem.Encoding.PEM))
    key.unlink(missing_ok=True)
    _new(key, own.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()))


def _new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _primitive(module: str) -> Any:
    return _load(f"hazmat.primitives.{module}")


def _load(module: str) -> Any:
    return importlib.import_module(f"cryptography.{module}")
