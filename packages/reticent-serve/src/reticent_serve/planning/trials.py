"""How many people until it is useful: the bandit itself, in a handful of worlds of a schema, or of vectors."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reticent import checks
from reticent.data import Array
from reticent.environments.base import Environment
from reticent.experiments.result import SimulatedRun
from reticent.experiments.runner import on_threads, run_once
from reticent.experiments.spec import Spec
from reticent.features.schema import Schema
from reticent.joint import JointGLM
from reticent.privacy.budget import Budget, Person
from reticent_serve.planning import crowd

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
YEAR = 365  # days, in which a plan is to pay
PEOPLE = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
RATE = 0.3  # of rewards of random actions, where nobody says
TASTES = {"weak": 0.25, "ordinary": 0.5, "strong": 1.0}  # standard deviation of log odds among a person's actions
ORDINARY = "ordinary"
WEIGHT = 2.0  # of the field that matters most
DAY = 86_400.0  # seconds
JUDGED = Path(__file__).parent / "judged.json"  # how far off it is: written by tools.plan.judge


class Size(NamedTuple):
    """worlds: of each row. most: rounds that are played in each. long: those of the row that is asked for, in the first
    `longer` worlds."""

    worlds: int
    most: int
    longer: int
    long: int


QUICK = Size(2, 10_000, 0, 0)


def full(dim: int) -> Size:
    """4 to 12 worlds, more of what takes little time: 4 from six actions of 25 numbers on."""
    return Size(min(12, max(4, 600 // dim)), 100_000, 2, 1_000_000)


@dataclass(frozen=True, kw_only=True)
class Question:
    """schema: of disjoint arms; without it dim numbers of a vector, and arms to choose from, which are drawn anew for
    everybody. radius: of vectors, the norm of theta*. rounds_per_person: those that are learnt from, and protected
    together. per_day: rounds a day. base_rate: the share of the range of rewards that random actions bring, as it is
    declared to the bandit; None if it is not. window: seconds after which a choice counts."""

    schema: Schema | None = None
    dim: int = 0
    arms: int = 0
    radius: float = 3.0
    epsilon: float = 1.0
    delta: float = 1e-6
    rounds_per_person: int = 1
    per_day: float | None = None
    base_rate: float | None = None
    window: float | None = None

    def __post_init__(self) -> None:
        checks.positive(epsilon=self.epsilon)
        checks.probability(delta=self.delta)
        checks.positive_int(rounds_per_person=self.rounds_per_person)
        if self.per_day is not None:
            checks.positive(per_day=self.per_day)
        if self.base_rate is not None:
            checks.probability(base_rate=self.base_rate)
        if self.window is not None:
            checks.positive(window=self.window)
            if self.per_day is None:
                raise ValueError("Expected per_day with window: a deadline costs the choices that are made meanwhile.")
        checks.positive(radius=self.radius)
        if self.schema is None:
            checks.positive_int(dim=self.dim, arms=self.arms)
            if self.arms < 2:
                raise ValueError(f"Expected at least 2 arms, got {self.arms}: there is nothing to choose.")
            if self.base_rate is not None:
                raise ValueError("Expected no base_rate with vectors: half of random arms are rewarded, got one.")
            return
        if self.schema.arms != "disjoint" or len(self.schema.offered) < 2:
            raise ValueError(
                "Not known: a plan for a schema is for two or more disjoint actions (arms = 'disjoint'), got "
                f"arms = {self.schema.arms!r} with {len(self.schema.offered)}. Simulate it (docs/product.md)."
            )
        object.__setattr__(self, "dim", self.schema.dim)
        object.__setattr__(self, "arms", len(self.schema.offered))

    @property
    def epsilons(self) -> list[float]:
        return sorted({*EPSILONS, self.epsilon})

    @property
    def rate(self) -> float:
        return (0.5 if self.schema is None else RATE) if self.base_rate is None else self.base_rate

    @property
    def later(self) -> int | None:
        """The window in later choices."""
        if self.window is None or self.per_day is None:
            return None
        return max(1, round(self.window / DAY * self.per_day))

    @property
    def year(self) -> int | None:
        """People in a year."""
        return None if self.per_day is None else round(YEAR * self.per_day / self.rounds_per_person)

    def days(self, people: float) -> float | None:
        return None if self.per_day is None else people * self.rounds_per_person / self.per_day

    def spec(self, epsilon: float) -> Spec:
        given: dict[str, Any] = {
            "base_rate": self.base_rate,
            "window": self.later,
            "default": None if self.later is None else 0.0,
        }
        unit = Person(self.rounds_per_person) if self.rounds_per_person > 1 else None
        return Spec(
            JointGLM,
            budget=Budget(epsilon, self.delta, unit),
            **{name: value for name, value in given.items() if value is not None},
        )


class Case(NamedTuple):
    """A row. left_out: a field that the bandit does not have, though it matters as before. alone: the bandit has
    one field, that which matters most in each world. weight: of that one, times what it has."""

    epsilon: float
    tastes: str = ORDINARY
    left_out: str = ""
    alone: bool = False
    weight: float = 1.0

    def schema(self, full: Schema, important: Sequence[str]) -> Schema:
        """What the bandit has, in a world where fields matter in that order."""
        gone = set(important[1:]) if self.alone else {self.left_out}
        left = crowd.without(full, gone)
        return left if self.weight == 1.0 else crowd.weighted(left, important[0], self.weight)


class Found(NamedTuple):
    """share: (worlds, PEOPLE), of those who come between n / 2 and n; NaN where it was not simulated."""

    case: Case
    share: Array

    @property
    def mean(self) -> list[float | None]:
        return _each(self.share, np.mean)

    @property
    def low(self) -> list[float | None]:
        return _each(self.share, np.min)

    @property
    def high(self) -> list[float | None]:
        return _each(self.share, np.max)

    def at(self, people: float) -> tuple[float, int]:
        """The mean share of people who come about then, a line between those that were simulated; and the number of
        people it is of: the nearest that was simulated."""
        known = self._known
        near = min(max(people, known[0][0]), known[-1][0])
        return float(np.interp(math.log(near), np.log([n for n, _ in known]), [s for _, s in known])), round(near)

    def after(self, share: float) -> int | None:
        """People until the mean share is that, at least PEOPLE[0]; None: it is not, as far as was simulated."""
        before: tuple[int, float] | None = None
        for n, reached in self._known:
            if reached >= share:
                if before is None:
                    return n
                part = (share - before[1]) / (reached - before[1])
                return round(before[0] * math.exp(part * math.log(n / before[0])))
            before = n, reached
        return None

    @property
    def most(self) -> int:
        """People that were simulated."""
        return self._known[-1][0]

    @property
    def _known(self) -> list[tuple[int, float]]:
        return [(n, share) for n, share in zip(PEOPLE, self.mean, strict=True) if share is not None]


class Forecast(NamedTuple):
    """rates: what random actions, the best one for all and the best one for each person earn, by tastes."""

    question: Question
    size: Size
    rates: dict[str, tuple[float, float, float]]
    found: list[Found]

    @property
    def floor(self) -> float:
        """The share that the best single action has."""
        random, single, best = self.rates[ORDINARY]
        return (single - random) / (best - random)

    def of(self, case: Case) -> Found:
        return next(each for each in self.found if each.case == case)

    @property
    def asked(self) -> Found:
        return self.of(Case(self.question.epsilon))


def cases(question: Question) -> list[Case]:
    own, rows = question.epsilon, [Case(epsilon) for epsilon in question.epsilons]
    if question.schema is None:
        return rows
    names = list(question.schema.context)
    rows += [Case(own, tastes=name) for name in TASTES if name != ORDINARY]
    if len(names) > 1:
        rows += [Case(own, left_out=name) for name in names]
        rows.append(Case(own, weight=WEIGHT))
        rows.append(Case(own, alone=True))
    return rows


def run(question: Question, size: Size, report: Callable[[float], None], only: Sequence[Case] = ()) -> Forecast:
    """All rows, or those. Worlds are the same in all of them, but for how strong tastes are."""
    rows = list(only) or cases(question)
    crowds = {
        tastes: [_world(question, i, TASTES[tastes]) for i in range(size.worlds)]
        for tastes in TASTES
        if any(row.tastes == tastes for row in rows)
    }
    tasks = [(row, world) for world in range(size.worlds) for row in rows]
    rounds = [_rounds(question, size, *task) for task in tasks]
    done: dict[int, SimulatedRun] = {}
    played = [0.0] * len(tasks)  # rounds
    todo = sorted(range(len(tasks)), key=lambda number: -rounds[number])

    def play(number: int, report: Callable[[float], None]) -> SimulatedRun:
        row, world = tasks[number]
        place = _place(question, row, crowds[row.tastes][world])

        def heard(share: float) -> None:
            played[number] = share * rounds[number]
            report(share)

        at = _ends(question, rounds[number])
        return run_once(question.spec(row.epsilon), place, rounds[number], 0, world, heard, None, at)

    def finished(number: int, made: SimulatedRun) -> None:
        done[number] = made

    on_threads(play, todo, finished, lambda _: report(sum(played) / sum(rounds)), workers=None)
    found = []
    for row in rows:
        own = [
            _shares(question, done[number], crowds[row.tastes][world])
            for number, (each, world) in enumerate(tasks)
            if each == row
        ]
        found.append(Found(row, np.array(own)))
    rates = {tastes: _rates(worlds) for tastes, worlds in crowds.items()}
    return Forecast(question, size, rates, found)


def _world(question: Question, number: int, strength: float) -> crowd.Crowd | crowd.Vectors:
    if question.schema is None:
        return crowd.vectors(question.dim, question.arms, question.radius)
    return crowd.drawn(question.schema, number, rate=question.rate, strength=strength)


def _place(question: Question, row: Case, here: crowd.Crowd | crowd.Vectors) -> Environment:
    """What the bandit of that row plays in."""
    if isinstance(here, crowd.Vectors):
        return here.place
    assert question.schema is not None
    schema = row.schema(question.schema, here.important)
    people = crowd.seen(here, question.schema, schema)
    return crowd.crowded(dim=schema.dim, arms=question.arms, radius=question.radius, schema=schema, crowd=people)


def _rounds(question: Question, size: Size, row: Case, world: int) -> int:
    """That are played: no more than the last number of people in them needs."""
    long = world < size.longer and row == Case(question.epsilon)
    most = size.long if long else size.most
    k = question.rounds_per_person
    return k * max([n for n in PEOPLE if n * k <= most], default=PEOPLE[0])


def _ends(question: Question, rounds: int) -> list[int]:
    """Rounds of which regret is needed: those of n / 2 and of n people."""
    ends = [n * question.rounds_per_person for n in PEOPLE if n * question.rounds_per_person <= rounds]
    return sorted({*ends, *(n // 2 for n in ends)})


def _shares(question: Question, made: SimulatedRun, world: crowd.Crowd | crowd.Vectors) -> list[float]:
    curve, gain = dict(zip(made.at, made.curve, strict=True)), world.best - world.random
    out = []
    for people in PEOPLE:
        end = people * question.rounds_per_person
        half = end // 2
        known = end in curve
        out.append(1 - (curve[end] - curve[half]) / ((end - half) * gain) if known else math.nan)
    return out


def _rates(worlds: Sequence[crowd.Crowd | crowd.Vectors]) -> tuple[float, float, float]:
    means = [(world.random, world.single, world.best) for world in worlds]
    random, single, best = np.mean(means, axis=0)
    return float(random), float(single), float(best)


def _each(share: Array, what: Callable[[Array], Any]) -> list[float | None]:
    columns = [column[~np.isnan(column)] for column in share.T]
    return [float(what(column)) if column.size else None for column in columns]
