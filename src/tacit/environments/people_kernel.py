"""People with fields: each is a value of every field, and is worth something with each action."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from tacit.data import Array, Integers
from tacit.environments.worlds_kernel import place
from tacit.kernels.block import Block
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.formulas import link_mean
from tacit.model.links import Code


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


@kernel
def fill_people(
    rng: Generator, block: Block, people: People, alone: Array, effects: Array, scale: float, apart: bool, link: Code
) -> None:
    """Action a is worth scale mu(alone[a] + sum over fields f of effects[a, f, value of f])."""
    person, z = np.empty(people.start.size, np.int64), np.empty(block.arms.shape[2] - 1)
    if not apart:
        z = np.empty(block.arms.shape[2] // block.arms.shape[1])
    for t in range(block.noise.size):
        draw_person(rng, people, person)
        encode_person(people, person, z)
        place(z, apart, block.arms[t])
        for a in range(alone.size):
            value = alone[a]
            for f in range(person.size):
                value += effects[a, f, person[f]]
            block.means[t, a] = scale * link_mean(link, value)
        block.noise[t] = rng.random()
