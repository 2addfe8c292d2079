"""One pass without curvature (curvature="none"): what is released is d numbers, the sums of scores at public estimates
(model.scores), and the estimate is a multiple of them.

As long as theta is wrong, scores push it: the sum grows until their mean is 0. So noise that was in an earlier release
is undone by the people who come after it, in every direction in which there are some; no estimate of the curvature,
which would be d (d + 1) / 2 numbers with noise of their own, stands between.

theta = eta_k S_k after release k, eta_k = model.scores.pace(std_k, n_k, ...) for noise of std_k in each number of S_k
and the n_k people of the step that follows."""

import functools
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from tacit import checks
from tacit.algorithms import chances
from tacit.algorithms.chances import Values
from tacit.algorithms.onepass.scores_kernel import score_rounds
from tacit.data import Array, Integers, Released
from tacit.kernels.block import Block
from tacit.kernels.continual import JointState, PrefixState
from tacit.kernels.glm import Posterior
from tacit.kernels.rounds import Held, Range, Schedule, next_boundary
from tacit.kernels.scores import best_rows, follow, unlearnt
from tacit.kernels.summing import Scored, each_scores, sum_scores
from tacit.model import arms as arms_of
from tacit.model.links import Link
from tacit.model.scores import REACH, pace, steepness
from tacit.protocols import Adder

if TYPE_CHECKING:
    from tacit.algorithms.onepass.algorithm import OnePass

STATISTIC = "scores"
# Chosen by regret on tuning seeds (docs/measurements/scores.md); none of them touches privacy.
GROWTH, DISCOUNT = 1.02, 0.997  # of steps
PER_SIGMA = 1.0  # of the noise's std: so many more people in the smallest step
AVERAGE = 0.1  # of the way to the latest estimate that the average of estimates, by which one plays, goes
FRESH = 0.25  # of the std of theta's noise: that of a draw that is added for each choice
CURVATURES = ("auto", "released", "none", "fields")
# "auto" releases no curvature from MANY dimensions on; where the horizon is known, from LEAST on and below ENOUGH
# blocks p^1.5 / mu rounds, p the features of an arm: noise of std 1 / mu in p^2 numbers, seen by one in `blocks`.
# Blocks that share nothing have their shape in common, so that far fewer rounds do; MANY is of one block's dimensions.
LEAST, MANY, ENOUGH, ENOUGH_APART = 50, 100, 150.0, 0.5


def check(
    curvature: str,
    *,
    dim: int,
    blocks: int,
    horizon: int | None,
    mu: float,
) -> tuple[bool, str]:
    """Whether scores alone are released, and why, in words for the certificate where "auto" has chosen; ValueError if
    they cannot be."""
    checks.one_of(CURVATURES, curvature=curvature)
    if curvature != "auto":
        return curvature == "none", ""
    return _few_rounds(dim, blocks, horizon, mu)


def _few_rounds(dim: int, blocks: int, horizon: int | None, mu: float) -> tuple[bool, str]:
    """Whether the rounds to come are too few to learn a curvature through its noise, and a sentence about it. All of it
    is public."""
    apart, own = blocks > 1, dim // blocks
    if dim < LEAST:
        return False, f"; with curvature, as dimensions are fewer than {LEAST}"
    if horizon is None or (apart and own >= MANY):
        few = (own if apart else dim) >= MANY
        than = f"dimensions{' of a block' if apart else ''} are {f'{MANY} or more' if few else f'fewer than {MANY}'}"
    else:
        enough = (ENOUGH_APART if apart else ENOUGH) * blocks * own**1.5 / mu
        few = horizon < enough
        than = f"the horizon is {'below' if few else 'not below'} {enough:.3g} rounds"
    return few, f"; {'without' if few else 'with'} curvature, as {than}"


def blank(of: "OnePass", live: Integers) -> Posterior:
    given = of.prior.theta
    return unlearnt(given.ravel().copy() if given.size else np.zeros(of.plan.dim))


