"""How far off any plan must be that knows a schema, a rate and a deadline, and not what people like:
`python -m tools.plan.floor`.

First what the judged plans would be off by with another answer: the mean of weak, ordinary and strong tastes, or, in
hindsight, the one of five strengths that fits each world best (between two of them: their mean).
Then every sixth family of `environments.random` that plans are judged on, with what nobody declares (how strong tastes
are, which fields matter, how fields depend on each other, interactions, drift) drawn anew TASTES times. Whoever
foretells one share for all of them is off by at least their spread: the best such number is their median."""

import sys
from dataclasses import dataclass

import numpy as np

from reticent.data import Array
from reticent_lab.environments.drawn import WorldSetting, setting
from reticent_lab.environments.random import random
from reticent_serve.planning.trials import PEOPLE
from tools.plan.judge import TOLERANCE, Judged, question, read, shares

TASTES, RUNS, FIRST = 5, 4, 10_000  # FIRST: the numbers that tastes are drawn from
UNDECLARED = ("strength", "alone", "irrelevant", "dependent", "alike", "wrong", "drift")


@dataclass(frozen=True, kw_only=True)
class Otherwise(random):
    """That family, with the tastes of another number."""

    tastes: int

    @property
    def setting(self) -> WorldSetting:
        other = setting(self.tastes)._asdict()
        own = setting(self.number)
        wrong = "bend" if other["wrong"] == "interaction" and len(own.fields) < 2 else other["wrong"]
        return own._replace(**{name: other[name] for name in UNDECLARED} | {"wrong": wrong})


def spread(number: int) -> Array:
    """(numbers of people, tastes): the mean share of RUNS worlds."""
    ends = [n for n in PEOPLE if n <= random(number=number).horizon]
    found = []
    for taste in range(TASTES):
        world = Otherwise(number=number, tastes=FIRST + TASTES * number + taste)
        found.append(np.mean([shares(question(world), world, run, ends) for run in range(RUNS)], axis=0))
    return np.array(found).T


def told(error: Array) -> str:
    """How often an error is small, and how large it is."""
    return (
        f"within {TOLERANCE:g} {np.mean(error <= TOLERANCE):.0%}, within 0.1 {np.mean(error <= 0.1):.0%}; "
        f"median {np.median(error):.2f}, 95 % {np.quantile(error, 0.95):.2f}\n"
    )


def answers(rows: list[Judged]) -> dict[str, Array]:
    """By answer, how far off it was."""
    had = np.array([row.share for row in rows])
    weak, ordinary, strong = (np.array([row.said[name] for row in rows]) for name in ("weak", "ordinary", "strong"))
    strengths = np.array([weak, (weak + ordinary) / 2, ordinary, (ordinary + strong) / 2, strong])
    best, numbers = np.empty(len(rows)), np.array([row.number for row in rows])
    for number in np.unique(numbers):
        own = numbers == number
        best[own] = strengths[np.argmin(((strengths - had)[:, own] ** 2).mean(axis=1))][own]
    given = {
        "as it says": ordinary,
        "mean of three": (weak + ordinary + strong) / 3,
        "best of five, in hindsight": best,
    }
    return {name: np.abs(had - said) for name, said in given.items()}


def main() -> None:
    rows = read()
    for name, found in answers(rows).items():
        sys.stdout.write(f"{name}: {told(found)}")
    numbers = sorted({row.number for row in rows})[::6]
    off = []
    for number in numbers:
        for row in spread(number):
            off += list(row - np.median(row))
        sys.stderr.write(f"{number}\n")
    sys.stdout.write(f"{len(numbers)} families, tastes drawn anew, off their median: {told(np.abs(off))}")


if __name__ == "__main__":
    main()
