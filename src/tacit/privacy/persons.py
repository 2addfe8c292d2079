"""What a claim about a person is for: in the words of a certificate."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

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

    @property
    def unit(self) -> str:
        what = f"all rounds that are answered in at most {_many(self.rounds, 'step')}"
        what, mean = (what, ", averaged in each step") if self.averaged else (f"at most {self.rounds} rounds", "")
        who, when, long = "one person", "", f"{self.week:g} choices or more" if self.week else ""
        if self.week is not None and self.weeks is None:
            who, when = f"one person in one week of {long}", " of that week" if self.averaged else " answered in it"
        elif self.week is not None:
            when = f" a week of {long}, in at most {_many(self.weeks or 1, 'week')}"
        return f"{who}: the arm sets and rewards of {what}{when}{mean} (enforced with person=, else assumed)"

    @property
    def relation(self) -> str:
        if self.week is not None and self.weeks is None:
            return "replace one person in the rounds that are answered in one week; all others may be chosen adaptively"
        return "replace one person in all rounds; the others may be chosen adaptively"

    @property
    def assumed(self) -> str:
        """What is not enforced where a choice has no person."""
        limit = f"{_many(self.rounds, 'step')}" if self.averaged else f"{self.rounds} rounds"
        return f"That nobody has more than {limit}{'' if self.week is None else ' a week'}"


def _many(count: int, of: str) -> str:
    return f"{count} {of}" if count == 1 else f"{count} {of}s"
