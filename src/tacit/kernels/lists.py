"""Lists: which items are shown in which places, and the contributions of those who saw them, as in kernels.summing."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from tacit.data import Array, Exact, Integers
from tacit.kernels.compile import kernel
from tacit.kernels.formulas import add_list
from tacit.kernels.glm import Posterior
from tacit.kernels.summing import Tally, join_row


class Listed(NamedTuple):
    """What contributions of model.lists are made with."""

    width: int
    skip: int
    longest: float
    positions: Array
    bound: float
    scale: float


@kernel
def sum_lists(
    rows: Array, rewards: Array, at: Listed, places: Integers, tally: Tally, cell: float, longest: float, out: Exact
) -> None:
    """out += the contributions of rows of lists; rewards: as model.lists.packed has them."""
    own, more = Exact(np.zeros(places.shape[1])), Exact(np.zeros(0))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            add_list(rows[i], rewards[i], at.width, at.skip, at.longest, at.positions, at.bound, at.scale, own)
            join_row(rows[i], rewards[i], own, places[0], tally, more, cell, longest, out)


@kernel
def each_lists(rows: Array, rewards: Array, at: Listed, places: Integers, tally: Tally, out: Exact) -> None:
    """`sum_lists` in floats."""
    sum_lists(rows, rewards, at, places, tally, 0.0, 0.0, out)


@kernel
def best_first(values: Array, out: Integers) -> None:
    """out <- the places of the largest values, in falling order; of equals the first ones first."""
    count = 0
    for a in range(values.size):
        if count == out.size and not values[a] > values[out[count - 1]]:
            continue
        j = min(count, out.size - 1)
        while j > 0 and values[a] > values[out[j - 1]]:
            out[j] = out[j - 1]
            j -= 1
        out[j] = a
        count = min(count + 1, out.size)


@kernel
def draw_list(rng: Generator, arms: Array, posterior: Posterior, places: int, random: bool, out: Integers) -> None:
    """out <- the arms that are shown, in the order of places: those of the largest <x, theta + draw>, by one draw as in
    kernels.glm.thompson; or random ones, each list with the same probability. As many numbers are drawn whatever is on
    offer: what others draw next does not tell how many arms somebody had."""
    d, count = posterior.theta.size, arms.shape[0]
    if random:
        order = np.arange(count)
        for j in range(places):
            u = rng.random()
            if j < out.size:
                k = j + int(u * (count - j))
                order[j], order[k] = order[k], order[j]
                out[j] = order[j]
        return
    target = posterior.theta.copy()
    for k in range(d):
        if posterior.spread[k] > 0.0:
            draw = posterior.spread[k] * rng.standard_normal()
            for i in range(d):
                target[i] += draw * posterior.axes[i, k]
    best_first(np.dot(arms, target), out)


@kernel
def draw_lists(rng: Generator, arms: Array, posterior: Posterior, places: int, random: bool, out: Integers) -> None:
    """`draw_list` for each user of (n, K, d)."""
    for i in range(arms.shape[0]):
        draw_list(rng, arms[i], posterior, places, random, out[i])


@kernel
def keep_list(arms: Array, shown: Integers, out: Array) -> None:
    """out <- what is kept of a list: for each place 1 and the features of its item; zeros where it is empty."""
    width = arms.shape[1]
    out[:] = 0.0
    for j in range(shown.size):
        start = j * (width + 1)
        out[start] = 1.0
        out[start + 1 : start + 1 + width] = arms[shown[j]]
