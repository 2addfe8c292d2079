"""One place where a paper says something else than a computation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    where: str
    said: str  # by the paper, in words
    printed: str  # the number that goes with it
    computed: str
    at: str  # the setting of both numbers
    holds: bool  # whether what is said is true there
