"""An aggregator's tables: its state, a row for each report that it has ever seen, and one for each step.

What is kept of a report's content is one share, which is uniform by itself, and goes once the report is decided, with
zeros written over it."""

from typing import NamedTuple

from reticent.errors import BadState
from reticent_serve.holders.database import Run
from reticent_two.aggregators.counter import ChainLink

TABLES = (
    "CREATE TABLE state (number INTEGER, chain TEXT, number_before INTEGER, chain_before TEXT, leader_half BLOB, "
    "helper_half BLOB, place INTEGER, step INTEGER, users INTEGER, reports INTEGER, open BLOB)",
    # digest: of what came; job, kept: until it is decided; verdict: NULL until then; reply: the helper's
    "CREATE TABLE reports (number INTEGER PRIMARY KEY, nonce BLOB UNIQUE NOT NULL, digest BLOB NOT NULL, step INTEGER, "
    "verdict INTEGER, job BLOB, kept BLOB, reply BLOB)",
    "CREATE INDEX reports_of_steps ON reports (step, nonce)",
    "CREATE INDEX undecided ON reports (number) WHERE verdict IS NULL",
    # share: of the exact sums, as long as releases need it; theirs: the other party's hash, said: as it has signed it
    "CREATE TABLE steps (step INTEGER PRIMARY KEY, reports INTEGER, certificate BLOB, share BLOB, leaf BLOB, "
    "theirs BLOB, said BLOB)",
)


class PartyState(NamedTuple):
    link: ChainLink
    before: ChainLink
    halves: tuple[bytes, bytes]
    place: int  # of the counter file
    step: int  # that is open
    users: int  # whose reports are in closed steps
    reports: int  # of the open step
    open: bytes  # this party's share of its sums

    def next(self, zeros: bytes) -> "PartyState":
        """Once the open step is closed."""
        return self._replace(step=self.step + 1, users=self.users + self.reports, reports=0, open=zeros)


class KnownReport(NamedTuple):
    """A report that was seen before."""

    digest: bytes
    verdict: int | None
    kept: bytes | None
    reply: bytes | None


class StepLeaf(NamedTuple):
    leaf: bytes
    theirs: bytes | None


def exist(run: Run) -> bool:
    return bool(run("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'state'"))


def create(run: Run, halves: tuple[bytes, bytes], zeros: bytes, place: int) -> None:
    """place: of the counter file."""
    for statement in TABLES:
        run(statement)
    run("INSERT INTO state VALUES (0, '', 0, '', ?, ?, ?, 0, 0, 0, ?)", *halves, place, zeros)


def state(run: Run) -> PartyState | None:
    """None for what is no state of an aggregator."""
    found = run("SELECT * FROM state") if exist(run) else []
    if len(found) != 1:
        return None
    number, chain, number_before, chain_before, leader, helper, *rest = found[0]
    return PartyState(ChainLink(number, chain), ChainLink(number_before, chain_before), (leader, helper), *rest)


def advance(run: Run, link: ChainLink) -> None:
    run("UPDATE state SET number_before = number, chain_before = chain, number = ?, chain = ?", *link)


def opened(run: Run, new: PartyState) -> PartyState:
    """Write what has changed of the open step."""
    run("UPDATE state SET step = ?, users = ?, reports = ?, open = ?", new.step, new.users, new.reports, new.open)
    return new


# reports


def known(run: Run, nonce: bytes) -> KnownReport | None:
    found = run("SELECT digest, verdict, kept, reply FROM reports WHERE nonce = ?", nonce)
    return KnownReport(*found[0]) if found else None


def wait(run: Run, nonce: bytes, digest: bytes, job: bytes, kept: bytes) -> None:
    run("INSERT INTO reports (nonce, digest, job, kept) VALUES (?, ?, ?, ?)", nonce, digest, job, kept)


def waiting(run: Run, most: int) -> list[bytes]:
    return [job for (job,) in run("SELECT job FROM reports WHERE verdict IS NULL ORDER BY number LIMIT ?", most)]


def decide(run: Run, nonce: bytes, step: int, verdict: int) -> None:
    """Nothing of the report's content stays."""
    run("UPDATE reports SET step = ?, verdict = ?, job = NULL, kept = NULL WHERE nonce = ?", step, verdict, nonce)


def answer(run: Run, nonce: bytes, digest: bytes, step: int, verdict: int, reply: bytes) -> None:
    run(
        "INSERT INTO reports (nonce, digest, step, verdict, reply) VALUES (?, ?, ?, ?, ?)",
        nonce,
        digest,
        step,
        verdict,
        reply,
    )


def nonces(run: Run, step: int) -> list[bytes]:
    """Of the reports that count in a step, sorted."""
    return [nonce for (nonce,) in run("SELECT nonce FROM reports WHERE step = ? AND verdict = 1 ORDER BY nonce", step)]


# steps


def close(run: Run, of: PartyState, share: bytes, certificate: bytes, leaf: bytes, gone: int) -> None:
    """gone: the step whose share no release needs any more, if there is one."""
    run("INSERT INTO steps VALUES (?, ?, ?, ?, ?, NULL, NULL)", of.step, of.reports, certificate, share, leaf)
    run("UPDATE steps SET share = NULL WHERE step = ?", gone)


def end(run: Run) -> None:
    """No release comes any more: the exact sums go."""
    run("UPDATE steps SET share = NULL WHERE share IS NOT NULL")


def erase(run: Run) -> None:
    """Of an era that is retired: all that is left of people, and the place, so that no counter file knows it."""
    end(run)
    run("UPDATE state SET open = NULL, place = NULL")
    run("UPDATE reports SET job = NULL, kept = NULL WHERE verdict IS NULL")


def shares(run: Run, step: int, window: int) -> list[bytes]:
    """Of the last steps before that one."""
    found = run("SELECT share FROM steps WHERE step >= ? AND step < ? ORDER BY step", step - window, step)
    return [share for (share,) in found]


def certified(run: Run, step: int) -> bytes:
    """The hash of a step's certificate; zeros before the first."""
    found = run("SELECT certificate FROM steps WHERE step = ?", step)
    return bytes(found[0][0]) if found else bytes(32)


def leaf(run: Run, step: int) -> StepLeaf:
    found = run("SELECT leaf, theirs FROM steps WHERE step = ?", step)
    if not found:
        raise BadState("Expected a step that is closed, got another.")
    return StepLeaf(*found[0])


def keep(run: Run, step: int, theirs: bytes, said: bytes) -> None:
    run("UPDATE steps SET theirs = ?, said = ? WHERE step = ?", theirs, said, step)
