"""Shares sealed to their aggregator by HPKE (roles.hpke).

What is sealed is bound to whose share it is, task, nonce and public share, each behind its length. Without the public
share a leader that forges it reads rewards from the helper's verdict; without the task a report opens in another one.

A key lives for a short time that its aggregator's identity has signed, and is destroyed at its end: what somebody kept
of the traffic is of no use once it is. Reports sealed to a key that is gone are refused.

On the wire a key is: task (32 bytes), party (1), since and until (8 each, seconds of Unix time), public key (32), the
signature (64) of all that by the party's identity (reticent_two.roles.identity). `since` is its number."""

import hashlib
import struct
from typing import NamedTuple

from reticent.errors import BadBillboard, BadReport
from reticent_devices.roles import hpke
from reticent_two.roles import identity
from reticent_two.roles.identity import SIGNATURE

HEAD = struct.Struct("<32sBQQ32s")
SHOWN = HEAD.size + SIGNATURE  # bytes
LONGEST = 31 * 86400  # seconds that a key may live
LABEL = b"reticent share of two aggregators 1"
ROLES = b"leader", b"helper"


class SealingKey(NamedTuple):
    """A party's public key, as devices know it."""

    party: int
    since: int
    until: int
    public: bytes


class PrivateKey(NamedTuple):
    """since: its number."""

    since: int
    until: int
    private: bytes

    def shown(self, task: bytes, party: int, signer: bytes) -> bytes:
        """What devices get, signed by the party's identity."""
        head = HEAD.pack(task, party, self.since, self.until, hpke.public(self.private))
        return head + identity.signed(signer, identity.KEY, head)

    def opened(self, about: bytes, text: bytes) -> bytes:
        """BadReport for what was not sealed to this key about exactly that."""
        return hpke.opened(self.private, about, text)


def drawn(since: int, until: int) -> PrivateKey:
    """A new key, of the kernel's randomness."""
    return PrivateKey(since, until, hpke.drawn())


def checked(shown: bytes, task: bytes, party: int, signer: bytes) -> SealingKey:
    """A key that the party of that identity has signed for that task; BadBillboard. That it is not over is for whoever
    seals to see."""
    if len(shown) != SHOWN:
        raise BadBillboard(f"Expected a sealing key of {SHOWN} bytes, got another.")
    head, signature = shown[: HEAD.size], shown[HEAD.size :]
    identity.check(signer, identity.KEY, head, signature)
    found, whose, since, until, public = HEAD.unpack(head)
    if (found, whose) != (task, party) or not since < until <= since + LONGEST:
        raise BadBillboard("Expected a sealing key of this task and aggregator, for a month at most, got another.")
    try:
        hpke.sealed(public, b"", b"")
    except BadReport:
        raise BadBillboard("Expected a sealing key that something can be sealed to, got another.") from None
    return SealingKey(party, since, until, public)


def about(party: int, task: bytes, nonce: bytes, public: bytes) -> bytes:
    """What a share is bound to. public: the public share."""
    parts = LABEL, ROLES[party], task, nonce, hashlib.sha256(public).digest()
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)
