"""Pages of fresh items: the offers of each round."""

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel


@kernel
def fill_pages(
    rng: Generator,
    block: Block,
    vectors: Array,
    means: Array,
    upto: Array,
    topics: Integers,
    ages: Integers,
    own: Array,
    left: Integers,
    hour: int,
    appeal: float,
) -> None:
    """Changes the block, and the items: topics, ages, what they have for themselves (own), and the people who come
    before they are an hour older (left). vectors, means: of each topic, level and age; upto: the chance of a level or a
    lower one; appeal: the spread of the logarithm of `own`."""
    levels = np.empty(vectors.shape[0], np.int64)
    for t in range(block.noise.size):
        if left[0] == 0:
            left[0] = hour
            for i in range(ages.size):
                ages[i] += 1
                if ages[i] == vectors.shape[2]:
                    ages[i], topics[i] = 0, int(rng.random() * vectors.shape[0])
                    own[i] = np.exp(appeal * rng.standard_normal())
        left[0] -= 1
        for k in range(levels.size):
            u, levels[k] = rng.random(), 0
            while levels[k] < upto.size - 1 and u >= upto[levels[k]]:
                levels[k] += 1
        for i in range(ages.size):
            topic = topics[i]
            block.arms[t, i] = vectors[topic, levels[topic], ages[i]]
            block.means[t, i] = min(1.0, own[i] * means[topic, levels[topic], ages[i]])
        block.noise[t] = rng.random()
