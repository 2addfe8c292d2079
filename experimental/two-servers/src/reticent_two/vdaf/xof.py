"""Expandable hashes: TurboSHAKE128 (RFC 9861), as the draft uses it."""

from collections.abc import Callable

import numpy as np
from Cryptodome.Hash import TurboSHAKE128

from reticent.data import Words
from reticent_two.vdaf.field_kernel import P

SEED = 32  # bytes
VERSION = 18  # of the draft's formats, which later drafts keep


def tag(code: int, usage: int, context: bytes) -> bytes:
    """What keeps uses of the hash apart: of the draft's version, this kind of proof, and this task."""
    return bytes([VERSION, 0]) + code.to_bytes(4, "big") + usage.to_bytes(2, "big") + context


def _started(seed: bytes, domain: bytes, binder: bytes) -> TurboSHAKE128.TurboSHAKE:
    head = len(domain).to_bytes(2, "little") + domain + bytes([len(seed)]) + seed
    return TurboSHAKE128.new(domain=1, data=head + binder)


def derived(seed: bytes, domain: bytes, binder: bytes) -> bytes:
    """A seed from another."""
    out: bytes = _started(seed, domain, binder).read(SEED)
    return out


def stream(seed: bytes, domain: bytes, binder: bytes) -> Callable[[int], Words]:
    """What gives so many uniform words each time, none of them twice."""
    started = _started(seed, domain, binder)
    return lambda count: np.frombuffer(started.read(8 * count), "<u8").astype(np.uint64)


def expanded(seed: bytes, domain: bytes, binder: bytes, length: int) -> Words:
    """So many uniform elements of the field. Numbers of 8 bytes from P on, one in 2^32, are passed over."""
    stream = _started(seed, domain, binder)
    out = np.frombuffer(stream.read(8 * length), "<u8").astype(np.uint64)
    while (out >= P).any():
        kept = out[out < P]
        more = np.frombuffer(stream.read(8 * (length - kept.size)), "<u8").astype(np.uint64)
        out = np.concatenate([kept, more])
    return out
