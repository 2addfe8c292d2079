"""One-pass iteratively reweighted least squares from released sums.

A posterior of blocks has one more axis, the first; arms then are rows (z, a), as in model.arms."""

from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator

from reticent.algorithms import chances
from reticent.algorithms.chances import Values
from reticent.data import Array, Integers, Released
from reticent.kernels.blocks import combine_blocks, fit_blocks, thompson_block_rows
from reticent.kernels.glm import Known, Posterior, Tuning, combine, fit, thompson_rows

T = TypeVar("T", bound=tuple[Any, ...])


def as_tuning(kind: type[T], given: Any) -> T:
    """`given` as that kind of numbers (a saved bandit has a plain tuple), or ValueError."""
    if not isinstance(given, tuple) or len(given) != len(kind()):
        raise ValueError(f"Expected tuning to be a Tuning of {len(kind())} numbers, got {type(given).__name__}.")
    out: T = kind(*[float(number) for number in given])  # type: ignore[arg-type]
    return out


def prior(dim: int, radius: float, known: Known | None = None, explore: float = 0.0) -> Posterior:
    """Before anything was released: theta* of mean 0 and variance radius^2 / d a coordinate; together with what is
    known, if anything is, and then with that share of its standard deviation to explore."""
    precision, spread = np.full(dim, dim / radius**2), np.full(dim, explore * radius / dim**0.5)
    out = Posterior(np.zeros(dim), np.zeros(dim), np.eye(dim), precision, spread, np.eye(dim) * radius**2 / dim)
    if known is not None and known.theta.size:
        combine(known, radius, out)
    else:
        out.spread[:] = 0.0
    return out


def prior_of_blocks(
    own: int, radius: float, blocks: int, live: Integers, known: Known | None = None, explore: float = 0.0
) -> Posterior:
    """The same, block by block, of `own` coordinates each: theta* has variance radius^2 / (own times the number of live
    blocks) a coordinate."""
    one = prior(own, radius / len(live) ** 0.5)
    out = Posterior(*(np.repeat(part[None], blocks, axis=0) for part in one))
    if known is not None and known.theta.size:
        out.spread[:] = explore * radius / (own * len(live)) ** 0.5
        combine_blocks(known, radius, live, out)
    return out


def update(
    released: Released,
    *,
    scale: float,
    unit: float,
    std: float,
    radius: float,
    tuning: Tuning,
    posterior: Posterior,
    known: Known | None = None,
    live: Integers | None = None,
) -> None:
    """posterior <- the estimate from released = (scale svec(curvature), moment / unit), noise of std `std`, and from
    what is known; that of the live blocks, where there are blocks."""
    if posterior.theta.ndim == 1:
        fit(released, scale, unit, std, radius, tuning, posterior)
    else:
        live = np.arange(len(posterior.theta)) if live is None else live
        fit_blocks(released, scale, unit, std, radius, tuning, live, posterior)
    if known is not None and known.theta.size:
        if live is None or posterior.theta.ndim == 1:
            combine(known, radius, posterior)
        else:
            combine_blocks(known, radius, live, posterior)


def beliefs(features: Array, posterior: Posterior, widths: float) -> tuple[Array, Array]:
    """For each row x: the estimate of <x, theta*>, and `widths` standard deviations of it."""
    if posterior.theta.ndim == 2:
        z, a = features[:, :-1], features[:, -1].astype(np.int64)
        variance = np.einsum("ni,nij,nj->n", z, posterior.inverse[a], z)
        return np.einsum("ni,ni->n", z, posterior.centre[a]), widths * np.sqrt(variance)
    return features @ posterior.centre, widths * np.sqrt(
        np.einsum("ni,ij,nj->n", features, posterior.inverse, features)
    )


def choose_many(rng: Generator, arms: Array, posterior: Posterior) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each row of (n, K, d): argmax of <x, theta + draw>, a fresh Thompson draw in the directions that have been
    sampled too little."""
    out = np.empty(len(arms), np.int64)
    draws = rng.standard_normal((len(arms), np.count_nonzero(posterior.spread)))  # in the order of fused loops
    rows = thompson_rows if posterior.theta.ndim == 1 else thompson_block_rows
    rows(arms, posterior.theta, posterior.axes, posterior.spread, draws, out)
    return out


def values(arms: Array, posterior: Posterior) -> Values:
    """Of the arms of (K, d) under a Thompson draw."""
    if posterior.theta.ndim == 2:
        return _block_values(arms, posterior)
    drawn = posterior.spread > 0
    return chances.of_moves(arms @ posterior.theta, (arms @ posterior.axes)[:, drawn] * posterior.spread[drawn])


def _block_values(arms: Array, posterior: Posterior) -> Values:
    """Of rows (z, a): z moves along the numbers of part a alone."""
    z, a = arms[:, :-1], arms[:, -1].astype(np.int64)
    moves = np.zeros((len(arms), *posterior.spread.shape))
    moves[np.arange(len(arms)), a] = np.einsum("ki,kij->kj", z, posterior.axes[a]) * posterior.spread[a]
    drawn = posterior.spread.ravel() > 0
    mean = np.einsum("ki,ki->k", z, posterior.theta[a])
    return chances.of_moves(mean, moves.reshape(len(arms), -1)[:, drawn])
