"""How far off any plan must be that knows a schema, a rate and a deadline, and not what people like:
`python -m tools.plan.floor`.

Every third family of `environments.random` that plans are judged on, with what nobody declares (how strong tastes are,
which fields matter, how fields depend on each other, interactions, drift) drawn anew TASTES times. Whoever foretells
one share for all of them is off by at least their spread: the best such number is their median."""

import sys
from dataclasses import dataclass

import numpy as np

from tacit.data import Array
from tacit.environments.drawn import WorldSetting, setting
from tacit.environments.random import random
from tacit.planning.trials import PEOPLE
from tools.plan.judge import TOLERANCE, question, read, shares

TASTES, RUNS, FIRST = 6, 4, 10_000  # FIRST: the numbers that tastes are drawn from
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


def main() -> None:
    numbers = sorted({row.number for row in read()})[::3]
    off = []
    for number in numbers:
        for row in spread(number):
            off += list(row - np.median(row))
        sys.stderr.write(f"{number}\n")
    error = np.abs(off)
    sys.stdout.write(
        f"{len(numbers)} families, {len(off)} numbers: within {TOLERANCE:g} of the median of their setting "
        f"{np.mean(error <= TOLERANCE):.0%}, within 0.1 {np.mean(error <= 0.1):.0%}; "
        f"median {np.median(error):.2f}, 95 % {np.quantile(error, 0.95):.2f}\n"
    )


if __name__ == "__main__":
    main()
