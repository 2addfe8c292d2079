"""One pass where a person is shown a list (positions=): what is released is the sums of y y' over all places, by their
public weights, and of r y, y the features with a constant before them (model.lists).

The estimate is that of onepass.centred around 0: the chance of a click in the first place is taken to be linear in y,
and that in place j to be w_j times as large. A list is one Thompson draw, sorted: its first items are those of the
largest chance under the draw. Places are taken to differ by their weights alone: that an item is clicked less because
of what stands above it is not modelled.

Items that come and go share their features, which is what is learnt; nothing is kept of an item by its name."""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from tacit.algorithms.chances import Values
from tacit.algorithms.onepass import centred
from tacit.algorithms.onepass.lists_kernel import list_rounds
from tacit.data import Array, Integers, Raw, Released
from tacit.features.schema import Schema
from tacit.kernels.block import Block
from tacit.kernels.continual import JointState, PrefixState
from tacit.kernels.glm import Posterior
from tacit.kernels.lists import Listed, draw_lists, each_lists, keep_list, sum_lists
from tacit.kernels.rounds import Held
from tacit.model.centred import CONSTANT
from tacit.model.lists import ListContribution, check_positions
from tacit.protocols import Adder, Plan

if TYPE_CHECKING:
    from tacit.algorithms.onepass.algorithm import OnePass

STATISTIC = "products of features over the places of a list, and rewards times features, cut as a whole"
GROWTH, DISCOUNT, PER_SIGMA = centred.GROWTH, centred.DISCOUNT, centred.PER_SIGMA
CAVEAT = (
    "The weights of places were given as public (positions=): the people behind these numbers, if any, are not "
    "protected."
)


def check(positions: Any, *, rewards: tuple[float, float], others: dict[str, bool]) -> Any:
    """The weights of places, None where no lists are shown; ValueError for what does not go with them. others: that,
    by name, and whether it is given."""
    if positions is None:
        return None
    for name, given in others.items():
        if given:
            raise ValueError(f"Expected positions with vectors or features of shared arms alone, got {name} beside it.")
    if tuple(map(float, rewards)) != (0.0, 1.0):
        raise ValueError(f"Expected rewards=(0, 1) with positions, where each place has a reward, got {rewards!r}.")
    return check_positions(positions)


def contribution(schema: Schema | None, positions: tuple[float, ...], **parts: Any) -> ListContribution:
    return ListContribution.of(positions=positions, **centred.constant(schema), **parts)


def blank(of: "OnePass", live: Integers) -> Posterior:
    return centred.blank(of, live)


def fit(of: "OnePass", released: Released, step: int, live: Integers, posterior: Posterior) -> None:
    centred.fit(of, released, step, live, posterior)


def with_places(plan: Plan, places: int) -> Plan:
    """What is kept of a choice: for each place 1 and the features of its item."""
    return dataclasses.replace(plan, row=places * (plan.width + 1), places=places)


# choices


def pick(of: "OnePass", posterior: Posterior, arms: Array, rng: Generator) -> Integers:
    """(n, places): for each user the arms to show, best first."""
    return drawn(of, posterior, arms, rng, random=False)


def drawn(of: "OnePass", posterior: Posterior, arms: Array, rng: Generator, *, random: bool) -> Integers:
    out = np.empty((len(arms), min(of.plan.places, arms.shape[1])), np.int64)
    draw_lists(rng, arms, posterior, of.plan.places, random, out)
    return out


def values(of: "OnePass", posterior: Posterior, arms: Array) -> Values:
    """For the chance of the first place."""
    return centred.values(of, posterior, arms)


def beliefs(of: "OnePass", posterior: Posterior, arms: Array, level: float) -> tuple[Array, Array]:
    """Of the chance in the first place; what centred.beliefs adds for chances that are not linear is here the distance
    from what is usual now."""
    middle, half = centred.beliefs(of, posterior, arms, level)
    return middle, half - np.abs(middle) + np.abs(middle - CONSTANT * posterior.centre[0])


# contributions


def row(of: "OnePass", arms: Array, shown: Integers) -> Raw[Array]:
    out = np.empty(of.plan.row)
    keep_list(arms, np.asarray(shown, np.int64), out)
    return Raw(out)


def adder(of: "OnePass", posterior: Posterior) -> Adder:
    return Adder(each_lists, sum_lists, (numbers(of), np.arange(contribution_of(of).size)[None], of.tally))


def numbers(of: "OnePass") -> Listed:
    c = contribution_of(of)
    return Listed(of.plan.dim, c.skip, c.longest, np.array(c.positions), c.bound, c.scale)


def contribution_of(of: "OnePass") -> ListContribution:
    assert isinstance(of.contribution, ListContribution)
    return of.contribution


def play(
    of: "OnePass",
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    live: Integers,
) -> None:
    count, random = len(block.noise), state.prefix.noise.step[0] == 0
    rows, codes, positions = np.empty((count, of.plan.row)), np.empty(count), numbers(of).positions
    entered = list_rounds(policy, block, held, state, positions, bool(random), rows, codes)
    add = of.form.adder(of, state.estimate)
    add.each(rows[:entered], codes[:entered], *add.given, state.prefix.open)
