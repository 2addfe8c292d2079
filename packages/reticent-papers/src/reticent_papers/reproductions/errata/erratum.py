"""One place where a paper says something else than a computation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

KINDS = ("privacy broken", "statement false", "proof gap", "slip")  # from the worst


class Found(NamedTuple):
    """What a check computed, beside what is printed."""

    printed: str
    computed: str
    at: str  # the setting of both numbers, and where else it bites or does not
    holds: bool  # whether what is said is true there: then nothing is confirmed


@dataclass(frozen=True)
class Erratum:
    kind: str
    where: str
    said: str  # by the paper
    true: str
    here: str  # what this project does
    check: Callable[[], Found]
