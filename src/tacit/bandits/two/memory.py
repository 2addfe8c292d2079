"""Both aggregators in one process, without a store: what `Embedded` sends reports to. A process that sees both shares
sees everything: for trying a server out."""

import secrets

from tacit.errors import BadReport
from tacit.mechanisms.shares import SharedSteps
from tacit.privacy.noise import Secure
from tacit.roles.two import wire
from tacit.roles.two.task import Task, key
from tacit.roles.two.wire import LeafShare


class BothAggregators:
    """halves: of the key that reports are verified with."""

    def __init__(self, task: Task, halves: tuple[bytes, bytes]) -> None:
        task.check()
        self.task, self.reports = task, 0
        self._key = key(task, halves)
        self._sums = [SharedSteps(grid) for grid in task.grids]
        self._seen: set[bytes] = set()

    def add(self, report: bytes) -> None:
        """A report, which counts once: BadReport if it does not hold."""
        made, prio3 = wire.unpacked(self.task, report), self.task.prio3
        if made.nonce in self._seen:
            raise BadReport("Expected a new report, got one that has been counted.")
        self._seen.add(made.nonce)
        kept, said = zip(
            *(
                prio3.verifier_share(self._key, party, made.nonce, made.public, share)
                for party, share in enumerate((made.leader, made.helper))
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


def drawn() -> tuple[bytes, bytes]:
    """Fresh halves."""
    return secrets.token_bytes(32), secrets.token_bytes(32)
