"""One pass without curvature: what is released is d numbers, the sums of scores at public estimates (model.scores), and
the estimate is a multiple of them.

As long as theta is wrong, scores push it: the sum grows until their mean is 0. So noise that was in an earlier release
is undone by the people who come after it, in every direction in which there are some; no estimate of the curvature,
which would be d (d + 1) / 2 numbers with noise of their own, stands between.

theta = eta_k S_k after release k, eta_k = model.scores.pace(std_k, n_k, ...) for noise of std_k in each number of S_k
and the n_k people of the step that follows."""

import functools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.algorithms import chances
from reticent.algorithms.chances import Values
from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.continual import JointState, PrefixState, simulate_step
from reticent.kernels.formulas import add_score
from reticent.kernels.glm import Known, Posterior
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
    next_boundary,
    outcome,
)
from reticent.kernels.scores import best_by, best_rows, follow, place_of, unlearnt
from reticent.kernels.summing import block_of_row, join_row
from reticent.model import arms as arms_of
from reticent.model.links import Code, Link
from reticent.model.scores import REACH, ScoreContribution, pace, steepness
from reticent.models.glm import mean_of
from reticent.models.protocol import Compiled, Course, Loop, ModelSettings, ModelSums, Pace, copied

# Chosen by regret on tuning seeds (docs/measurements/scores.md); none of them touches privacy.
AVERAGE = 0.1  # of the way to the latest estimate that the average of estimates, by which one plays, goes
FRESH = 0.25  # of the std of theta's noise: that of a draw that is added for each choice


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """radius: of theta*. prior: what is known from elsewhere, of which theta alone counts."""

    contribution: ScoreContribution
    radius: float
    prior: Known
    pace: ClassVar[Pace] = Pace(growth=1.02, discount=0.997, per_sigma=1.0)
    reports: ClassVar[bool] = False

    @classmethod
    def of(cls, asked: ModelSettings) -> "Scores":
        return cls(
            contribution=ScoreContribution(link=asked.link, **asked.parts), radius=asked.radius, prior=asked.prior
        )

    @property
    def sums(self) -> ModelSums:
        """See ScoreContribution."""
        return ModelSums(self.contribution.size, self.contribution.sensitivity, "l2", "scores")

    @property
    def knows(self) -> bool:
        return bool(self.prior.theta.size)

    # estimates

    def blank(self, live: Integers) -> Posterior:
        given = self.prior.theta
        return unlearnt(given.ravel().copy() if given.size else np.zeros(self.contribution.dim))

    def fit(
        self, before: Posterior, released: Released, step: int, live: Integers, course: Course, chosen: int
    ) -> Posterior:
        out, here = copied(before), self._coordinates(live)
        etas, spreads = self._paces(course, here)
        k = min(step, len(etas) - 1)
        follow(released, step, etas[k], AVERAGE, spreads[k], REACH * self.radius, here, self.prior, out)
        return out  # type: ignore[no-any-return]

    def _coordinates(self, live: Integers) -> Integers:
        """Those of these blocks."""
        own = self._own
        out: Integers = (own * live[:, None] + np.arange(own)).ravel()
        return out

    @property
    def _own(self) -> int:
        """Coordinates of one block."""
        return self.contribution.dim // self.contribution.blocks

    def _paces(self, course: Course, here: Integers) -> tuple[Array, Array]:
        """`steps` for an estimate of these coordinates."""
        stds, people, c = course.sigma * course.gains, lengths(course.schedule, course.leaves), self.contribution
        return steps(stds, people, len(here), self.radius, c.link, c.high - c.low)

    def pick(self, estimate: Posterior, arms: Array, rng: Generator) -> Integers:
        """The best arm by theta and fresh noise."""
        out = np.zeros(len(arms), np.int64)
        drawn = self.contribution.dim if estimate.spread[0] > 0 else 0
        draws = rng.standard_normal((len(arms), drawn))
        best_rows(arms, estimate, draws, self._own, out)
        return out

    def values(self, estimate: Posterior, arms: Array) -> Values:
        """A draw that is alike in all directions, along those of the arms alone."""
        arms = self._whole(arms)
        along, _ = np.linalg.qr(arms.T)
        return chances.values(arms, estimate.theta, estimate.spread[0] * along)

    def beliefs(self, estimate: Posterior, arms: Array, level: float) -> tuple[Array, Array]:
        """As much to both sides as |theta*| <= radius allows. Without a curvature nothing else is known of how far the
        estimate may be off."""
        arms = self._whole(arms)
        middle = arms @ estimate.theta
        return middle, np.abs(middle) + self.radius * np.linalg.norm(arms, axis=1)

    def _whole(self, arms: Array) -> Array:
        """Arms with their zeros."""
        c = self.contribution
        return arms_of.whole(arms, c.dim, c.blocks) if c.blocks > 1 else arms

    def mean(self, z: Array) -> Array:
        return mean_of(self.contribution.link, self.contribution.low, self.contribution.high, z)

    def report(self, estimate: Posterior, live: Integers, course: Course) -> None:
        return None

    # contributions

    def keep(self, estimate: Posterior, x: Array, place: int, name: str | None, names: tuple[str, ...]) -> Array:
        return x.copy()

    def adder(self, estimate: Posterior) -> Compiled:
        c, here = self.contribution, np.arange(self.contribution.dim).reshape(self.contribution.blocks, -1)
        at = Scored(estimate.centre[here], c.link.code, float(c.low), float(c.high))
        return Compiled(sum_scores, (at, here))

    def loop(self, course: Course) -> Loop:
        return Loop(functools.partial(self._play, course), by_step=False)

    def _play(self, course: Course, *rounds: Any) -> None:
        *given, live = rounds
        c, here = self.contribution, self._coordinates(live)
        pace, rewards = (*self._paces(course, here), AVERAGE, course.schedule), Range(float(c.low), float(c.high))
        numbers = c.link.code, REACH * self.radius, here, self.prior, self._own
        play: Any = score_rounds
        play(*given, course.law, *pace, rewards, *numbers)


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


