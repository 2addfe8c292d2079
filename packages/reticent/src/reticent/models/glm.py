"""One pass with a released curvature: iteratively reweighted least squares (model.glm), dense or in blocks."""

import functools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent import special
from reticent.algorithms import irls
from reticent.algorithms.chances import Values
from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.blocks import combine_blocks, fit_blocks, thompson_blocks
from reticent.kernels.change import Watched, notice, plain
from reticent.kernels.compile import kernel
from reticent.kernels.continual import JointState, PrefixState, simulate_step
from reticent.kernels.formulas import add_glm
from reticent.kernels.glm import Known, Posterior, Tuning, combine, fit, thompson
from reticent.kernels.noise import NoiseLaw
from reticent.kernels.rounds import (
    BOUNDARY,
    NOBODY,
    Held,
    Range,
    Schedule,
    boundary_by,
    enters,
    entries,
    forget,
    outcome,
)
from reticent.kernels.summing import block_of_row, join_row
from reticent.mechanisms import leaves
from reticent.model.glm import GLMContribution, balanced_curvature
from reticent.model.links import Code, Link
from reticent.model.vectors import pair_size
from reticent.models.protocol import Compiled, Course, Loop, ModelSettings, ModelSums, Pace, copied

# Chosen, with kernels.glm.Tuning, among some 100 settings by regret on tuning seeds (docs/measurements/joint-glm.md;
# the single runs were not kept); none of them touches privacy.
BLEND = 0.85  # of tangent and chord (model.glm.line), where there is noise: without, only tangents settle on the truth
NOISY = 4  # the mu (of mu-GDP) up to which there is noise enough for all of it
CURVATURE_SHARE = 0.136  # see balanced_curvature
# Intervals cover at least 96 % at level .9 in six environments, T = 5000 and 50000.
WIDENING = 2.2  # of their standard deviations
BEYOND = 0.2  # the share by which an end above 0 is moved up, and one below 0 down: with chords, estimates fall short


