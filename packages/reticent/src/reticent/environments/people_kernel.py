"""People with fields: each has a value of every field, and a taste for each action."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.environments.worlds_kernel import place
from reticent.kernels.block import Block
from reticent.kernels.compile import inlined, kernel


class People(NamedTuple):
    """F fields of at most V values each, of which some make the vector of a person."""

    upto: Array  # (F, V): the chance of a value of that number or a smaller one
    slots: Integers  # (F, types): which part of [0, 1) the people of a hidden type have
    bound: float  # the chance that a field follows the type: 0 where fields are independent
    start: Integers  # (F,): where the numbers of a field begin in the vector, -1 if they are not in it
    numbers: Array  # (F, V, size): those numbers, by value
    constant: float  # the first number of the vector


@inlined
def draw_person(rng: Generator, people: People, out: Integers) -> None:
    """out[f] = the number of a value. A field that follows the hidden type lies in the type's slot of [0, 1); slots are
    a permutation of the types for each field, so that the law of a field alone does not depend on `bound`."""
    types = people.slots.shape[1]
    hidden = int(rng.random() * types)
    for f in range(out.size):
        follows = rng.random() < people.bound
        u = rng.random()
        if follows:
            u = (people.slots[f, hidden] + u) / types
        out[f] = 0
        while u >= people.upto[f, out[f]]:
            out[f] += 1


@inlined
def encode_person(people: People, person: Integers, out: Array) -> None:
    """out = the vector of that person, as the schema makes it."""
    out[:] = 0.0
    out[0] = people.constant
    for f in range(person.size):
        if people.start[f] >= 0:
            for i in range(people.numbers.shape[2]):
                if people.numbers[f, person[f], i] != 0.0:
                    out[people.start[f] + i] = people.numbers[f, person[f], i]


@kernel
def draw_people(rng: Generator, people: People, out: Integers) -> None:
    """out[n] = the numbers of the values of person n."""
    for n in range(out.shape[0]):
        draw_person(rng, people, out[n])


class Tastes(NamedTuple):
    """What each of K actions is to people: the sum of all that applies to a person."""

    alone: Array  # (K,): to everybody
    effects: Array  # (K, F, V): by the value of a field
    cross: Array  # (K, V, V): by the values of the first two fields together; empty: nothing


@inlined
def score(tastes: Tastes, a: int, person: Integers) -> float:
    out = float(tastes.alone[a])
    for f in range(person.size):
        out += tastes.effects[a, f, person[f]]
    if tastes.cross.size > 0:
        out += tastes.cross[a, person[0], person[1]]
    return out


@kernel
def fill_people(
    rng: Generator,
    block: Block,
    people: People,
    before: Tastes,
    after: Tastes,
    turn: float,
    clock: Integers,
    disjoint: bool,
) -> None:
    """Arms, noise and, in place of means, scores: those of `before`, which turn towards `after` by the angle `turn` a
    round. clock is changed."""
    person = np.empty(people.start.size, np.int64)
    z = np.empty(block.arms.shape[2] - 1 if disjoint else block.arms.shape[2] // block.arms.shape[1])
    for t in range(block.noise.size):
        draw_person(rng, people, person)
        encode_person(people, person, z)
        place(z, disjoint, block.arms[t])
        for a in range(block.arms.shape[1]):
            value = score(before, a, person)
            if turn > 0.0:
                value = np.cos(turn * clock[0]) * value + np.sin(turn * clock[0]) * score(after, a, person)
            block.means[t, a] = value
        block.noise[t] = rng.random()
        clock[0] += 1
