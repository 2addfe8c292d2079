"""What another policy would have earned on the people of a log: inverse propensity scores and doubly robust estimates.

RAW: the estimates are computed from people's data without noise. They are for whoever holds the log anyway.

With weights w = target(action) / propensity, rewards r and a prediction q of the reward of each arm:

    log     mean of r                                                           what the log's own policy earned
    ips     mean of w r                                                         unbiased
    snips   sum of w r / sum of w                                               a little bias, often less variance
    dr      mean of sum_a target(a) q(a) + w (r - q(action))                    unbiased, whatever q is

Standard errors: of a mean of n numbers for log, ips and dr, by linearisation for snips. Propensities that depended on
earlier rounds do no harm (differences of a martingale); a target that was learnt from the same rounds does, and is to
be one that was frozen before them. Reference: Dudík, Erhan, Langford & Li 2014, arXiv:1503.02834; Swaminathan &
Joachims 2015 (SNIPS)."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reticent.core.bandit import Bandit
from reticent.data import Array
from reticent.features.schema import Schema
from reticent.logs import read
from reticent.model import arms as arm_sets
from reticent_lab import logs
from reticent_lab.logs import Rounds

RAW = "RAW: computed from people's data without noise. For whoever holds the log, and nobody else."
FOLDS, RIDGE = 5, 1.0  # of the regression that predicts rewards where no predictions are given


class Estimate(NamedTuple):
    """RAW. The mean reward of a policy, its standard error, and the effective number of rounds (sum w)^2 / sum w^2."""

    name: str
    value: float
    error: float
    rounds: float


def evaluate(
    log: Any,
    target: Any,
    *,
    predictions: npt.ArrayLike | None = None,
    actions: Any = None,
    features: Schema | None = None,
) -> list[Estimate]:
    """RAW. What `target` would have earned. log: a table with action, reward, propensity and features
    (reticent_lab.logs), or the fields of a schema: of `features`, by default the target's own; also the path of a file.
    target: its probability of each action, (n, K); of the logged action alone, (n,), which gives no doubly robust
    estimate; or a Bandit, whose present estimate is taken. predictions: of the reward of each action,
    (n, K), from other data than this log; by default a ridge regression on the other four fifths of the log."""
    schema = features or getattr(target, "features", None)
    table = read(log) if isinstance(log, str | Path) else log
    rounds = table if isinstance(table, Rounds) else logs.rounds(table, actions=actions, features=schema)
    if rounds.propensity is None:
        raise ValueError("Expected the column propensity: the probability with which each action was taken.")
    n, count = len(rounds.action), len(rounds.names)
    if n < 2:
        raise ValueError("Expected at least two rounds, got one.")
    chances = probabilities(target, rounds) if hasattr(target, "observe") else _checked(target, n, count)
    taken = chances if chances.ndim == 1 else chances[np.arange(n), rounds.action]
    weights, reward = taken / rounds.propensity, rounds.reward
    total = float(weights.sum())
    if not total > 0:
        raise ValueError("Expected a target that takes some logged action with a positive chance, got one without.")
    effective = total**2 / float((weights**2).sum())
    ratio = float(weights @ reward) / total
    spread = math.sqrt(float((weights**2) @ (reward - ratio) ** 2)) / total
    out = [
        _mean("log", reward, n),
        _mean("ips", weights * reward, effective),
        Estimate("snips", ratio, spread, effective),
    ]
    if chances.ndim == 2:
        guess = _predicted(rounds) if predictions is None else _table(predictions, n, count, "predictions")
        rest = weights * (reward - guess[np.arange(n), rounds.action])
        out.append(_mean("dr", (chances * guess).sum(axis=1) + rest, effective))
    return out


def probabilities(bandit: Bandit, rounds: Rounds) -> Array:
    """(n, K): with which chance the bandit, as it is now, would take each action of each round."""
    if rounds.arms is None:
        raise ValueError("Expected features in the log (x0, x1, ..., arms, or fields) for a bandit, got none.")
    plan = bandit.plan
    if rounds.arms.shape[2] != plan.dim:
        raise ValueError(f"Expected a log with arms of {plan.dim} dimensions, got {rounds.arms.shape[2]}.")
    if any(arm_sets.problems(rounds.arms)):
        raise ValueError("Expected finite arms of norm at most 1, got a row with others.")
    rows = arm_sets.placed(rounds.arms, plan.dim, plan.blocks)
    return np.stack([bandit.one_pass.chances(bandit.sums.estimator.estimate, row) for row in rows])


def _mean(name: str, values: Array, rounds: float) -> Estimate:
    return Estimate(name, float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)), float(rounds))


def _checked(target: npt.ArrayLike, n: int, count: int) -> Array:
    """A target's probabilities, (n, K) or (n,)."""
    given = np.asarray(target, dtype=np.float64)
    if given.shape == (n,):
        if not ((given >= 0) & (given <= 1)).all():
            raise ValueError("Expected probabilities in [0, 1], got one outside.")
        return given
    given = _table(given, n, count, "probabilities")
    if not (given >= 0).all() or not np.allclose(given.sum(axis=1), 1, rtol=0, atol=1e-6):
        raise ValueError("Expected probabilities that are not negative and sum to 1 in each row, got others.")
    return given


def _table(given: npt.ArrayLike, n: int, count: int, what: str) -> Array:
    out = np.asarray(given, dtype=np.float64)
    if out.shape != (n, count) or not np.isfinite(out).all():
        raise ValueError(f"Expected finite {what} of shape ({n}, {count}), got another shape or a number that is not.")
    return out


def _predicted(rounds: Rounds) -> Array:
    """(n, K) rewards by ridge regression on the arms' features (without features: on which action it is), each round's
    from the folds that it is not in, so that no prediction has seen its own reward."""
    n, count = len(rounds.action), len(rounds.names)
    arms = np.broadcast_to(np.eye(count), (n, count, count)) if rounds.arms is None else rounds.arms
    arms = np.concatenate([arms, np.ones((n, count, 1))], axis=2)
    x, fold = arms[np.arange(n), rounds.action], np.arange(n) % FOLDS
    out = np.empty((n, count))
    for k in range(FOLDS):
        others = x[fold != k]
        middle = rounds.reward[fold != k].mean() if len(others) else 0.0
        gram = others.T @ others + RIDGE * np.eye(x.shape[1])
        theta = np.linalg.solve(gram, others.T @ (rounds.reward[fold != k] - middle))
        out[fold == k] = middle + arms[fold == k] @ theta
    return out
