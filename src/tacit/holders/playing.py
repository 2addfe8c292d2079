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
from tacit.core.onepass import OnePass
from tacit.data import Array
from tacit.errors import BadState
from tacit.holders.requests import WRONG, Answer, Request
from tacit.model.chances import Chance, Later

Drawn = tuple[Answer, Callable[[], float]]  # an answer, and what computes its propensity


@dataclass(frozen=True)
class Mixture:
    """What computes the bandit's own propensities where a control group plays some numbers; the number says what they
    are mixed with (`by_side`). Called, it is that of the arm that was picked: of an answer without a number. RAW."""

    algorithm: OnePass
    estimate: Any
    request: Request
    picked: int

    def __repr__(self) -> str:
        return "<raw>"

    def __call__(self) -> float:
        return self.algorithm.chance(self.estimate, self.request.offer.arms, self.picked).value

    def of(self, index: int) -> Chance:
        """Of an arm of those that may be chosen."""
        return self.algorithm.chance(self.estimate, self.request.offer.arms, index, chosen=False)

    @property
    def all(self) -> tuple[Chance, ...]:
        return tuple(self.of(index) for index in range(len(self.request.offer.arms)))


class SidePropensity(Later):
    """The propensity of an answer of some number. mixture: what it was drawn with, for another number. RAW."""

    def __init__(self, mixture: Mixture, index: int, parts: tuple[float, Array]) -> None:
        super().__init__(lambda: mixed(mixture.of(index), index, parts))
        self.mixture = mixture


def draw(request: Request, fold: Fold, assignment: Assignment | None, policy: Generator) -> Drawn:
    """An answer at the present version, if it was not drawn before; none to a request that is refused."""
    if request.ahead is not None:
        return request.ahead, another_answer
    if request.problem is not None:
        return Answer(b"", fold.step, WRONG, None), another_answer
    arms = request.offer.arms
    picked = int(fold.algorithm.pick(fold.estimate, arms[None], policy)[0])
    place = request.offer.place(picked)
    answer = Answer(b"", fold.step, place, request.offer.name(place))
    if assignment is not None:
        return answer, Mixture(fold.algorithm, fold.estimate, request, picked)
    return answer, Later(functools.partial(fold.algorithm.chance, fold.estimate, arms, picked))


def by_side(
    assignment: Assignment, number: int, request: Request, answer: Answer, propensity: Callable[[], float]
) -> Drawn:
    """The answer of that number, for which the bandit drew one, and what computes its propensity: over all sides, so
    that it does not tell the side. Tried again, it has another number: that goes by what the bandit drew, too."""
    offer, arm = request.offer, answer.arm if request.ahead is None else request.ahead.arm
    picked = arm if offer.available is None else int(np.searchsorted(offer.available, arm))
    if isinstance(propensity, SidePropensity):
        propensity = propensity.mixture
    if isinstance(propensity, Mixture):
        picked = propensity.picked
    index = assignment.played(number, offer, request.own, picked)
    parts = assignment.mixture(number, offer, request.own)
    place = offer.place(index)
    answer = answer._replace(arm=place, name=offer.name(place))
    if request.chances is not None:
        value, error = mixed(request.chances[index], index, parts)
        return answer._replace(propensity=value, error=error), propensity
    if isinstance(propensity, Mixture):
        return answer, SidePropensity(propensity, index, parts)
    return answer, propensity


def another_answer() -> NoReturn:
    raise BadState("Expected the propensity to be asked for with the first answer to a request, got a repeated one.")