@functools.lru_cache(maxsize=64)
def lengths(schedule: Schedule, leaves: int) -> Array:
    """How many choices the step has that opens after k releases; the last number is that of all later ones, too."""
    out: list[float] = []
    at = 0
    while len(out) < leaves and (not out or out[-1] < schedule.longest):
        end = next_boundary(at, *schedule)
        out.append(float(end - at))
        at = end
    return np.array(out)


def steps(stds: Array, lengths: Array, dim: int, radius: float, link: Link, span: float) -> tuple[Array, Array]:
    """eta and the std of a fresh draw after k releases, from the std of each release and the lengths of steps;
    the last numbers are those of all later ones. span: of the rewards, which are shares of it."""
    count = np.arange(max(len(stds), len(lengths)))
    std, length = stds[np.minimum(count, len(stds) - 1)], lengths[np.minimum(count, len(lengths) - 1)]
    etas = pace(std, length, dim, radius, steepness(link, span))
    return etas, FRESH * etas * std


def paces(of: "OnePass", here: Integers) -> tuple[Array, Array]:
    """`steps` for an estimate of these coordinates."""
    mechanism = of.plan.mechanism
    stds, people = mechanism.sigma * of.gains, lengths(of.plan.schedule, mechanism.leaves)
    low, high = of.plan.rewards
    return steps(stds, people, len(here), of.plan.radius, of.link, high - low)


def fit(of: "OnePass", released: Released, step: int, live: Integers, posterior: Posterior) -> None:
    here = of.coordinates(live)
    etas, spreads = paces(of, here)
    k = min(step, len(etas) - 1)
    follow(released, step, etas[k], AVERAGE, spreads[k], REACH * of.plan.radius, here, of.prior, posterior)


def pick(of: "OnePass", posterior: Posterior, arms: Array, rng: Generator) -> Integers:
    """The best arm by theta and fresh noise."""
    out = np.zeros(len(arms), np.int64)
    drawn = of.plan.dim if posterior.spread[0] > 0 else 0
    draws = rng.standard_normal((len(arms), drawn))
    best_rows(arms, posterior, draws, of.own, out)
    return out


def values(of: "OnePass", posterior: Posterior, arms: Array) -> Values:
    """A draw that is alike in all directions, along those of the arms alone."""
    arms = _whole(of, arms)
    along, _ = np.linalg.qr(arms.T)
    return chances.values(arms, posterior.theta, posterior.spread[0] * along)


def beliefs(of: "OnePass", posterior: Posterior, arms: Array, level: float) -> tuple[Array, Array]:
    """The estimate of <x, theta*>, and as much to both sides as |theta*| <= radius allows. Without a curvature nothing
    else is known of how far the estimate may be off."""
    arms = _whole(of, arms)
    middle = arms @ posterior.theta
    return middle, np.abs(middle) + of.plan.radius * np.linalg.norm(arms, axis=1)


def adder(of: "OnePass", posterior: Posterior) -> Adder:
    c, here = of.contribution, np.arange(of.plan.dim).reshape(of.plan.blocks, -1)
    at = Scored(posterior.centre[here], c.link.code, float(c.low), float(c.high))
    return Adder(each_scores, sum_scores, (at, here, of.tally))


def play(
    of: "OnePass",
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    live: Integers,
) -> None:
    plan, here = of.plan, of.coordinates(live)
    score_rounds(
        policy,
        rng,
        block,
        held,
        state,
        plan.mechanism.law,
        *paces(of, here),
        AVERAGE,
        plan.schedule,
        Range(*map(float, plan.rewards)),
        of.link.code,
        REACH * plan.radius,
        here,
        of.prior,
        of.own,
    )


def _whole(of: "OnePass", arms: Array) -> Array:
    """Arms with their zeros."""
    return arms_of.whole(arms, of.plan.dim, of.plan.blocks) if of.plan.blocks > 1 else arms
