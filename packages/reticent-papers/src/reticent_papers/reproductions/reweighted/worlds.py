"""Covariates and targets of the regression experiments: well- and ill-conditioned clouds, rare ones, and words."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy import sparse
from scipy.special import expit

from reticent.data import Array

DIM = 5
RARE = 0.01  # lambda of Proposition 3.1's covariates
DECAY = 1.2  # of the words' frequencies
WORDS = 8  # in a text


class Data(NamedTuple):
    """Rows and targets to learn from; fresh rows and their means to be judged on."""

    x: Array
    y: Array
    fresh: Array
    means: Array


def cloud(kind: str, count: int, rng: Generator) -> Array:
    """well: uniform on the sphere, d = 5. ill: the same with standard deviations 10^(-j/2), so variances 10^-j. rare:
    d = 1, 1 with probability RARE and else 0 (Proposition 3.1)."""
    if kind == "rare":
        return np.asarray((rng.random((count, 1)) < RARE).astype(np.float64))
    x = rng.standard_normal((count, DIM))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x * 10.0 ** (-np.arange(DIM) / 2) if kind == "ill" else x)


def draw(kind: str, link: str, radius: float, count: int, rng: Generator) -> Data:
    """theta* uniform on the sphere of that radius; targets +-radius (identity) or 0 and 1 (logistic)."""
    x, fresh = cloud(kind, count, rng), cloud(kind, 20_000, rng)
    direction = np.asarray(rng.standard_normal(x.shape[1]))
    theta = radius * direction / np.linalg.norm(direction)
    if link == "identity":
        y = np.where(rng.random(count) < 0.5 * (1 + x @ theta / radius), radius, -radius)
        return Data(x, y, fresh, fresh @ theta)
    return Data(x, (rng.random(count) < expit(x @ theta)).astype(np.float64), fresh, np.asarray(expit(fresh @ theta)))


def texts(count: int, dim: int, rng: Generator) -> sparse.csr_array:
    """Unit rows of WORDS signed words, the j-th of frequency j^-DECAY: sparse, and of bounded effective dimension."""
    frequencies = np.arange(1, dim + 1.0) ** -DECAY
    words = rng.choice(dim, size=(count, WORDS), p=frequencies / frequencies.sum())
    signs = rng.choice([-1.0, 1.0], size=(count, WORDS))
    x = sparse.csr_array((signs.ravel(), (np.repeat(np.arange(count), WORDS), words.ravel())), shape=(count, dim))
    lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ x)


def meanings(dim: int, rng: Generator) -> Array:
    """theta*: random signs, decaying like the square root of the frequencies, of norm 1."""
    theta = rng.choice([-1.0, 1.0], dim) * np.arange(1, dim + 1.0) ** (-DECAY / 2)
    return np.asarray(theta / np.linalg.norm(theta))
