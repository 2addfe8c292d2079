"""What a claim about a person is for: in the words of a certificate."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reticent.privacy import relations
from reticent.privacy.ledger import Release

SEVERAL_WEEKS = (4, 52)  # for which a certificate that protects a person's week says what epsilon is


class PersonClaim(NamedTuple):
    """rounds: the most of one person that teach; in each week of so many choices, if there are weeks. over: what
    happens to the data of a person who teaches in so many weeks, where the claim is for one week."""

    rounds: int
    week: float | None = None
    over: Mapping[int, Sequence[Release]] = {}

    def unit(self, relation: str) -> str:
        what, who, when = f"at most {many(self.rounds, 'round')}", "one person", ""
        if self.week is not None:
            who, when = f"one person in one week of {self.week:g} choices or more", " answered in it"
        whose = "the rewards" if relations.of_rewards(relation) else "the arm sets and rewards"
        public = "; features and offered arms are public" if relations.of_rewards(relation) else ""
        return f"{who}: {whose} of {what}{when} (enforced: every choice has a person){public}"

    def relation(self, relation: str) -> str:
        return (relations.PERSON if self.week is None else relations.WEEK)[relation]


def many(count: int, of: str) -> str:
    """1 round, 2 rounds."""
    return f"{count} {of}" if count == 1 else f"{count} {of}s"
