"""Worlds of logs, tables and people's ratings: each kernel fills a block with arms, their mean rewards and one noise
number a round, round by round in the same order of draws, so that how rounds are cut into blocks changes nothing."""

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.environments.worlds_kernel import ball_point, finish_round, place
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.linalg import copy
from reticent.model.links import IDENTITY


@kernel
def fill_constant(rng: Generator, block: Block, constant: float, theta: Array) -> None:
    """x = (constant, rest), rest uniform in the ball of the length that is left; all of x where the constant is 0.
    means[a] = <x_a, theta>, before any link."""
    skip, length = int(constant > 0.0), np.sqrt(1.0 - constant * constant)
    for t in range(block.noise.size):
        for a in range(block.arms.shape[1]):
            x = block.arms[t, a]
            x[0] = constant
            ball_point(rng, x[skip:])
            for i in range(skip, x.size):
                x[i] *= length
        finish_round(rng, block, t, theta, IDENTITY)


@kernel
def fill_rows(rng: Generator, block: Block, contexts: Array, classes: Integers) -> None:
    """Each arm has a random row's context in its own block of coordinates; arm a is worth 1 if a is the row's class."""
    for t in range(block.noise.size):
        row = int(rng.random() * contexts.shape[0])
        place(contexts[row], False, block.arms[t])
        for a in range(block.arms.shape[1]):
            block.means[t, a] = 1.0 if a == classes[row] else 0.0
        block.noise[t] = rng.random()


@kernel
def fill_log(block: Block, arms: Array, actions: Integers, rewards: Array, order: Integers, clock: Integers) -> None:
    """Logged rounds in the given order; a round's reward is known for its logged action only. After the last one come
    rounds whose logged action is none of the arms, so that they never count."""
    for t in range(block.noise.size):
        row = order[min(clock[0], order.size - 1)]
        copy(arms[row], block.arms[t])
        block.logged[t] = actions[row] if clock[0] < order.size else block.arms.shape[1]
        clock[0] += 1
        for a in range(block.means.shape[1]):
            block.means[t, a] = rewards[row]
        block.noise[t] = 0.0


@kernel
def fill_ratings(
    rng: Generator,
    block: Block,
    people: Array,
    films: Array,
    start: Integers,
    film: Integers,
    liked: Array,
    order: Integers,
) -> None:
    """A random person and K of the films that this person rated, no film twice; an arm is the outer product of film and
    person, and worth what the person said. order holds each person's ratings in the order of the last draw."""
    for t in range(block.noise.size):
        user = int(rng.random() * people.shape[0])
        first, count = start[user], start[user + 1] - start[user]
        for a in range(block.arms.shape[1]):
            place = first + a + int(rng.random() * (count - a))
            order[first + a], order[place] = order[place], order[first + a]
            rating = order[first + a]
            for i in range(films.shape[1]):
                for j in range(people.shape[1]):
                    block.arms[t, a, i * people.shape[1] + j] = films[film[rating], i] * people[user, j]
            block.means[t, a] = liked[rating]
        block.noise[t] = rng.random()
