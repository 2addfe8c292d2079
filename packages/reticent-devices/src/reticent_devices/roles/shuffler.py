"""The shuffler: between devices and server, trusted to forget who sent what, and for nothing else."""

from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from reticent import process
from reticent.data import Coded, Integers
from reticent.errors import BadBillboard, BadReport, BadState, BatchTooSmall, DuplicateReport, LateReport
from reticent.privacy import settings
from reticent.privacy.budget import Budget
from reticent.process import Lock, locked
from reticent_devices.mechanisms.shuffle.encoding import nothing_coded
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import limits, wire
from reticent_devices.roles.analyzer import check_shares, liars

CHUNK = 1 << 16  # reports summed at a time
REASONS = ("new", "duplicate", "version", "late", "wrong batch", "out of range")
NEW, DUPLICATE, VERSION, LATE, OTHER, BEYOND = range(len(REASONS))  # what a shuffler makes of a report
Verdicts = npt.NDArray[np.uint8]


class Intake(NamedTuple):
    """What reports add to a batch: their ids, sorted, their sum, and how many there are."""

    ids: npt.NDArray[np.uint64]
    sums: Coded
    reports: int

    @classmethod
    def without_ids(cls, sums: Coded, reports: int) -> "Intake":
        """Of reports that another shuffler has counted."""
        return cls(np.zeros(0, np.uint64), sums, reports)


