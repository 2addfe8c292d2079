"""Both aggregators in one process, without a store: what `Embedded` sends reports to. A process that sees both shares
sees everything: for trying a server out."""

import secrets
import time
from typing import NamedTuple

from reticent.errors import BadReport
from reticent.privacy.noise import Secure
from reticent_two.roles import board as boards
from reticent_two.roles import identity, sealing, wire
from reticent_two.roles.identity import Identities
from reticent_two.roles.sealing import PrivateKey
from reticent_two.roles.signed import Billboard
from reticent_two.roles.task import HELPER, LEADER, Task, key
from reticent_two.roles.wire import LeafShare
from reticent_two.shares import SharedSteps


class Secrets(NamedTuple):
    """Of both aggregators: halves of the key that reports are verified with, identities, and sealing keys, which last
    for a month."""

    halves: tuple[bytes, bytes]
    signers: tuple[bytes, bytes]
    keys: tuple[PrivateKey, PrivateKey]

    @property
    def identities(self) -> Identities:
        return Identities(*map(identity.public, self.signers))

    def signed(self, task: Task, board: bytes) -> bytes:
        """The billboard, as devices get it."""
        both = [b"".join(identity.signed(one, identity.TASK, task.text) for one in self.signers)]
        both.append(b"".join(identity.signed(one, identity.BOARD, board) for one in self.signers))
        leader, helper = (self.keys[party].shown(task.digest, party, self.signers[party]) for party in (LEADER, HELPER))
        return Billboard(task.text, both[0], board, both[1], (leader, helper)).text


def drawn() -> Secrets:
    now = int(time.time())
    one, other = (secrets.token_bytes(32), secrets.token_bytes(32)), (secrets.token_bytes(32), secrets.token_bytes(32))
    made = [sealing.drawn(now, now + boards.LONGEST) for _ in (LEADER, HELPER)]
    return Secrets(one, other, (made[0], made[1]))


class BothAggregators:
    def __init__(self, task: Task, own: Secrets) -> None:
        task.check()
        self.task, self.reports = task, 0
        self._key, self._opening = key(task, own.halves), own.keys
        self._sums = [SharedSteps(grid) for grid in task.grids]
        self._seen: set[bytes] = set()

    def add(self, report: bytes) -> None:
        """A report, which counts once: BadReport if it does not hold."""
        made, prio3 = wire.unpacked(self.task, report), self.task.prio3
        if made.nonce in self._seen:
            raise BadReport("Expected a new report, got one that has been counted.")
        shares = [wire.share(self.task, party, made, self._opening[party]) for party in (LEADER, HELPER)]
        self._seen.add(made.nonce)
        kept, said = zip(
            *(
                prio3.verifier_share(self._key, party, made.nonce, made.public, share)
                for party, share in enumerate(shares)
            ),
            strict=True,
        )
        message = prio3.message(said)
        for sums, one in zip(self._sums, kept, strict=True):
            sums.add(prio3.finished(one, message))
        self.reports += 1

    def close(self) -> bytes:
        """Both leaves of the open step, the leader's first."""
        leaves = [
            LeafShare(party, sums.step, self.reports, sums.release(Secure())) for party, sums in enumerate(self._sums)
        ]
        self.reports = 0
        return b"".join(wire.encode_leaf(self.task, leaf) for leaf in leaves)
