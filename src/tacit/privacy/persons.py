"""What a claim about a person is for: in the words of a certificate."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tacit.privacy import relations
from tacit.privacy.ledger import Release

SEVERAL_WEEKS = (4, 52)  # for which a certificate that protects a person's week says what epsilon is


class PersonClaim(NamedTuple):
    """rounds: the most of one person that teach, or the most steps where rounds are averaged; in each week of so many
    choices, if there are weeks, and in at most `weeks` of them. over: what happens to the data of a person who teaches
    in so many weeks, where the claim is for one week."""

    rounds: int
    week: float | None = None
    weeks: int | None = None
    averaged: bool = False
    over: Mapping[int, Sequence[Release]] = {}

    def unit(self, relation: str) -> str:
        what, mean = f"at most {many(self.rounds, 'round')}", ""
        if self.averaged:
            what = f"all rounds that are answered in at most {many(self.rounds, 'step')}"
            mean = ", averaged in each step"
        who, when, long = "one person", "", f"{self.week:g} choices or more" if self.week else ""
        if self.week is not None and self.weeks is None:
            who, when = f"one person in one week of {long}", " of that week" if self.averaged else " answered in it"
        elif self.week is not None:
            when = f" a week of {long}, in at most {many(self.weeks or 1, 'week')}"
        whose = "the rewards" if relations.of_rewards(relation) else "the arm sets and rewards"
        public = "; features and offered arms are public" if relations.of_rewards(relation) else ""
        return f"{who}: {whose} of {what}{when}{mean} (enforced with person=, else assumed){public}"

    def relation(self, relation: str) -> str:
        return (relations.WEEK if self.week is not None and self.weeks is None else relations.PERSON)[relation]

    @property
    def assumed(self) -> str:
        """What is not enforced where a choice has no person."""
        limit = many(self.rounds, "step" if self.averaged else "round")
        return f"That nobody has more than {limit}{'' if self.week is None else ' a week'}"


def many(count: int, of: str) -> str:
    """1 round, 2 rounds."""
    return f"{count} {of}" if count == 1 else f"{count} {of}s"