class Shuffler:
    """Takes the reports of one batch and hands on nothing but their multiset: for each coordinate how many ones there
    are among how many bits, and the number of reports.

    It keeps sums and, to count a retry once, the reports' random ids (8 bytes each); no order, no sender, no report.
    `minimum`: below this many reports it hands on nothing, because their noise would not protect them; by default the
    server's number. `budget`: the operator's own limit. With it the epsilon of `minimum` reports is recomputed from the
    billboard's plan, less the users whom it takes for malicious, and a billboard above the budget is refused; `epsilon`
    is what was found. `malicious`: the share of reports that its operator cannot rule out to be the server's own; where
    the billboard plans for fewer of them, this counts. Where users answer several rounds it is that of all rounds
    together, and each round has a shuffler of its own. `planned`: the number of reports at which the server wants the
    batch."""

    def __init__(
        self,
        billboard: bytes,
        *,
        minimum: int | None = None,
        budget: Budget | None = None,
        malicious: float = 0.0,
        into: OpenBatch | None = None,
    ) -> None:
        if budget is not None:
            settings.check_budget(budget)
            budget.of_rounds(type(self).__name__)
        if minimum is not None and (type(minimum) is bool or not isinstance(minimum, int | np.integer) or minimum < 0):
            raise ValueError(f"Expected minimum to be a whole number, at least 0, got {minimum!r}.")
        self.parameters, document = self._opened(billboard)
        self.minimum: int = document["plan"]["minimum"] if minimum is None else int(minimum)
        self.planned: int = document["plan"]["users"]
        check_shares(0.0, malicious)
        self.epsilon: float | None = None if budget is None else _within(budget, document, self.minimum, malicious)
        size = self.parameters.size
        self._open = OpenBatch(np.zeros(1, np.int64), nothing_coded(size)) if into is None else into
        self._ids: list[npt.NDArray[np.uint64]] = []  # sorted arrays, each more than twice as long as the next
        self._recent: set[int] = set()
        self._handed: bytes | None = None
        self._lock, self._process = Lock(), process.process()

    def __reduce__(self) -> NoReturn:
        raise TypeError("Expected one shuffler for a batch, got pickle or copy: two batches that differ in one report.")

    @property
    def reports(self) -> int:
        return int(self._open.reports[0])

    @locked
    def add(self, report: bytes) -> None:
        """One report, or an error that names what is wrong with it; then nothing has changed."""
        self._still_open()
        identity, counts = wire.decode_report(report, self.parameters)
        if identity in self._recent or _held(self._ids, np.array([identity], np.uint64))[0]:
            raise DuplicateReport("Expected a new report, got one that has been counted.")
        self._recent.add(identity)
        if len(self._recent) > CHUNK:
            self._merge(np.sort(np.fromiter(self._recent, np.uint64, len(self._recent))))
            self._recent.clear()
        self._open.sums[:] += counts
        self._open.reports[0] += 1

    @locked
    def add_many(self, stream: bytes) -> dict[str, int]:
        """Reports one after another, in any number. Bad ones are refused alone: returns reason -> how many."""
        refused: dict[str, int] = {}
        length = self._whole(stream)
        for start in range(0, len(stream), CHUNK * length):
            intake, verdicts = self.check(stream[start : start + CHUNK * length])
            self.take(intake)
            for verdict in np.flatnonzero(np.bincount(verdicts, minlength=1)[1:]) + 1:
                refused[REASONS[verdict]] = refused.get(REASONS[verdict], 0) + int((verdicts == verdict).sum())
        return refused

    @locked
    def check(self, stream: bytes) -> tuple[Intake, Verdicts]:
        """What reports one after another would add, and for each of them its place in REASONS. Nothing has changed
        yet: whoever keeps a journal writes the intake there, then calls `take`."""
        rows = np.frombuffer(stream, self.parameters.record, len(stream) // self._whole(stream))
        counts, verdicts = np.ascontiguousarray(rows["counts"]), np.zeros(len(rows), np.uint8)
        if counts.max(initial=0) > self.parameters.slots or not self._alike(rows):
            verdicts = self._judged(rows)
        good = verdicts == NEW
        ids = np.sort(rows["id"] if good.all() else rows["id"][good])
        known = self._seen(ids)
        if known.any():
            at = np.flatnonzero(good)
            verdicts[at[np.argsort(rows["id"][at], kind="stable")][known]] = DUPLICATE  # of two alike the first is new
            good = verdicts == NEW
        sums = nothing_coded(self.parameters.size)
        sums[:] += _columns(counts if good.all() else counts[good])
        return Intake(ids[~known], sums, int(good.sum())), verdicts

    @locked
    def take(self, intake: Intake) -> None:
        """Count what `check` found, with no other reports taken in between; or what a journal kept of it."""
        self._still_open()
        self._merge(intake.ids)
        self._open.sums[:] += intake.sums
        self._open.reports[0] += intake.reports

    def _whole(self, stream: bytes) -> int:
        """Bytes of each report of a stream of whole ones."""
        self._still_open()
        if not isinstance(stream, bytes):
            raise BadReport(f"Expected the bytes of reports, got {type(stream).__name__}.")
        length = self.parameters.length
        if len(stream) % length:
            raise BadReport(f"Expected whole reports of {length} bytes each, got {len(stream)} bytes.")
        return length

    @locked
    def close(self) -> bytes:
        """The multiset, for the analyzer. However often it is asked for: the same bytes."""
        self._own()
        if self._handed is None:
            if self.reports < self.minimum:
                raise BatchTooSmall(
                    f"Expected at least {self.minimum} reports in a batch, got {self.reports} so far (a server with "
                    "dropout= plans for fewer)."
                )
            self._handed = wire.encode_batch(self.parameters, self.reports, self._sums())
        return self._handed

    def _opened(self, billboard: bytes) -> tuple[wire.Parameters, dict[str, Any]]:
        """What the batch's messages have in common, and the checked document."""
        return boards.batch(billboard)

    def _sums(self) -> Coded:
        """What is handed on."""
        return self._open.sums

    def _own(self) -> None:
        if self._process != process.process():
            if self.reports:
                raise BadState("Expected a shuffler in the process that used it, got a forked copy.")
            self._process = process.process()

    def _still_open(self) -> None:
        self._own()
        if self._handed is not None:
            raise LateReport(f"Expected a report before batch {self.parameters.batch} was closed, got one after.")

    def _alike(self, rows: npt.NDArray[np.void]) -> bool:
        """Whether all reports say what reports of this batch say, apart from their ids and counts."""
        of = self.parameters
        model = np.frombuffer(wire.encode_report(of, bytes(8), nothing_coded(of.size)), np.uint8)
        given = rows.view(np.uint8).reshape(len(rows), of.length)
        parts = slice(0, wire.ID_AT), slice(wire.ID_AT + 8, wire.REPORT.size)
        return all((given[:, part] == model[part]).all() for part in parts)

    def _seen(self, ids: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Which of the sorted ids have been counted, or are those before them."""
        out = _held(self._ids, ids)
        out[1:] |= ids[1:] == ids[:-1]
        if self._recent:
            out |= np.isin(ids, np.fromiter(self._recent, np.uint64, len(self._recent)))
        return out

    def _judged(self, rows: npt.NDArray[np.void]) -> Verdicts:
        """What is wrong with each report, apart from duplicates."""
        of = self.parameters
        other = (rows["batch"] != of.batch) | (rows["digest"] != np.frombuffer(of.digest, "<u8")).any(axis=1)
        other |= (rows["size"] != of.size) | (rows["reach"] != of.reach) | (rows["trials"] != of.trials)
        out = np.where(rows["counts"].max(axis=1) > of.slots, np.uint8(BEYOND), np.uint8(NEW))
        out[other] = OTHER
        out[rows["batch"] < of.batch] = LATE
        out[(rows["magic"] != b"tR") | (rows["version"] != wire.VERSION)] = VERSION
        return out

    def _merge(self, ids: npt.NDArray[np.uint64]) -> None:
        """Keep these ids, sorted."""
        self._ids.append(ids)
        while len(self._ids) > 1 and len(self._ids[-2]) <= 2 * len(self._ids[-1]):
            self._ids[-2:] = [np.sort(np.concatenate(self._ids[-2:]), kind="stable")]


def _within(budget: Budget, document: dict[str, Any], minimum: int, malicious: float) -> float:
    planned = document["plan"]
    given = planned | {"malicious": max(planned["malicious"], liars(planned["users"], malicious))}
    stricter = document | {"plan": given}
    limits.protected(stricter)
    spent = limits.spent(stricter, budget.delta, minimum)
    if not spent <= budget.epsilon * (1 + 1e-6):
        without = f" without the coins of {given['malicious']} of {given['users']} users" if given["malicious"] else ""
        raise BadBillboard(
            f"Expected a batch of epsilon at most {budget.epsilon:g} at delta {budget.delta:g}, "
            f"got {spent:.6g}{without}."
        )
    return spent


def _columns(counts: npt.NDArray[np.unsignedinteger[Any]]) -> Integers:
    """The sum of each column. 64 rows are put side by side: numpy adds long rows fast, short ones slowly."""
    size, whole = counts.shape[1], len(counts) // 64 * 64
    out: Integers = counts[whole:].sum(axis=0, dtype=np.int64)
    out += counts[:whole].reshape(-1, 64 * size).sum(axis=0, dtype=np.int64).reshape(64, size).sum(axis=0)
    return out


def _held(kept: list[npt.NDArray[np.uint64]], ids: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Which of ids are in one of the sorted arrays."""
    out = np.zeros(ids.size, np.bool_)
    for run in kept:
        if run.size:
            out |= run[np.minimum(np.searchsorted(run, ids), run.size - 1)] == ids
    return out
