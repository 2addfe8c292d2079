"""Many devices at once: for demonstrations, load tests and bulk uploads by one trusted gateway."""

import numpy as np
import numpy.typing as npt

from tacit import entropy
from tacit.client import wire
from tacit.client.device import Array
from tacit.errors import BadBillboard

Coins = npt.NDArray[np.int32]


class Fleet:
    """The reports of many users of one batch, each with its own rounding and coins from the operating system.

    The law of a report is Client's. Rounding compares the fractional part with 16 random bits, and where they are equal
    with 64 more; coins are the ones among `trials` random bits."""

    def __init__(self, billboard: bytes) -> None:
        self.parameters, document = wire.parameters(billboard)
        try:
            plan = document["plan"]
            wire.protected(plan)
            self._grid, self._norm = float(plan["grid"]), float(plan["norm"])
        except (KeyError, TypeError):
            raise BadBillboard("Expected a billboard of the shuffle model, got a damaged one.") from None

    def reports(self, vectors: Array) -> bytes:
        """From (n, m) finite contributions, one after another; those longer than the plan's norm are cut to it."""
        of = self.parameters
        if vectors.ndim != 2 or vectors.shape[1] != of.size or not (np.abs(vectors) < 1e100).all():
            raise ValueError(f"Expected finite contributions of shape (n, {of.size}), got others.")
        lengths = np.linalg.norm(vectors, axis=1)
        count = len(vectors)
        out = np.empty(count, of.record)
        out["magic"], out["version"], out["width"] = b"tR", wire.VERSION, np.dtype(of.dtype).itemsize
        out["batch"], out["digest"] = of.batch, np.frombuffer(of.digest, "<u8")
        out["size"], out["reach"], out["trials"] = of.size, of.reach, of.trials
        out["id"] = entropy.words(count)
        scaled = vectors * (self._grid * np.minimum(1.0, self._norm / np.maximum(lengths, self._norm)))[:, None]
        whole = np.floor(scaled)
        scaled -= whole
        rounded = whole.astype(np.int32)
        rounded += _below(scaled)
        np.clip(rounded, -of.reach, of.reach, out=rounded)
        rounded += of.reach
        rounded += self._coins(count)
        out["counts"] = rounded
        return out.tobytes()

    def _coins(self, count: int) -> Coins:
        trials, size = self.parameters.trials, self.parameters.size
        if trials > 16:
            return entropy.halves(trials, count * size).astype(np.int32).reshape(count, size)
        words = np.frombuffer(entropy.words((count * size + 3) // 4).tobytes(), "<u2")[: count * size]
        ones: Coins = np.bitwise_count(words & np.uint16((1 << trials) - 1)).astype(np.int32)
        return ones.reshape(count, size)


def _below(chances: Array) -> npt.NDArray[np.bool_]:
    """True with those probabilities, to 2^-53."""
    scaled = chances * 2.0**16
    first = np.floor(scaled)
    drawn = np.frombuffer(entropy.words((chances.size + 3) // 4).tobytes(), "<u2")[: chances.size].reshape(
        chances.shape
    )
    out: npt.NDArray[np.bool_] = drawn < first
    equal = np.nonzero(drawn == first)
    out[equal] = entropy.words(equal[0].size) * 2.0**-64 < (scaled - first)[equal]
    return out
