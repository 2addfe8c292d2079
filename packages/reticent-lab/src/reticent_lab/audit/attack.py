"""What an attack is: two worlds that differ in one user, what the adversary sees, and a score.

This is the extension point: a new mechanism is audited by writing an `Attack` (docs/attack.md has a worked example)."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from reticent import checks
from reticent.data import Array

FAMILIES = ("gaussian", "general")


@dataclass(frozen=True, kw_only=True)
class Attack:
    """An attempt to tell two neighbouring worlds apart, against the claim (epsilon, delta).

    name: kebab-case, shown and selectable on the command line.
    view: what the adversary sees, e.g. "all releases", "later actions", "one report", "shuffled counts".
    claimed: False for a planted bug, or for something that is labelled not private.
    how: one sentence: the neighbours, the canary, the score.
    scores: (world 0 or 1, runs, rng) -> one score a run; larger = more like world 1. Runs are independent.
    family: "gaussian" where the claim rests on mu-GDP (kept by all post-processing): mu is bounded from the errors of
    one threshold, and epsilon follows from the exact curve at delta. "general": (epsilon, delta) from one event.
    exact: for discrete laws, delta(epsilon) of this pair by enumeration, the worse of both directions; then nothing is
    estimated, and `scores` are for the picture.
    share: of the runs asked for: below 1 for attacks that are slow, above 1 where a small delta needs more.
    fewest: at least so many runs, for a slow attack that tells nothing with fewer.
    """

    name: str
    view: str
    epsilon: float
    delta: float
    claimed: bool = True
    how: str
    scores: Callable[[int, int, Generator], Array]
    family: str = "general"
    exact: Callable[[float], float] | None = None
    share: float = 1.0
    fewest: int = 1

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise ValueError(f"Expected a name in kebab-case, got {self.name!r}.")
        checks.positive(epsilon=self.epsilon, share=self.share)
        checks.positive_int(fewest=self.fewest)
        checks.non_negative(delta=self.delta)
        checks.one_of(FAMILIES, family=self.family)
        if self.delta >= 1 or (self.delta == 0 and self.family == "gaussian"):
            raise ValueError(f"Expected delta in [0, 1), and above 0 for Gaussian noise, got {self.delta!r}.")

    def runs(self, asked: int) -> int:
        """Runs of each world when `asked` are asked for."""
        return max(self.fewest, math.ceil(self.share * asked))
