"""One of the two parties: leader and helper are the same program. The leader takes reports from devices and asks the
helper about them, who decides; both close steps (party.py)."""

import numpy as np

from reticent.data import Words
from reticent.errors import BadReport, LateReport
from reticent_serve.holders.database import Run
from reticent_two.aggregators import messages, rows
from reticent_two.aggregators.messages import COUNTED, LATE, LATER, NUMBER, REFUSED, JobReply, VerifyJob
from reticent_two.aggregators.party import Changed, Party
from reticent_two.aggregators.rows import PartyState
from reticent_two.roles import wire
from reticent_two.roles.task import HELPER, LEADER, PARTIES
from reticent_two.roles.wire import Packed
from reticent_two.vdaf.prio3 import Verifying
from reticent_two.vdaf.xof import SEED

MOST = 500  # reports of a job


class Aggregator(Party):
    """`Aggregator(task, LEADER, "leader.db", "elsewhere/leader.counter", halves, signer=private)`: one party of a task,
    whose store and counter file are made with it if neither exists; halves are needed then alone. signer: its identity.
    Sealing keys, which live for `lifetime` seconds, lie beside the counter file.

    Guarantee: a report's nonce is recorded before anything of its verification leaves, and it is verified once, ever. A
    step has one set of reports, one noise and one leaf, on disk before a hash of it leaves. Where the database does not
    follow from what its counter file says, the era is retired: nothing more is answered.
    It rests on a counter file that is on no backup and is not rolled back together with the database.

    In turn: `receive` (leader, from devices), `jobs` (leader), `verify` (helper), `decide` (leader), until a step is
    full; then each party's `certificate` to the other's `release`, and what that returns to the other's `leaf`."""

    # the leader

    def receive(self, reports: bytes) -> bytes:
        """One byte for each report: COUNTED if it is on disk, also where it was before; LATE if its key is gone;
        REFUSED for one that is for another task, cannot be read, or has the nonce of another. Each is refused alone."""
        self._only(LEADER)
        length = wire.length(self.task)
        if not isinstance(reports, bytes) or len(reports) % length:
            raise BadReport(f"Expected reports of {length} bytes each, got others.")

        def work(run: Run, state: PartyState) -> Changed:
            said = [self._receive(run, reports[at : at + length]) for at in range(0, len(reports), length)]
            new = [digest for digest, _ in said if digest]
            return messages.hashed(b"receive", *new) if new else b"", bytes(verdict for _, verdict in said)

        return self._act(work)

    def _receive(self, run: Run, report: bytes) -> tuple[bytes, int]:
        """The digest of one that is new, and the verdict."""
        try:
            made = wire.unpacked(self.task, report)
            digest = messages.hashed(*made)
            before = rows.known(run, made.nonce)
            if before is not None:
                return b"", COUNTED if before.digest == digest else REFUSED
            share = self._opened(made)
            kept, said = self.task.prio3.verifier_share(self._key, LEADER, made.nonce, made.public, share)
        except LateReport:
            return b"", LATE
        except BadReport:
            return b"", REFUSED
        job = b"".join(VerifyJob(made.nonce, made.keys[NUMBER:], made.public, made.helper, said))
        rows.wait(run, made.nonce, digest, job, kept.seed + kept.numbers.astype("<u8").tobytes())
        return digest, COUNTED

    def jobs(self, most: int = MOST) -> bytes:
        """The reports that wait, the oldest first, no more than the open step has room for."""
        self._only(LEADER)
        with self._acting() as (run, state, _):
            return b"".join(rows.waiting(run, min(most, self._missing(state))))

    def decide(self, replies: bytes) -> None:
        """By the helper's verdicts. One that was decided before is passed over."""
        self._only(LEADER)

        def work(run: Run, state: PartyState) -> Changed:
            counted: list[Words] = []
            changed: list[bytes] = []
            for reply in messages.replies(replies):
                before = rows.known(run, reply.nonce)
                if before is None or before.kept is None or reply.verdict not in (REFUSED, COUNTED):
                    continue
                share = self._finished(before.kept, reply)
                if share is not None and len(counted) >= self._missing(state):
                    continue
                counted += [] if share is None else [share]
                rows.decide(run, reply.nonce, state.step, REFUSED if share is None else COUNTED)
                changed.append(messages.encode_reply(reply))
            self._counted(run, state, counted)
            return messages.hashed(b"decide", *changed) if changed else b"", b""

        self._act(work)

    def _finished(self, kept: bytes, reply: JobReply) -> Words | None:
        """This party's share, if the helper counts the report and the message is what it should be."""
        if reply.verdict != COUNTED:
            return None
        numbers = np.frombuffer(kept[SEED:], "<u8").astype(np.uint64)
        try:
            return self.task.prio3.finished(Verifying(numbers, kept[:SEED]), reply.message)
        except BadReport:
            return None

    # the helper

    def verify(self, jobs: bytes) -> bytes:
        """A reply for each entry. A report that is known gets its stored reply; with another public share, or another
        share, it is refused, and not looked at. So is one that does not open with its public share."""
        self._only(HELPER)
        asked = list(messages.jobs(self.task, jobs))
        if len(asked) > MOST:
            raise BadReport(f"Expected at most {MOST} reports in a job, got more.")

        def work(run: Run, state: PartyState) -> Changed:
            counted: list[Words] = []
            changed: list[bytes] = []
            out = []
            for job in asked:
                digest = messages.hashed(job.key, job.public, job.helper)
                before = rows.known(run, job.nonce)
                if before is not None:
                    same = before.digest == digest and before.reply is not None
                    out.append(before.reply if same and before.reply else refused(job.nonce))
                    continue
                if len(counted) >= self._missing(state):
                    out.append(messages.encode_reply(JobReply(job.nonce, LATER, bytes(SEED))))
                    continue
                reply, share = self._verified(job)
                counted += [] if share is None else [share]
                out.append(messages.encode_reply(reply))
                rows.answer(run, job.nonce, digest, state.step, reply.verdict, out[-1])
                changed.append(digest + out[-1])
            self._counted(run, state, counted)
            return messages.hashed(b"verify", *changed) if changed else b"", b"".join(out)

        return self._act(work)

    def _verified(self, job: VerifyJob) -> tuple[JobReply, Words | None]:
        prio3 = self.task.prio3
        try:
            share = self._opened(Packed(job.nonce, bytes(NUMBER) + job.key, job.public, b"", job.helper))
            kept, own = prio3.verifier_share(self._key, HELPER, job.nonce, job.public, share)
            message = prio3.message([job.said, own])
            numbers = prio3.finished(kept, message)
        except BadReport:
            return JobReply(job.nonce, REFUSED, bytes(SEED)), None
        return JobReply(job.nonce, COUNTED, message), numbers

    def _opened(self, made: Packed) -> bytes:
        """This party's share; BadReport, or LateReport if its key is gone."""
        key = self._keys.find(wire.KEYS.unpack(made.keys)[self.party])
        if key is None:
            raise LateReport("Expected a share sealed to a key that is in use, got one whose key is gone.")
        return wire.share(self.task, self.party, made, key)

    def _only(self, party: int) -> None:
        if self.party != party:
            raise ValueError(f"Expected the {PARTIES[party]} to do this, got the {PARTIES[self.party]}.")


def refused(nonce: bytes) -> bytes:
    return messages.encode_reply(JobReply(nonce, REFUSED, bytes(SEED)))
