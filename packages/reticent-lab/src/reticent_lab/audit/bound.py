"""Lower bounds on epsilon from scores of two worlds, each with a stated confidence; exact ones for discrete laws.

The event is chosen on the first fifth of the runs and bounded on the others, which are independent of the choice: one
event, one or two Clopper-Pearson bounds that share the allowed error. Nothing else is tested or paid for.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri
from scipy.stats import beta

from reticent.data import Array
from reticent.privacy import gaussian, search

CONFIDENCE = 0.999
FEWEST = 10  # runs of a world
LARGEST = 200.0  # no epsilon above this is reported


def clopper_pearson(hits: Array, runs: int, miss: float) -> tuple[Array, Array]:
    """(low, high): the probability of a hit is below low with probability at most `miss`, and so for above high."""
    hits = np.asarray(hits, float)
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, beta.ppf(miss, hits, runs - hits + 1), 0.0)
        high = np.where(hits < runs, beta.ppf(1 - miss, hits + 1, runs - hits), 1.0)
    return low, high


def gaussian_bound(zero: Array, one: Array, delta: float, confidence: float = CONFIDENCE) -> float:
    """If what was attacked is mu-GDP then, with this confidence, its epsilon at delta is at least what is returned.

    A mechanism that is not GDP at all has no mu: an answer above the claim still refutes the claim, since the claim was
    computed from mu."""
    return gaussian.epsilon(gdp_bound(zero, one, confidence), delta)


def gdp_bound(zero: Array, one: Array, confidence: float = CONFIDENCE) -> float:
    """A lower bound of mu. The mean e of false positives and false negatives of any test has e >= Phi(-mu / 2) (Dong,
    Roth & Su 2019; symmetric, so one direction is both), and a threshold at the middle attains it for Gaussians.
    Errors of both worlds together are a sum of independent Bernoullis, whose lower tail is at most that of the binomial
    of the same mean (Hoeffding 1956): one Clopper-Pearson bound over all the held-out runs."""

    def bounds(above_zero: Array, above_one: Array, runs: int) -> Array:
        _, mean = clopper_pearson(above_zero + runs - above_one, 2 * runs, 1 - confidence)
        out: Array = -2 * ndtri(np.minimum(mean, 0.5))
        return out[None]

    return max(0.0, _chosen_then_bounded(zero, one, bounds))


def general_bound(zero: Array, one: Array, delta: float, confidence: float = CONFIDENCE) -> float:
    """With this confidence epsilon at delta is at least ln((P_low - delta) / Q_high), for one of four kinds of event:
    the score above or not above a threshold, more likely in one world or in the other. Assumes nothing of the law."""

    def bounds(above_zero: Array, above_one: Array, runs: int) -> Array:
        events = ((above_one, above_zero), (above_zero, above_one))
        kinds = (*events, *((runs - p, runs - q) for p, q in events))
        return np.stack([ratio_bound(p, q, runs, delta, confidence) for p, q in kinds])

    return max(0.0, _chosen_then_bounded(zero, one, bounds))


def ratio_bound(hits: Array, others: Array, runs: int, delta: float, confidence: float = CONFIDENCE) -> Array:
    """ln((P_low - delta) / Q_high) for an event with `hits` in one world and `others` in the other; 0 if it is less."""
    low, _ = clopper_pearson(hits, runs, (1 - confidence) / 2)
    _, high = clopper_pearson(others, runs, (1 - confidence) / 2)
    out: Array = np.log(np.maximum(low - delta, high) / high)
    return out


def exact_bound(curve: Callable[[float], float], delta: float) -> float:
    """The smallest epsilon with curve(epsilon) <= delta: exact for this pair of worlds, rounded down."""

    def inside(epsilon: float) -> bool:
        return curve(epsilon) <= delta + 1e-14

    if inside(0.0):
        return 0.0
    low, high = search.doubled(inside, 0.0, 1.0, most=LARGEST)
    return LARGEST if high == math.inf else search.halved(inside, low, high, digits=1e-10)[0]


def discrete_curve(zero: Array, one: Array) -> Callable[[float], float]:
    """delta(epsilon) of two laws on the same points: sum of (p - e^epsilon q)_+, the worse of both directions."""
    p, q = np.asarray(zero, float), np.asarray(one, float)
    if p.shape != q.shape or min(p.min(), q.min()) < 0 or max(abs(p.sum() - 1), abs(q.sum() - 1)) > 1e-9:
        raise ValueError("Expected two laws on the same points, each with sum 1.")

    def curve(epsilon: float) -> float:
        factor = math.exp(epsilon)
        return max(float(np.maximum(p - factor * q, 0).sum()), float(np.maximum(q - factor * p, 0).sum()))

    return curve


def _chosen_then_bounded(zero: Array, one: Array, bounds: Callable[[Array, Array, int], Array]) -> float:
    """bounds(runs of world 0 above, of world 1 above, runs) -> (kinds of event, thresholds). Threshold and kind are the
    best on the first fifth; returned is the bound of that one on the rest."""
    zero, one = np.asarray(zero, float), np.asarray(one, float)
    if zero.shape != one.shape or zero.ndim != 1 or len(zero) < FEWEST:
        raise ValueError(f"Expected at least {FEWEST} scores of each world, got shapes {zero.shape} and {one.shape}.")
    if not (np.isfinite(zero).all() and np.isfinite(one).all()):
        raise ValueError("Expected finite scores, got some that are not.")
    pick = len(zero) // 5
    thresholds = _candidates(np.concatenate([zero[:pick], one[:pick]]))
    table = bounds(_above(zero[:pick], thresholds), _above(one[:pick], thresholds), pick)
    kind, at = np.unravel_index(int(np.argmax(table)), table.shape)
    threshold = thresholds[at : at + 1]
    held_out = bounds(_above(zero[pick:], threshold), _above(one[pick:], threshold), len(zero) - pick)
    return float(held_out[kind, 0])


def _candidates(scores: Array) -> Array:
    """Thresholds between neighbouring scores, at every 50th part of them and into both tails."""
    tails = np.geomspace(1 / len(scores), 0.02, 12)
    ranks = np.concatenate([tails, np.arange(0.02, 0.99, 0.02), 1 - tails])
    ordered = np.unique(scores)
    if len(ordered) == 1:
        return ordered
    at = np.searchsorted(ordered, np.quantile(scores, np.unique(ranks), method="lower"))
    at = np.minimum(at, len(ordered) - 2)
    out: Array = np.unique((ordered[at] + ordered[at + 1]) / 2)
    return out


def _above(scores: Array, thresholds: Array) -> Array:
    ordered = np.sort(scores)
    out: Array = (len(ordered) - np.searchsorted(ordered, thresholds, side="right")).astype(float)
    return out
