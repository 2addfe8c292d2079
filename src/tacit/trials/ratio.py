"""Whether sides are as planned. A trial whose sides are not of the sizes that were planned is broken somewhere,
whatever its interval says: the key, the numbers or the counting. Counts of sides depend on the key and on numbers
alone, so that they are public.

Blocks: each side has exactly its places. Coins: the holdout's count is binomial with its chance; the check fails for
sides that are right at one look with the probability ALARM / looks at most (by Bernstein's inequality), so ever with
ALARM."""

import math
from collections.abc import Sequence

ALARM = 1e-3


def problem(people: int, counts: Sequence[int], chances: Sequence[float], *, coins: bool, looks: int) -> str | None:
    """What is wrong at a look, in words."""
    for count, chance in zip(counts, chances, strict=True):
        planned = people * chance
        far = abs(count - planned)
        if far > (_far(planned * (1 - chance), looks * len(counts)) if coins else 1e-6 * people):
            return f"Expected {planned:.0f} people of {people} on a side, as planned, got {count}."
    return None


def _far(variance: float, tests: int) -> float:
    """t with 2 exp(-t^2 / (2 variance + 2 t / 3)) = ALARM / tests."""
    log = math.log(2 * tests / ALARM)
    return log / 3 + math.sqrt(log * log / 9 + 2 * variance * log)
