"""One pass around a usual reward (base_rate=), where arms are vectors: what is released is the sums of y y' and of
(r - c) y, y the features with a constant before them. With the features x of the arm, of norm at most `longest` but for
`skip` constants before them, the reward's share r of its range and public numbers c (the centre) and a (scale), a user
adds
    v = (a svec(y y'), (r - c) y),   y = (1, x / longest) / sqrt 2.
The constant of y is its own: with half of the length it costs nothing (CentredContribution).

The chance of a reward is taken to be linear in y. Where rewards are rare that is what makes it learn: with a link, the
constant's weight is far from 0 (log odds of -4.6 at 1 %), and the noise of the curvature is multiplied by it; here all
weights are small, so that the noise of the curvature hardly matters, and a curvature that is known brings nothing more.

Estimate. The curvature is drawn towards one in which the features of a field vary alike and those of two fields have
nothing to do with each other, as far as the distance may be noise (fields.towards). Weights have a Gaussian posterior
around the usual reward that was seen, with a prior variance for each field that is learnt (fields.weights); a vector
without a schema is one field.

All of it is post-processing of what was released and of the schema."""

import functools
import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent import checks, special
from reticent.algorithms import irls
from reticent.algorithms.chances import Values
from reticent.data import Array, Exact, Integers, Released
from reticent.features.schema import Schema, SchemaPart
from reticent.kernels.block import Block
from reticent.kernels.compile import formula, kernel
from reticent.kernels.continual import JointState, PrefixState
from reticent.kernels.glm import Posterior, thompson
from reticent.kernels.rounds import NOBODY, Held, enters, forget, outcome
from reticent.kernels.summing import join_row
from reticent.model.vectors import PairContribution, add_pair, norm, packed_size, pair_size
from reticent.models import fields
from reticent.models.fields import Fields, distance, linear_mean
from reticent.models.protocol import Compiled, Course, Loop, ModelSettings, ModelSums, Pace, copied

# Chosen by regret on tuning seeds (docs/measurements/fields.md); none of them touches privacy.
SCALE, LEAST = 0.5, 0.02  # a^2, in shares of c (1 - c); and the least there is
WIDENING = 1.6  # of intervals
CONSTANT = math.sqrt(0.5)  # of everybody's y


