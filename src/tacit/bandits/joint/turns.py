"""What a person may teach, counted when answers come: so many rounds a week, or all rounds of so many steps.

An answer joins the step that is open when it comes, and counts there: in that step's week, and once for the step
where a person's rounds are averaged. A choice that is never answered uses up nothing. Whether an answer teaches
depends on the same person's earlier answers and on public numbers, and on nobody else.

Averages. Within one step all answers are linearised at the same public estimate. A person's n answers v_1, ..., v_n
in a step count as their mean, which lies between them: it is at most D from any other mean, and |m|^2 + |m'|^2 <=
D^2 as for single contributions, since both sides are convex. So a person moves the step by at most D, however many
rounds there were, and the noise is made for the number of steps. In the regression each of the n rounds has weight 1
/ n: E[b - A theta*] = 0 as before, given arms and n. (Where n itself depends on the rewards, as when who is pleased
comes back sooner, it is biased towards those who come rarely; without averages it would be towards those who come
often.)
Memory: one vector for each person in the open step."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from tacit.bandits.joint.weeks import Weeks
from tacit.data import Array


class Mean(NamedTuple):
    """RAW. Of a person's contributions to the open step."""

    rounds: int
    total: Array

    @property
    def value(self) -> Array:
        out: Array = self.total / max(1, self.rounds)
        return out


class Turns:
    """RAW. most: rounds of a person, or steps where they are averaged (`join`); in each week, if there are weeks, and
    in `most_weeks` of them. People are known by their hashes."""

    def __init__(self, most: int, *, weeks: Weeks | None, most_weeks: int | None) -> None:
        self._most, self._weeks, self._most_weeks = most, weeks, most_weeks
        self._step = self._week = 0
        self._used: Counter[bytes] = Counter()  # of this week, or ever
        self._taught: Counter[bytes] = Counter()  # weeks
        self._open: dict[bytes, Mean] = {}

    def teaches(self, person: bytes, step: int) -> bool:
        """Whether an answer that comes in that step counts; it is counted."""
        self.move(step)
        if person in self._open:  # averaged with the others
            return True
        if self._used[person] >= self._most:
            return False
        if self._weeks is not None and self._most_weeks is not None and not self._used[person]:
            if self._taught[person] >= self._most_weeks:
                return False
            self._taught[person] += 1
        self._used[person] += 1
        return True

    def join(self, person: bytes, v: Array) -> tuple[Array, Array]:
        """The mean of the person's contributions to the open step before and after this one."""
        old = self._open.get(person) or Mean(0, np.zeros(v.size))
        self._open[person] = new = Mean(old.rounds + 1, old.total + v)
        return old.value, new.value

    def move(self, step: int) -> None:
        """That step is open now: what was raw in the one before is dropped."""
        if step == self._step:
            return
        self._step = step
        self._open.clear()
        if self._weeks is not None and self._weeks.of(step) != self._week:
            self._week = self._weeks.of(step)
            self._used.clear()

    def document(self) -> dict[str, Any]:
        """For the saved file."""
        means = {person.hex(): [mean.rounds, mean.total.tolist()] for person, mean in self._open.items()}
        counts = ({person.hex(): n for person, n in part.items() if n} for part in (self._used, self._taught))
        used, taught = counts
        return {"step": self._step, "week": self._week, "used": used, "taught": taught, "open": means}

    def restore(self, document: dict[str, Any]) -> None:
        self._step, self._week = document["step"], document["week"]
        for part, name in ((self._used, "used"), (self._taught, "taught")):
            part.clear()
            part.update({bytes.fromhex(person): n for person, n in document[name].items()})
        self._open = {bytes.fromhex(p): Mean(n, np.array(total)) for p, (n, total) in document["open"].items()}