# kernels


class Scored(NamedTuple):
    """What scores are made with: the estimate of each block's coordinates, and settings."""

    theta: Array  # (blocks, q)
    link: Code
    low: float
    high: float


@kernel
def sum_scores(
    rows: Array, rewards: Array, weights: Array, at: Scored, places: Integers, cell: float, longest: float, out: Exact
) -> None:
    """out[places[a]] += the scores of the rows in block a."""
    blocks, q = at.theta.shape
    own = Exact(np.zeros(q))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            a = block_of_row(rows[i], q, blocks)
            add_score(rows[i, :q], rewards[i], at.theta[a], 0, at.link, at.low, at.high, own)
            join_row(own, weights[i], places[a], cell, longest, out)


@kernel
def score_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    law: NoiseLaw,
    etas: Array,
    spreads: Array,
    share: float,
    schedule: Schedule,
    rewards: Range,
    link: Code,
    most: float,
    here: Integers,
    known: Known,
    width: int,
) -> None:
    """etas[k], spreads[k]: those after k releases, the last ones also those of all later ones. The users of the first
    step get random arms, unless something is known. Changes state and the block's out arrays."""
    counts, prefix, posterior = state
    target = np.empty(posterior.theta.size)
    for t in range(block.noise.size):
        if entries(counts, held) >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            k = min(prefix.noise.step[0], etas.size - 1)
            step = prefix.noise.step[0]
            follow(prefix.released, step, etas[k], share, spreads[k], most, here, known, posterior)
            counts[BOUNDARY] = boundary_by(schedule, entries(counts, held))
        if prefix.noise.step[0] == 0 and known.theta.size == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = best_by(policy, block.arms[t], posterior, width, target)
        if not outcome(block, t, index):
            continue
        row, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            x, start = row[:width], place_of(row, width)
            add_score(x, y, posterior.centre, start, link, rewards.low, rewards.high, prefix.open)
        if slot >= 0:
            forget(held, slot)
