"""How often a person may teach in a week, counted when answers come.

An answer joins the step that is open when it comes, and counts in that step's week. A choice that is never answered
uses up nothing. Whether an answer teaches depends on the same person's earlier answers and on public numbers, and on
nobody else."""

from collections import Counter
from typing import Any

from tacit.algorithms.weeks import Weeks


class Turns:
    """RAW. most: rounds of a person in each week. People are known by their hashes."""

    def __init__(self, most: int, weeks: Weeks) -> None:
        self._most, self._weeks = most, weeks
        self._week = 0
        self._used: Counter[bytes] = Counter()  # of this week

    def teaches(self, person: bytes, step: int) -> bool:
        """Whether an answer that comes in that step counts; it is counted."""
        self.move(step)
        if self._used[person] >= self._most:
            return False
        self._used[person] += 1
        return True

    def move(self, step: int) -> None:
        """That step is open now: what was counted in an earlier week is dropped."""
        week = self._weeks.of(step)
        if week != self._week:
            self._week = week
            self._used.clear()

    def document(self) -> dict[str, Any]:
        """For the saved file."""
        return {"week": self._week, "used": {person.hex(): n for person, n in self._used.items() if n}}

    def restore(self, document: dict[str, Any]) -> None:
        self._week = document["week"]
        self._used = Counter({bytes.fromhex(person): n for person, n in document["used"].items()})