@dataclass(frozen=True, kw_only=True, eq=False)
class Centred:
    """contribution: what a person adds, and how far that moves the sums. schema: of the features, if they have one.
    radius: of theta*, before anything is learnt."""

    contribution: "CentredContribution"
    schema: Schema | None
    radius: float
    pace: ClassVar[Pace] = Fields.pace
    knows: ClassVar[bool] = False
    reports: ClassVar[bool] = False

    @classmethod
    def of(cls, asked: ModelSettings) -> "Centred":
        parts, schema = asked.parts, asked.schema
        assert asked.base_rate is not None
        if schema is not None:  # whose vectors begin with a constant, which is left out
            parts |= {"skip": 1, "longest": math.sqrt(1 - schema.common[0].weight ** 2)}
        c = CentredContribution.of(centre=asked.base_rate, **parts)
        return cls(contribution=c, schema=schema, radius=asked.radius)

    @property
    def sums(self) -> ModelSums:
        """See CentredContribution."""
        words = "products of features, and centred rewards times features"
        return ModelSums(self.contribution.size, self.contribution.sensitivity, "l2", words)

    # the estimate

    def blank(self, live: Integers) -> Posterior:
        c = self.contribution
        one, lifted = irls.prior(c.dim, self.radius), irls.prior(c.numbers, self.radius)
        return one._replace(centre=lifted.centre, inverse=lifted.inverse)

    def fit(
        self, before: Posterior, released: Released, step: int, live: Integers, course: Course, chosen: int
    ) -> Posterior:
        """theta, axes, precision and spread are of the features of an arm, by which choices are made; centre and
        inverse are of y."""
        out: Posterior = copied(before)
        c, std, parts = self.contribution, course.std(step), self._parts()
        p, packed = c.numbers, packed_size(c.numbers)
        found, noise = fields.unpacked(released[None, :packed] / c.scale, p), std / c.scale
        curvature = _drawn(found, noise, parts)
        doubt, variances = np.array([noise**2 / 2]), np.zeros(len(parts))
        theta, covariance = fields.weights(curvature, doubt, released[None, packed:], std, c.centre, parts, variances)
        out.centre[:], out.inverse[:] = theta[0], covariance[0]
        unit, rest = CONSTANT / c.longest, slice(c.skip, None)
        own = np.zeros((c.dim, c.dim))
        own[rest, rest] = unit**2 * covariance[0, 1:, 1:]
        values, out.axes[:] = np.linalg.eigh(own)
        values = np.maximum(values, 0.0)
        out.theta[:] = 0.0
        out.theta[rest] = unit * theta[0, 1:]
        out.precision[:] = 1 / np.maximum(values, 1e-12)
        out.spread[:] = fields.EXPLORE * np.sqrt(values)
        return out

    def _parts(self) -> tuple[SchemaPart, ...]:
        """Of y."""
        if self.schema is None:
            return _whole(self.contribution.dim)
        unit = CONSTANT / self.contribution.longest
        first, *others = self.schema.common
        return first._replace(weight=CONSTANT), *(part._replace(weight=unit * part.weight) for part in others)

    # choices

    def pick(self, estimate: Posterior, arms: Array, rng: Generator) -> Integers:
        return irls.choose_many(rng, arms, estimate)

    def values(self, estimate: Posterior, arms: Array) -> Values:
        return irls.values(arms, estimate)

    def beliefs(self, estimate: Posterior, arms: Array, level: float) -> tuple[Array, Array]:
        """The distance from the usual reward, and half the width of its interval: what the noise leaves open, and as
        much as the distance itself, because chances are not linear. The interval always holds the usual reward that was
        declared."""
        c = self.contribution
        rest = arms[:, c.skip :]
        lengths = np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), c.longest)
        lifted = np.hstack([np.full((len(arms), 1), CONSTANT), rest * (CONSTANT / lengths)])
        middle, half = irls.beliefs(lifted, estimate, WIDENING * float(special.ndtri((1 + level) / 2)))
        return middle, half + np.abs(middle)

    def mean(self, z: Array) -> Array:
        return linear_mean(self.contribution.centre, self.contribution.low, self.contribution.high, z)

    def report(self, estimate: Posterior, live: Integers, course: Course) -> None:
        return None

    # contributions

    def keep(self, estimate: Posterior, x: Array, place: int, name: str | None, names: tuple[str, ...]) -> Array:
        return x.copy()

    def adder(self, estimate: Posterior) -> Compiled:
        return Compiled(sum_centred, (self._numbers(), np.arange(self.contribution.size)[None]))

    def _numbers(self) -> "Around":
        c = self.contribution
        return Around(c.dim, c.skip, c.longest, c.centre, c.scale, float(c.low), float(c.high))

    def loop(self, course: Course) -> Loop:
        return Loop(self._play, by_step=True)

    def _play(self, policy: Generator, _: Any, block: Block, held: Held, state: Any, live: Integers) -> None:
        random = state.prefix.noise.step[0] == 0
        centred_rounds(policy, block, held, state, self._numbers(), bool(random))


def _drawn(found: Array, std: float, parts: tuple[SchemaPart, ...]) -> Array:
    """The curvature, from one whose numbers have noise of that std (in svec)."""
    groups = np.repeat(np.arange(len(parts)), [part.size for part in parts])
    diagonal = np.diagonal(found[0])
    alike = np.array([diagonal[groups == g].mean() for g in range(len(parts))])
    target = np.diag(np.maximum(alike, 0.0)[groups])[None]
    target[:, 0, :], target[:, :, 0] = found[:, 0, :], found[:, :, 0]
    values, axes = np.linalg.eigh(fields.towards(target, found, std, parts))
    out: Array = (axes * np.maximum(values, 0.0)[:, None, :]) @ axes.swapaxes(1, 2)
    return out


@functools.lru_cache(maxsize=16)
def _whole(dim: int) -> tuple[SchemaPart, ...]:
    """The constant, and a vector of length 1 as a field."""
    constant = SchemaPart((), 0, 1, CONSTANT, np.zeros(1, np.bool_))
    return constant, SchemaPart(("x",), 1, dim, CONSTANT / math.sqrt(dim), np.ones(dim, np.bool_))


