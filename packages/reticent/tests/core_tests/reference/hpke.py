"""HPKE (RFC 9180), base mode, step by step with the key of the sender as an argument: the package that seals draws its
own, and two devices can only be compared where both have the same."""

import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEM, SUITE = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01"
AES_128, AES_256 = (1, 16), (2, 32)  # their numbers in the RFC, and the bytes of a key


def extract(suite, salt, label, secret):
    return hmac.digest(salt, b"HPKE-v1" + suite + label + secret, "sha256")


def expand(suite, key, label, info, length):
    return hmac.digest(key, length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info + b"\1", "sha256")[:length]


def sealed(ephemeral, public, info, text, cipher=AES_256, about=b""):
    suite, own = SUITE + cipher[0].to_bytes(2, "big"), X25519PrivateKey.from_private_bytes(ephemeral)
    enc = own.public_key().public_bytes_raw()
    agreed = extract(KEM, b"", b"eae_prk", own.exchange(X25519PublicKey.from_public_bytes(public)))
    secret = expand(KEM, agreed, b"shared_secret", enc + public, 32)
    context = b"\0" + extract(suite, b"", b"psk_id_hash", b"") + extract(suite, b"", b"info_hash", info)
    start = extract(suite, secret, b"secret", b"")
    key, nonce = expand(suite, start, b"key", context, cipher[1]), expand(suite, start, b"base_nonce", context, 12)
    return enc + AESGCM(key).encrypt(nonce, text, about)
