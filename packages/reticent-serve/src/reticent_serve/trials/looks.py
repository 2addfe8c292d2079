"""After which releases one looks: a public subset of them, so that few looks share the error.

The first look is at the first release with FIRST people of the holdout, each further one at the first release at which
they have grown by GROWTH. Between two looks the last interval stands; so whoever looks at any time, and stops when they
like, sees one of these looks, and it is enough that all of these hold at once. How many there can ever be follows from
the length of a block and from the number of choices that the noise is planned for (or the horizon, where one is given),
and the error is shared equally between them (`Bonferroni`): for 10 % holdout 96 looks at 10^12 choices, and 24 at
10^5."""

import math
from collections.abc import Sequence

FIRST, GROWTH = 50, 1.25
FARTHEST = 10**12  # choices, without a horizon


def most(share: float, horizon: int | None = None, *, coins: bool = False) -> int:
    """How many looks there can be where so many of all people are the holdout's; one more by coins, which may bring
    somewhat more of them than that."""
    controls = (horizon or FARTHEST) * share
    if controls <= FIRST:
        return 1 + coins
    return 1 + coins + math.floor(math.log(controls / FIRST) / math.log(GROWTH) + 1e-9)


def picked(controls: Sequence[int]) -> list[int]:
    """Which releases are looks, by the people of the holdout at each."""
    out: list[int] = []
    due = float(FIRST)
    for i, count in enumerate(controls):
        if count >= due:
            out.append(i)
            due = GROWTH * count
    return out
