"""Many devices at once: for demonstrations, load tests and bulk uploads by one trusted gateway."""

import numpy as np

from tacit.data import Array, Exact
from tacit.errors import BadBillboard
from tacit.mechanisms.shuffle.encoding import PARTS, coded_rows, nothing_coded
from tacit.privacy import entropy
from tacit.roles import billboard as boards
from tacit.roles import limits, wire

ROWS = 4096  # reports made at a time: their numbers stay in the processor's cache


class Fleet:
    """The reports of many users of one batch, each with its own rounding and coins from the operating system.

    The law of a report is Client's."""

    def __init__(self, billboard: bytes) -> None:
        self.parameters, document = boards.batch(billboard)
        if "grid" not in document["plan"]:
            raise BadBillboard("Expected a billboard of numbers with coins for a fleet, got one of bits.")
        limits.cost(document, None)
        self._grid, self._norm = document["plan"]["grid"], document["plan"]["norm"]

    def reports(self, vectors: Array) -> bytes:
        """From (n, m) contributions, one after another; those longer than the plan's norm are cut to it, and those that
        are not finite numbers are sent as noise alone: one user's bad row does not keep back the others' reports."""
        of = self.parameters
        vectors = np.asarray(vectors, np.float64)  # squares of integers could wrap around
        if vectors.ndim != 2 or vectors.shape[1] != of.size:
            raise ValueError(f"Expected contributions of shape (n, {of.size}), got others.")
        good = (np.abs(vectors) < 1e100).all(axis=1, keepdims=True)
        if not good.all():
            vectors = np.where(good, vectors, 0.0)
        squares = np.einsum("ij,ij->i", vectors, vectors)
        out = np.empty(len(vectors), of.record)
        out[:] = np.frombuffer(wire.encode_report(of, bytes(8), nothing_coded(of.size)), of.record)
        out["id"] = entropy.words(len(vectors))
        factors = self._grid * PARTS * np.minimum(1.0, self._norm / np.sqrt(np.maximum(squares, self._norm**2)))
        for start in range(0, len(vectors), ROWS):
            piece = slice(start, start + ROWS)
            scaled = Exact(vectors[piece] * factors[piece, None])
            out["counts"][piece] = coded_rows(scaled, reach=of.reach, trials=of.trials)
        return out.tobytes()
