"""Proven bounds that know that rewards are rare: by the cumulant of a coin, instead of Hoeffding's range.

A draw w in [0, 1] of mean y has E exp(lam (w - y)) <= exp(phi(lam, y)), phi(lam, y) = ln(1 + y (e^lam - 1)) - lam y: of
all such draws a coin has the largest exponential moment. phi is concave in y. So the sum M of n draws around their
means y_1, ..., y_n, each arbitrary given the past, has
    E exp(lam M - n phi(lam, ybar)) <= E exp(lam M - sum_i phi(lam, y_i)) <= 1,     ybar = the average of the y_i,
whatever the drift of the means; draws without replacement in a block are no wider (trials.groups). This holds given all
noise N, since groups are drawn independently of it, and E exp(lam N) <= exp(lam^2 tau^2 / 2). Together, for any lam > 0
that is public, M + N <= (n phi(lam, ybar) + lam^2 tau^2 / 2 + ln(1 / a)) / lam but with probability a, and the same
below with -lam.

GRID values of lam share the error: those that are best for sums of variance n v + tau^2, v = 1/4, 1/16, ..., 1/4096.
n, tau and the error are public, so that the grid is.

ybar is unknown; so is phi. For the mean of a group, M + N = S - n ybar is solved for ybar (S: the sum as released):
    ybar <= (1 - exp(-(lam S + lam^2 tau^2 / 2 + ln(1 / a)) / n)) / (1 - e^-lam),
    ybar >= (exp((lam S - lam^2 tau^2 / 2 - ln(1 / a)) / n) - 1) / (e^lam - 1).
For the difference the worst mean of an interval, which has its own share of the error, is put into phi, which rises
with y up to y* = 1 / lam - 1 / (e^lam - 1) and then falls."""

import math
from typing import Any

import numpy as np

GRID = 6
Number = Any  # as in trials.bounds


def grid(count: float, noise: float, error: float) -> list[float]:
    """The values of lam for so many draws, noise of that std in their sum, and ln(1 / a) = error."""
    return [math.sqrt(2 * error / (count / 4 ** (k + 1) + noise**2)) for k in range(GRID)]


def cumulant(lam: float, mean: Number) -> Number:
    return np.log1p(mean * math.expm1(lam)) - lam * mean


def tails(count: float, noise: float, low: Number, high: Number, error: float) -> tuple[Number, Number]:
    """How far a sum of draws whose mean is in [low, high] can be above its mean, and below it; each of the 2
    GRID bounds fails with the probability exp(-error) at most."""

    def over(sign: int, lam: float) -> Number:
        top = sign / lam - 1 / math.expm1(sign * lam)  # y*
        largest = cumulant(sign * lam, np.clip(top, low, high))
        return (count * largest + lam**2 * noise**2 / 2 + error) / lam

    lams = grid(count, noise, error)
    above, below = (np.min([over(sign, lam) for lam in lams], axis=0) for sign in (1, -1))
    return above, below


def mean(total: Number, count: float, noise: float, error: float) -> tuple[Number, Number]:
    """An interval of the mean of so many draws, from their sum as it was released; 2 GRID bounds, as above."""
    lows, highs = [], []
    for lam in grid(count, noise, error):
        slack = lam**2 * noise**2 / 2 + error
        highs.append(-np.expm1(-np.maximum(lam * total + slack, 0.0) / count) / -math.expm1(-lam))
        lows.append(np.expm1(np.clip((lam * total - slack) / count, 0.0, lam)) / math.expm1(lam))
    return np.max(lows, axis=0), np.minimum(np.min(highs, axis=0), 1.0)
