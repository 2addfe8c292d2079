"""What waits in a database until it enters: sealed there, and closed here. All rows of a bandit are of the same length,
whatever is in them."""

import math
import struct
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tacit.data import Array, Raw
from tacit.errors import BadState
from tacit.mechanisms.entering import HASH, NOBODY
from tacit.mechanisms.opening import opened, sealed, unsealed

ROW = struct.Struct(f">?{HASH}s")  # whether it teaches, and whose it is or nobody's; numbers follow
NUMBER = struct.Struct(">d")

Seal = Callable[[bytes], bytes]
Unseal = Callable[[bytes], bytes | None]


class WaitingRow(NamedTuple):
    """What is kept of a choice."""

    numbers: Raw[Array]
    person: bytes = NOBODY  # whose rounds are counted when it enters
    teaches: bool = True

    def sealed(self, seal: Seal) -> bytes:
        return sealed(Raw(ROW.pack(self.teaches, self.person) + opened(self.numbers).tobytes()), seal)

    @classmethod
    def unsealed(cls, text: bytes, unseal: Unseal, size: int) -> "WaitingRow | None":
        """With so many numbers; None if its key is destroyed."""
        found = unsealed(text, unseal)
        if found is None:
            return None
        packed = opened(found)
        if len(packed) != ROW.size + 8 * size:
            raise BadState("Expected what is kept of this bandit's choices, got something else.")
        teaches, person = ROW.unpack_from(packed)
        numbers = np.frombuffer(packed, np.float64, offset=ROW.size)
        return cls(Raw(numbers), person, teaches)


def blank(packed: bytes) -> bytes:
    """A row that adds nothing, as long as that one."""
    return ROW.pack(False, NOBODY).ljust(len(packed), b"\0")


def sealed_reward(reward: Raw[float], seal: Seal) -> bytes:
    return sealed(Raw(NUMBER.pack(opened(reward))), seal)


def unsealed_reward(text: bytes, unseal: Unseal) -> Raw[float | None]:
    """NaN, as if it was cancelled, if its key is destroyed."""
    found = unsealed(text, unseal)
    return Raw(math.nan if found is None else float(NUMBER.unpack(opened(found))[0]))
