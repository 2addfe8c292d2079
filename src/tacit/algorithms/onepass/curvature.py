"""One pass with a released curvature: iteratively reweighted least squares (model.glm), dense or in blocks."""

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from tacit import special
from tacit.algorithms import irls
from tacit.algorithms.chances import Values
from tacit.algorithms.onepass.loops_kernel import glm_block_rounds, glm_rounds
from tacit.data import Array, Integers, Released
from tacit.kernels.block import Block
from tacit.kernels.change import Watched, notice, plain
from tacit.kernels.continual import JointState, PrefixState
from tacit.kernels.glm import Posterior
from tacit.kernels.rounds import Held, Range
from tacit.kernels.summing import Linearised, each_glm, sum_glm
from tacit.mechanisms import leaves
from tacit.model.glm import GLMContribution, balanced_curvature
from tacit.model.links import Link
from tacit.protocols import Adder

if TYPE_CHECKING:
    from tacit.algorithms.onepass.algorithm import OnePass

STATISTIC = "weighted x x' and x"
# Chosen, with kernels.glm.Tuning, among some 100 settings by regret on tuning seeds (docs/measurements/joint-glm.md;
# the single runs were not kept); none of them touches privacy.
BLEND = 0.85  # of tangent and chord (model.glm.line), where there is noise: without, only tangents settle on the truth
NOISY = 4  # the mu (of mu-GDP) up to which there is noise enough for all of it
CURVATURE_SHARE = 0.136  # see balanced_curvature
GROWTH = 1.03  # of steps
DISCOUNT = 0.995  # of earlier steps, at each step
PER_SIGMA = 2.5  # of the noise's std: so many more people in the smallest step
# Intervals cover at least 96 % at level .9 in six environments, T = 5000 and 50000.
WIDENING = 2.2  # of their standard deviations
BEYOND = 0.2  # the share by which an end above 0 is moved up, and one below 0 down: with chords, estimates fall short


def blend(link: Link, mu: float, forget: float | None) -> float:
    """Where preferences change (`forget`), contributions are linearised by the tangent: what is expected weighs little
    then, and what surprises much."""
    return BLEND * min(1.0, NOISY / mu) if link.odd and forget is None else 0.0


def contribution(link: Link, reach: float, **parts: Any) -> GLMContribution:
    """reach: the radius in units of rewards."""
    return GLMContribution(**parts, link=link, scale=balanced_curvature(link, reach, share=CURVATURE_SHARE))


def blank(of: "OnePass", live: Integers) -> Posterior | Watched:
    own, radius, blocks = of.own, of.plan.radius, of.plan.blocks
    if blocks > 1:
        return irls.prior_of_blocks(own, radius, blocks, live, of.prior, of.tuning.explore)
    size = of.contribution.size if watches(of) else 0
    doubt = np.append(-1.0, np.zeros(6))
    one = irls.prior(own, radius, of.prior, of.tuning.explore)
    return Watched(*one, np.zeros((3, size)), doubt, leaves.nothing(size))


def watches(of: "OnePass") -> bool:
    """Whether a change is noticed: where the past fades ever more slowly, and a step's sums hold what people answered
    beside what was foretold of them."""
    return isinstance(of.contribution, GLMContribution) and math.isinf(of.plan.schedule.longest)


def fit(of: "OnePass", released: Released, step: int, live: Integers, posterior: Posterior | Watched) -> None:
    options = settings(of, step)
    if isinstance(posterior, Watched):
        if posterior.sums.size:
            fading, scale, std = of.plan.mechanism.fading, of.contribution.scale, options["std"]
            options["std"] = notice(released, step, of.plan.schedule, fading, scale, of.unit, std, posterior)
            released = posterior.rest
        posterior = plain(posterior)
    irls.update(released, live=live, posterior=posterior, **options)


def settings(of: "OnePass", step: int) -> dict[str, Any]:
    """What an estimate depends on beside what was released."""
    return {
        "scale": of.contribution.scale,
        "unit": of.unit,
        "std": of.std(step),
        "radius": of.plan.radius,
        "tuning": of.tuning,
        "known": of.prior,
    }


def pick(of: "OnePass", posterior: Posterior, arms: Array, rng: Generator) -> Integers:
    return irls.choose_many(rng, arms, posterior, random=False)


def values(of: "OnePass", posterior: Posterior, arms: Array) -> Values:
    return irls.values(arms, posterior)


def beliefs(of: "OnePass", posterior: Posterior, arms: Array, level: float) -> tuple[Array, Array]:
    widths = WIDENING * float(special.ndtri((1 + level) / 2))
    middle, half = irls.beliefs(arms, posterior, widths)
    low, high, beyond = middle - half, middle + half, BEYOND if of.contribution.blend else 0.0
    low, high = low + beyond * np.minimum(low, 0.0), high + beyond * np.maximum(high, 0.0)
    return (low + high) / 2, (high - low) / 2


def local(of: "OnePass", posterior: Posterior, block: int | slice) -> tuple[Array, Array]:
    """The estimate of the coordinates of a user in that block, and its covariance; of each block, for a slice."""
    own = of.own
    return posterior.theta.reshape(-1, own)[block], posterior.inverse.reshape(-1, own, own)[block]


def adder(of: "OnePass", posterior: Posterior) -> Adder:
    places = _places(of.contribution.size, of.plan.blocks)
    return linearised(of, *local(of, posterior, slice(None)), places)


def linearised(of: "OnePass", theta: Array, inverse: Array, places: Integers) -> Adder:
    """For users whose coordinates have that estimate, by block, and whose numbers are kept in these places."""
    c = of.contribution
    at = Linearised(theta, inverse, c.link.code, c.blend, c.scale, float(c.low), float(c.high))
    return Adder(each_glm, sum_glm, (at, places, of.tally))


@functools.lru_cache(maxsize=16)
def _places(size: int, blocks: int) -> Integers:
    return np.arange(size).reshape(blocks, -1)


def play(
    of: "OnePass",
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    live: Integers,
) -> None:
    plan, c = of.plan, of.contribution
    given = (
        policy,
        rng,
        block,
        held,
        state,
        plan.mechanism.law,
        of.gains,
        plan.schedule,
        Range(*map(float, plan.rewards)),
        c.link.code,
        c.blend,
        c.scale,
        of.unit,
        plan.radius,
        of.tuning,
        of.prior,
    )
    if plan.blocks > 1:
        glm_block_rounds(*given, live)
    else:
        glm_rounds(*given)
