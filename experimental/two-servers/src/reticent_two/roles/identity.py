"""What the identities of two aggregators (roles.identity) sign: tasks, boards, keys and commitments. The application
ships both public ones."""

from typing import NamedTuple

from reticent.errors import BadBillboard
from reticent_devices.roles.identity import PRIVATE, SIGNATURE, holds, public, signed

__all__ = ["BOARD", "KEY", "LEAF", "PRIVATE", "SIGNATURE", "TASK", "Identities", "check", "public", "signed"]

TASK, BOARD, KEY, LEAF = (
    f"reticent {what} of two aggregators 1\n".encode() for what in ("task", "board", "sealing key", "leaf commitment")
)


class Identities(NamedTuple):
    """The public keys of both aggregators, 32 bytes each."""

    leader: bytes
    helper: bytes


def check(identity: bytes, kind: bytes, text: bytes, signature: bytes) -> None:
    """BadBillboard unless that identity has signed it."""
    if not holds(identity, kind, text, signature):
        what = kind.decode().rpartition(" of two")[0].removeprefix("reticent ")
        raise BadBillboard(f"Expected a {what} signed by the identity that is known, got another.")