@dataclass(frozen=True, kw_only=True)
class CentredContribution(PairContribution):
    """v of the module's text; `scale` is a. skip: so many numbers at the start of an arm, 0 or 1, are a constant, which
    is left out. longest: the largest norm of the others.

    Guarantee: replacing a user moves the sum by at most D,
        D^2 = max{1 + 2 max(0, 2 a^2 - c (1 - c)) + e, 2 (C^2 + a^2)},   C = max(c, 1 - c),
        e = a^2 / 2 if a^2 > 2 min(c, 1 - c), else 0.

    Proof. It is that of FieldContribution, with alpha = 0 and one action. y and y~ have the constant in common and at
    most 1/2 of squared length beside it: <y, y~> >= 0, so that Q = |y - y~|^2 <= 2 = B. Equal rewards: |v - v~|^2 =
    (r - c)^2 Q + a^2 |y y' - y~ y~'|^2 <= 2 C^2 + 2 a^2, which opposite x of full length attain. Opposite rewards: the
    first number, which is 1 if a^2 <= c (1 - c) / 2, as much as (r - c) y alone has. Nothing in one world, or a reward
    that comes in another step: |v|^2 + |v~|^2 <= 2 (C^2 + a^2), so that this costs nothing more (mechanisms.continual).

    Why half. With a constant of squared length s^2 the features have 1 - s^2, and (r - c) y moves by
    max(1, 2 C sqrt(1 - s^2)): per unit of noise there is as much signal for every s^2 <= 3/4 where C = 1. A reward that
    comes in another step needs sqrt 2 C whatever s is: that is less than the other for s^2 < 1/2 alone. So s^2 = 1/2 is
    best where leaves follow from arrivals, and as good as any where they follow from numbers."""

    centre: float
    skip: int = 0
    longest: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(longest=self.longest)
        checks.probability(centre=self.centre)

    @classmethod
    def of(cls, *, centre: float, **parts: object) -> "CentredContribution":
        scale = math.sqrt(max(SCALE * centre * (1 - centre), LEAST))
        return cls(scale=scale, centre=centre, **parts)  # type: ignore[arg-type]

    @property
    def numbers(self) -> int:
        """Of y."""
        return self.dim - self.skip + 1

    @property
    def size(self) -> int:
        return pair_size(self.numbers)

    @property
    def sensitivity(self) -> float:
        return distance(self.centre, self.scale**2, 0.0, 2.0)

    @property
    def norm(self) -> float:
        """The largest |v|."""
        return math.sqrt(max(self.centre, 1 - self.centre) ** 2 + self.scale**2)


# kernels


class Around(NamedTuple):
    """What contributions are made with, for rows that begin with so many features."""

    width: int
    skip: int
    longest: float
    centre: float
    scale: float
    low: float
    high: float


@formula
def lifted(x: Array, skip: int, longest: float) -> Array:
    """y: of norm at most 1, however long x is."""
    rest = x[skip:]
    out = np.empty(rest.size + 1)
    out[0] = CONSTANT
    out[1:] = rest * (CONSTANT / max(longest, norm(rest)))
    return out


@kernel
def add_centred(
    x: Array, y: float, skip: int, longest: float, centre: float, scale: float, low: float, high: float, out: Exact
) -> None:
    """out += v, with y cut to [low, high]."""
    share = (min(max(y, low), high) - low) / (high - low)
    add_pair(lifted(x, skip, longest), scale, share - centre, out)


@kernel
def sum_centred(
    rows: Array, rewards: Array, weights: Array, at: Around, places: Integers, cell: float, longest: float, out: Exact
) -> None:
    """out += the contributions of the rows; places: (1, numbers of a contribution)."""
    own = Exact(np.zeros(places.shape[1]))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            x, y = rows[i, : at.width], rewards[i]
            add_centred(x, y, at.skip, at.longest, at.centre, at.scale, at.low, at.high, own)
            join_row(own, weights[i], places[0], cell, longest, out)


@kernel
def centred_rounds(
    policy: Generator, block: Block, held: Held, state: JointState[PrefixState], at: Around, random: bool
) -> None:
    """Rounds that end no step; random: with random arms. Changes state and the block's out arrays."""
    counts, prefix, posterior = state
    target = np.empty(posterior.theta.size)
    for t in range(block.noise.size):
        if random:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson(policy, block.arms[t], posterior, target)
        if not outcome(block, t, index):
            continue
        x, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            add_centred(x, y, at.skip, at.longest, at.centre, at.scale, at.low, at.high, prefix.open)
        if slot >= 0:
            forget(held, slot)
