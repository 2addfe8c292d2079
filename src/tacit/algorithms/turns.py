"""Turns of a person: rounds that teach, at least a week from each other.

A person has at most `most` rounds in any week, wherever it begins, and most * weeks in all. The i-th round is in row
i mod most of turns: two that follow each other in a row start in steps that are planned a week or more apart, so that
there are at least `fewest_leaves` leaves from one to the other (algorithms.weeks), and each row has at most `weeks`
turns. That is what mechanisms.turns assumes, of both worlds alike.

Nothing else would do for a promise to a person for ever: in a calendar week the last leaf of one week and the first of
the next are neighbours. And the rule is for nothing less than for ever: a turn that comes later in one world makes the
next one later, too, so that a change in one week may move all turns that follow."""

import struct
from collections.abc import MutableMapping

from tacit.kernels.rounds import Schedule, next_boundary

PLACE = struct.Struct(">II")  # the life of a bandit, and the row


class Turns:
    """Public; what is counted is raw. had: of each person, by hash, the number of rounds, and under `places` the step
    from which on each row has its next turn; 0 where there is nothing. life: of the steps (an incarnation)."""

    def __init__(self, schedule: Schedule, week: float, most: int, weeks: int, life: int = 0) -> None:
        self._schedule, self._length, self._most, self._weeks, self._life = schedule, week, most, weeks, life
        self._step = self._start = self._next = self._end = 0

    def places(self, person: bytes) -> list[bytes]:
        return [person + PLACE.pack(self._life, row) for row in range(self._most)]

    def once_more(self, had: MutableMapping[bytes, int], person: bytes, step: int) -> bool:
        """Whether a choice of that person teaches that enters that step. It is counted."""
        place = person + PLACE.pack(self._life, had[person] % self._most)
        if had[person] >= self._most * self._weeks or step < had[place]:
            return False
        had[person], had[place] = had[person] + 1, self.after(step)
        return True

    def after(self, step: int) -> int:
        """The first step that is planned to start a week or more after that one. Asked for one step after the other,
        this is a look at the next."""
        if step < self._step:
            self._step = self._start = self._next = self._end = 0
        while self._step < step:
            self._step, self._start = self._step + 1, self._following(self._start)
        while self._end - self._start < self._length:
            self._next, self._end = self._next + 1, self._following(self._end)
        return self._next

    def _following(self, boundary: int) -> int:
        return int(next_boundary(boundary, *self._schedule))