def blend(link: Link, mu: float, forget: float | None) -> float:
    """Where preferences change (`forget`), contributions are linearised by the tangent: what is expected weighs little
    then, and what surprises much."""
    return BLEND * min(1.0, NOISY / mu) if link.odd and forget is None else 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class GLM:
    """radius: of theta*. unit: of rewards, where the link is the identity. prior: what is known from elsewhere.
    watched: whether a change is noticed (kernels.change): where the past fades ever more slowly, and arms are
    vectors."""

    contribution: GLMContribution
    radius: float
    unit: float
    tuning: Tuning
    prior: Known
    watched: bool
    pace: ClassVar[Pace] = Pace(growth=1.03, discount=0.995, per_sigma=2.5)
    reports: ClassVar[bool] = False

    @classmethod
    def of(cls, asked: ModelSettings) -> "GLM":
        scale = balanced_curvature(asked.link, asked.radius / asked.unit, share=CURVATURE_SHARE)
        steep = blend(asked.link, asked.mu, asked.forget)
        return cls(
            contribution=GLMContribution(**asked.parts, link=asked.link, scale=scale, blend=steep),
            radius=asked.radius,
            unit=asked.unit,
            tuning=asked.tuning,
            prior=asked.prior,
            watched=asked.forget is None and asked.blocks == 1,
        )

    @property
    def sums(self) -> ModelSums:
        """See GLMContribution."""
        return ModelSums(self.contribution.size, self.contribution.sensitivity, "l2", "weighted x x' and x")

    @property
    def knows(self) -> bool:
        return bool(self.prior.theta.size)

    # estimates

    def blank(self, live: Integers) -> Posterior | Watched:
        c, radius, explore = self.contribution, self.radius, self.tuning.explore
        if c.blocks > 1:
            return irls.prior_of_blocks(c.dim // c.blocks, radius, c.blocks, live, self.prior, explore)
        size, doubt = c.size if self.watched else 0, np.append(-1.0, np.zeros(6))
        one = irls.prior(c.dim, radius, self.prior, explore)
        return Watched(*one, np.zeros((3, size)), doubt, leaves.nothing(size))

    def fit(
        self, before: Posterior | Watched, released: Released, step: int, live: Integers, course: Course, chosen: int
    ) -> Posterior | Watched:
        out, std, scale = copied(before), course.std(step), self.contribution.scale
        posterior: Posterior = out
        if isinstance(out, Watched):
            posterior = plain(out)
            if self.watched:
                std = notice(released, step, course.schedule, course.fading, scale, self.unit, std, out)
                released = out.rest
        irls.update(
            released,
            scale=scale,
            unit=self.unit,
            std=std,
            radius=self.radius,
            tuning=self.tuning,
            posterior=posterior,
            known=self.prior,
            live=live,
        )
        return out  # type: ignore[no-any-return]

    def pick(self, estimate: Posterior, arms: Array, rng: Generator) -> Integers:
        return irls.choose_many(rng, arms, estimate)

    def values(self, estimate: Posterior, arms: Array) -> Values:
        return irls.values(arms, estimate)

    def beliefs(self, estimate: Posterior, arms: Array, level: float) -> tuple[Array, Array]:
        middle, half = irls.beliefs(arms, estimate, WIDENING * float(special.ndtri((1 + level) / 2)))
        low, high, beyond = middle - half, middle + half, BEYOND if self.contribution.blend else 0.0
        low, high = low + beyond * np.minimum(low, 0.0), high + beyond * np.maximum(high, 0.0)
        return (low + high) / 2, (high - low) / 2

    def mean(self, z: Array) -> Array:
        return mean_of(self.contribution.link, self.contribution.low, self.contribution.high, z)

    def report(self, estimate: Posterior, live: Integers, course: Course) -> None:
        return None

    # contributions

    def keep(self, estimate: Posterior, x: Array, place: int, name: str | None, names: tuple[str, ...]) -> Array:
        return x.copy()

    def adder(self, estimate: Posterior) -> Compiled:
        c, own = self.contribution, self.contribution.dim // self.contribution.blocks
        theta, inverse = estimate.theta.reshape(-1, own), estimate.inverse.reshape(-1, own, own)
        at = Linearised(theta, inverse, c.link.code, c.blend, c.scale, float(c.low), float(c.high))
        return Compiled(sum_glm, (at, places(c.size, c.blocks)))

    def loop(self, course: Course) -> Loop:
        return Loop(functools.partial(self._play, course), by_step=False)

    def _play(self, course: Course, *rounds: Any) -> None:
        c = self.contribution
        *given, live = rounds
        noise, rewards = (course.law, course.gains, course.schedule), Range(float(c.low), float(c.high))
        numbers = c.link.code, c.blend, c.scale, self.unit, self.radius, self.tuning, self.prior
        play: Any = glm_block_rounds if c.blocks > 1 else glm_rounds
        play(*given, *noise, rewards, *numbers, *[live] * (c.blocks > 1))


def mean_of(link: Link, low: float, high: float, z: Array) -> Array:
    """The mean reward at z, of a link whose mean is a share of the range of rewards, or the reward itself."""
    low, high = (low, high) if link.bounded else (0.0, 1.0)
    return np.asarray(low + (high - low) * link.mean(z))


@functools.lru_cache(maxsize=16)
def places(size: int, blocks: int) -> Integers:
    """(blocks, numbers of a contribution): where they are in the sums."""
    return np.arange(size).reshape(blocks, -1)


# kernels


class Linearised(NamedTuple):
    """What contributions are made with: the estimate of each block's coordinates, and settings."""

    theta: Array  # (blocks, q)
    inverse: Array  # (blocks, q, q)
    link: Code
    blend: float
    scale: float
    low: float
    high: float


@kernel
def sum_glm(
    rows: Array,
    rewards: Array,
    weights: Array,
    at: Linearised,
    places: Integers,
    cell: float,
    longest: float,
    out: Exact,
) -> None:
    """out[places[a]] += the contributions of the rows in block a; places: (blocks, numbers of a contribution)."""
    blocks, q = at.theta.shape
    own = Exact(np.zeros(places.shape[1]))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            a = block_of_row(rows[i], q, blocks)
            x, theta, inverse = rows[i, :q], at.theta[a], at.inverse[a]
            add_glm(x, rewards[i], theta, inverse, at.link, at.blend, at.scale, at.low, at.high, own)
            join_row(own, weights[i], places[a], cell, longest, out)


@kernel
def glm_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    law: NoiseLaw,
    gains: Array,
    schedule: Schedule,
    rewards: Range,
    link: Code,
    blend: float,
    scale: float,
    unit: float,
    radius: float,
    tuning: Tuning,
    known: Known,
) -> None:
    """gains[k] = std of release k per unit of noise, the last one also that of all later ones. The users of the first
    step get random arms, unless something is known. Changes state and the block's out arrays."""
    counts, prefix, watched = state
    posterior = plain(watched)
    low, high, target = rewards.low, rewards.high, np.empty(posterior.theta.size)
    for t in range(block.noise.size):
        if entries(counts, held) >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            step = prefix.noise.step[0]
            std = law.scale * gains[min(step, gains.size - 1)]
            std = notice(prefix.released, step, schedule, prefix.discount[0], scale, unit, std, watched)
            released = watched.rest if watched.rest.size > 0 else prefix.released
            fit(released, scale, unit, std, radius, tuning, posterior)
            if known.theta.size > 0:
                combine(known, radius, posterior)
            counts[BOUNDARY] = boundary_by(schedule, entries(counts, held))
        if prefix.noise.step[0] == 0 and known.theta.size == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson(policy, block.arms[t], posterior, target)
        if not outcome(block, t, index):
            continue
        x, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            add_glm(x, y, posterior.theta, posterior.inverse, link, blend, scale, low, high, prefix.open)
        if slot >= 0:
            forget(held, slot)


@kernel
def glm_block_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    law: NoiseLaw,
    gains: Array,
    schedule: Schedule,
    rewards: Range,
    link: Code,
    blend: float,
    scale: float,
    unit: float,
    radius: float,
    tuning: Tuning,
    known: Known,
    live: Integers,
) -> None:
    """`glm_rounds` where arms are rows (z, a) and sums and estimates are of blocks."""
    counts, prefix, posterior = state
    p = posterior.theta.shape[1]
    low, high, target = rewards.low, rewards.high, np.empty(posterior.theta.shape)
    for t in range(block.noise.size):
        if entries(counts, held) >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            gain = gains[min(prefix.noise.step[0], gains.size - 1)]
            fit_blocks(prefix.released, scale, unit, law.scale * gain, radius, tuning, live, posterior)
            if known.theta.size > 0:
                combine_blocks(known, radius, live, posterior)
            counts[BOUNDARY] = boundary_by(schedule, entries(counts, held))
        if prefix.noise.step[0] == 0 and known.theta.size == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson_blocks(policy, block.arms[t], posterior, target)
        if not outcome(block, t, index):
            continue
        row, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            x, a = row[:p], int(row[p])
            own = Exact(prefix.open[a * pair_size(p) : (a + 1) * pair_size(p)])
            add_glm(x, y, posterior.theta[a], posterior.inverse[a], link, blend, scale, low, high, own)
        if slot >= 0:
            forget(held, slot)
