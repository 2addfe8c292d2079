"""Bytes between device, shuffler and server. Every message says its version, batch and public parameters.

A report: header, then one unsigned number per coordinate (1, 2 or 4 bytes, as the slots need). A batch: header, then
the sum of each coordinate in 8 bytes. Counts, not bits: shuffled, the bits of a coordinate carry exactly their
count."""

import hashlib
import struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reticent.data import Coded, Sent
from reticent.errors import BadReport, LateReport, WrongBatch
from reticent_devices.mechanisms.shuffle import encoding

VERSION = 4
DIGEST = 16  # bytes
REPORT = struct.Struct("<2sBBQ16s8sHII")  # magic, version, bytes a number, batch, parameters, id, size, reach, trials
PLACE = slice(4, 28)  # of a report: its batch's number and the digest of the billboard
ID_AT = 28  # where the 8 bytes of a report's id are
BATCH = struct.Struct("<2sBBQ16sQHII")  # magic, version, 8, batch, parameters, reports, size, reach, trials
LARGEST = (1 << 16) - 1  # numbers of a report at most
LIMIT = 1 << 32  # counts are below
EXACT = 1 << 53  # sums are at most: servers compute with doubles


class Parameters(NamedTuple):
    """What the messages of one batch have in common; `digest` is of the whole billboard."""

    batch: int
    digest: bytes
    size: int
    reach: int
    trials: int

    @property
    def slots(self) -> int:
        return 2 * self.reach + self.trials

    @property
    def dtype(self) -> npt.DTypeLike:
        return "<u1" if self.slots < 1 << 8 else "<u2" if self.slots < 1 << 16 else "<u4"

    @property
    def length(self) -> int:
        """Bytes of one report."""
        return REPORT.size + self.size * np.dtype(self.dtype).itemsize

    @property
    def record(self) -> np.dtype[Any]:
        """A report as a NumPy record."""
        names = ["magic", "version", "width", "batch", "digest", "id", "size", "reach", "trials", "counts"]
        kinds = ["S2", "u1", "u1", "<u8", ("<u8", (2,)), "<u8", "<u2", "<u4", "<u4", (self.dtype, (self.size,))]
        return np.dtype(list(zip(names, kinds, strict=True)))


def digest(billboard: bytes) -> bytes:
    return hashlib.sha256(billboard).digest()[:DIGEST]


def encode_report(of: Parameters, identity: bytes, counts: Coded) -> Sent:
    if counts.shape != (of.size,) or counts.min() < 0 or counts.max() > of.slots or of.slots >= LIMIT:
        raise ValueError(f"Expected {of.size} counts in [0, {of.slots}], below 2^32, got others.")
    width = np.dtype(of.dtype).itemsize
    head = (b"tR", VERSION, width, of.batch, of.digest, identity, of.size, of.reach, of.trials)
    return encoding.packed(REPORT.pack(*head), counts, of.dtype)


def decode_report(data: bytes, of: Parameters) -> tuple[int, Coded]:
    """(id, counts) of a report that belongs to the batch `of`, or an error that names what is wrong."""
    identity = _own(data, REPORT, b"tR", "report", of)
    if len(data) != of.length:
        raise BadReport(f"Expected a report of {of.length} bytes, got {len(data)}.")
    counts = encoding.unpacked(data, of.dtype, of.size, REPORT.size)
    if (counts > of.slots).any():
        raise BadReport(f"Expected counts in [0, {of.slots}], got one outside.")
    return int.from_bytes(identity, "little"), counts


def number_in(report: bytes) -> int:
    """Of the batch that a report is for; BadReport if it is none."""
    if len(report) < REPORT.size or report[:2] != b"tR":
        raise BadReport("Expected a report, got something else or a truncated one.")
    number: int = REPORT.unpack_from(report)[3]
    return number


def encode_batch(of: Parameters, reports: int, sums: Coded) -> bytes:
    if sums.shape != (of.size,) or sums.min() < 0 or sums.max() > reports * of.slots:
        raise ValueError(f"Expected {of.size} sums in [0, {reports * of.slots}], got others.")
    head = (b"tB", VERSION, 8, of.batch, of.digest, reports, of.size, of.reach, of.trials)
    return BATCH.pack(*head) + sums.astype("<i8").tobytes()


def decode_batch(data: bytes, of: Parameters) -> tuple[int, Coded]:
    """(reports, sums) of a shuffled batch that belongs to `of`, or an error that names what is wrong."""
    reports: int = _own(data, BATCH, b"tB", "shuffled batch", of)
    if len(data) != BATCH.size + 8 * of.size:
        raise BadReport(f"Expected a batch of {BATCH.size + 8 * of.size} bytes, got {len(data)}.")
    if reports * of.slots > EXACT:
        raise BadReport("Expected a batch whose sums are exact as doubles, got more reports than that.")
    sums = encoding.unpacked(data, "<i8", of.size, BATCH.size)
    if (sums < 0).any() or (sums > reports * of.slots).any():
        raise BadReport(f"Expected sums in [0, {reports * of.slots}] for {reports} reports, got one outside.")
    return reports, sums


def _own(data: bytes, layout: struct.Struct, magic: bytes, what: str, of: Parameters) -> Any:
    """What only the head of this message says (an id, a number of reports), once all the rest of it is as `of` has
    it."""
    if not isinstance(data, bytes) or len(data) < layout.size or data[:2] != magic:
        raise BadReport(f"Expected a {what}, got something else or a truncated one.")
    _, version, _, batch, parameters, own, *sizes = layout.unpack_from(data)
    if version != VERSION:
        raise BadReport(f"Expected a {what} of version {VERSION}, got version {version}.")
    if batch < of.batch:
        raise LateReport(f"Expected a {what} for batch {of.batch}, got one for an earlier batch.")
    if (batch, parameters, *sizes) != (of.batch, of.digest, of.size, of.reach, of.trials):
        raise WrongBatch(f"Expected a {what} for batch {of.batch} as its billboard says, got one for another.")
    return own
