"""What answers a choice on a database: the bandit draws an answer; where there is a control group, the number of the
choice, which is known only afterwards, says who plays."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.random import Generator

from tacit.algorithms.chances import mixed
from tacit.core.assignment import Assignment
from tacit.core.fold import Fold
from tacit.data import Array
from tacit.errors import BadState
from tacit.holders.requests import WRONG, Answer, ListItem, Request, listed
from tacit.model.chances import Chance, Later
from tacit.protocols import Algorithm

Drawn = tuple[Answer, Callable[[], float]]  # an answer, and what computes its propensity


@dataclass(frozen=True)
class Mixture:
    """What computes propensities where a control group plays some numbers: over all sides, so that they do not tell the
    side. Called, it is the bandit's own of the arm that it picked: of an answer without a number. RAW."""

    algorithm: Algorithm[Any]
    estimate: Any
    request: Request
    picked: int
    bandits: float
    others: Array

    def __repr__(self) -> str:
        return "<raw>"

    def __call__(self) -> float:
        return self.algorithm.chance(self.estimate, self.request.offer.arms, self.picked).value

    def of(self, index: int) -> Chance:
        """Of an arm of those that may be chosen."""
        arms = self.request.offer.arms
        return mixed(
            self.algorithm.chance(self.estimate, arms, index, chosen=False), index, (self.bandits, self.others)
        )

    @property
    def all(self) -> tuple[Chance, ...]:
        return tuple(self.of(index) for index in range(len(self.others)))


def draw(request: Request, fold: Fold, assignment: Assignment | None, policy: Generator) -> Drawn:
    """An answer at the present version, if it was not drawn before; none to a request that is refused."""
    if request.ahead is not None:
        return request.ahead, another_answer
    if request.problem is not None:
        return Answer(b"", fold.step, WRONG, None), another_answer
    arms = request.offer.arms
    found, items = fold.algorithm.pick(fold.estimate, arms[None], policy)[0], tuple[ListItem, ...]()
    if fold.algorithm.plan.places:
        items, found = listed(request.offer, found[: request.offer.top], fold.algorithm.plan.places), found[0]
    picked = int(found)
    place = request.offer.place(picked)
    answer = Answer(b"", fold.step, place, request.offer.name(place), items=items)
    if assignment is not None:
        parts = assignment.mixture(request.offer, request.own)
        return answer, Mixture(fold.algorithm, fold.estimate, request, picked, *parts)
    return answer, Later(functools.partial(fold.algorithm.chance, fold.estimate, arms, picked))


def by_side(
    assignment: Assignment, number: int, request: Request, answer: Answer, propensity: Callable[[], float]
) -> Drawn:
    """The answer of that number, for which the bandit drew one, and what computes its propensity."""
    offer = request.offer
    picked = answer.arm if offer.available is None else int(np.searchsorted(offer.available, answer.arm))
    index = assignment.played(number, offer, request.own, picked)
    place = offer.place(index)
    answer = answer._replace(arm=place, name=offer.name(place))
    if request.chances is not None:
        value, error = request.chances[index]
        return answer._replace(propensity=value, error=error), propensity
    if isinstance(propensity, Mixture):
        return answer, Later(lambda: propensity.of(index))
    return answer, propensity


def another_answer() -> NoReturn:
    raise BadState("Expected the propensity to be asked for with the first answer to a request, got a repeated one.")
