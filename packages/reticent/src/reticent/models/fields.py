"""One pass by fields: each action has a part of the vector for itself, and a schema says of which fields it consists.

What is released, for each action: the sums of x x', of (r - c) x and of x. With the features x of the person, of norm
at most 1, u those of them that are never negative, the reward's share r of its range and public numbers c (the centre),
alpha (count) and a (scale), a user whose action is k adds
    v = (a svec(x x'), (r - c) x, alpha u)   in the place of action k. The chance of a reward is
taken to be linear in x, for each action: whatever the link, it is a sum of one number for each field.

Curvature. That of an action is hundreds of numbers which are mostly noise. Most of it is known: people come as the sums
of features say, and the policy of each step is public. So people are made up (features.people), the policy of the step
chooses for them, and the sums of their x x' are a target; what was released is drawn towards it: how often each
value came by precision, products of two fields as far as the distance may be noise (James & Stein, with a margin).

Estimate. With curvature A, moment b with noise of std s, and the rate of all actions as the centre, an action's weights
have a Gaussian posterior; the prior's variance is one number for each field, the same for all actions, and is learnt
(MacKay): a field that does not matter is left out as soon as the noise allows to see it.

All of it is post-processing of what was released, of the schedule and of the schema."""

import functools
import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from reticent import checks, special
from reticent.algorithms import irls
from reticent.algorithms.chances import Values
from reticent.data import Array, Booleans, Exact, Integers, Released
from reticent.features.people import made_up
from reticent.features.schema import Schema, SchemaPart
from reticent.kernels.block import Block
from reticent.kernels.blocks import thompson_blocks
from reticent.kernels.compile import formula, kernel
from reticent.kernels.continual import JointState, PrefixState
from reticent.kernels.rounds import NOBODY, Held, enters, forget, outcome
from reticent.kernels.summing import block_of_row, join_row
from reticent.model.vectors import PairContribution, add_outer, packed_size, pair_size
from reticent.models import segments
from reticent.models.protocol import Compiled, Course, Loop, ModelSettings, ModelSums, Pace, copied
from reticent.models.scores import lengths
from reticent.models.segments import Segments

# Chosen by regret on tuning seeds of a world of messages (docs/measurements/fields.md); none of them touches privacy.
EXPLORE, BOLD = 0.15, 0.3  # of the posterior's std: a draw for each choice; where an action was hardly ever chosen
SELDOM = 0.5  # of the usual number of choices: fewer are too few
MARGIN = 2.8  # by so many standard deviations or so a distance has to exceed what noise would give
OFF = 0.2  # of how often a value comes: what its target is off by, about
EVEN = 0.5  # the centre, where no base rate is given
COUNT, SCALE = 0.6, 0.2  # alpha^2 and a^2, in shares of c (1 - c), or of LEAST where that is less
LEAST = 0.06
PEOPLE = 1000  # that are made up at each step
OWN, ALONE = 0.8, 0.2  # std of what a field, and of what an action itself, does to the log odds, before it is learnt
TRUST = 1.0  # of that: as if so many more numbers had been seen
ROUNDS = 5  # of learning it, at each step
SLOTS = 32  # estimates that are remembered: of those who are held, some chose by earlier ones


class FieldPosterior(NamedTuple):
    """As kernels.glm.Posterior, with an axis of blocks first; and what the next one is made from. Arrays."""

    theta: Array
    centre: Array
    axes: Array
    precision: Array
    spread: Array
    inverse: Array
    target: Array  # (blocks, p, p): of each action's curvature
    variances: Array  # (2, parts): of the prior, before this release and after it; 0 before anything was learnt
    past: Array  # (SLOTS, blocks, p): theta after the latest releases, by their number modulo SLOTS
    folded: Array  # (2,): the release that the target is of; 1 if a predecessor released something
    people: Array  # (p,): the sums of an action's part of the features, over all people, as they were last released


@dataclass(frozen=True, kw_only=True, eq=False)
class Fields:
    """contribution: what a person adds, and how far that moves the sums. radius: of theta*, before anything is
    learnt."""

    contribution: "FieldContribution"
    schema: Schema
    radius: float
    pace: ClassVar[Pace] = Pace(growth=1.1, discount=0.98, per_sigma=10.0)
    knows: ClassVar[bool] = False
    reports: ClassVar[bool] = True

    @classmethod
    def of(cls, asked: ModelSettings) -> "Fields":
        schema = asked.schema
        assert schema is not None
        swing = math.sqrt(sum(part.weight**2 for part in schema.own if part.signed.any()))
        centre = EVEN if asked.base_rate is None else asked.base_rate
        c = FieldContribution.of(centre=centre, constant=schema.own[0].weight, swing=swing, **asked.parts)
        return cls(contribution=c, schema=schema, radius=asked.radius)

    @property
    def sums(self) -> ModelSums:
        """See FieldContribution."""
        words = "features, their products and centred rewards, by fields"
        return ModelSums(self.contribution.size, self.contribution.sensitivity, "l2", words)

    @property
    def _own(self) -> int:
        """Coordinates of one action."""
        return self.contribution.dim // self.contribution.blocks

    # the estimate

    def blank(self, live: Integers) -> FieldPosterior:
        own, blocks = self._own, self.contribution.blocks
        return FieldPosterior(
            *irls.prior_of_blocks(own, self.radius, blocks, live),
            np.zeros((blocks, own, own)),
            np.zeros((2, len(self.schema.own))),
            np.zeros((SLOTS, blocks, own)),
            np.array([-1.0, 0.0]),
            np.zeros(own),
        )

    def fit(
        self, before: FieldPosterior, released: Released, step: int, live: Integers, course: Course, chosen: int
    ) -> FieldPosterior:
        out: FieldPosterior = copied(before)
        out.people[:] = self._people(released)
        self._estimator(out, step, live, course, chosen)
        self._fit(out, released, step, live, course)
        return out

    def _people(self, released: Released) -> Array:
        sums = released.reshape(self.contribution.blocks, -1)[:, pair_size(self._own) :].sum(axis=0)
        return np.asarray(sums / self.contribution.count)

    def _estimator(self, out: FieldPosterior, step: int, live: Integers, course: Course, chosen: int) -> None:
        """The people of the step that was released join the targets: made-up ones, for whom the estimate after `chosen`
        releases chooses. Once for each release. Changes out.target, out.variances and out.folded."""
        if out.folded[0] == step:
            return
        out.folded[0] = step
        out.variances[0] = out.variances[1]
        if step == 0:  # released by a predecessor, whose people are not known otherwise
            out.folded[1] = 1.0
            count = max(float(out.people[0]) / self.schema.own[0].weight, 1.0)
        else:
            length = lengths(course.schedule, course.leaves)
            count = float(length[min(step, len(length)) - 1])
        rng = default_rng(step)  # of nobody's: the same for everybody who computes it
        those = made_up(self.schema, out.people, PEOPLE, rng)
        out.target[:] *= course.fading
        if step == 0 or (chosen <= 0 and not out.folded[1]):  # by random arms
            out.target[live] += count / PEOPLE / len(live) * (those.T @ those)
            return
        theta = out.past[max(chosen, step - SLOTS) % SLOTS, live]
        best = segments.offered(out, those, theta, live, rng)
        for i, block in enumerate(live):
            mine = those[best == i]
            out.target[block] += count / PEOPLE * (mine.T @ mine)

    def _fit(self, out: FieldPosterior, released: Released, step: int, live: Integers, course: Course) -> None:
        c, p, std, parts = self.contribution, self._own, course.std(step), self.schema.own
        sums = released.reshape(c.blocks, -1)[live]
        packed, last = packed_size(p), pair_size(p)
        seen = Seen(unpacked(sums[:, :packed] / c.scale, p), std / c.scale, sums[:, last:] / c.count, std / c.count)
        curvature, doubt = drawn(out.target[live], seen, marks(self.schema), parts)
        moment = sums[:, packed:last]
        out.variances[1] = out.variances[0]  # so that the same release gives the same, however often
        theta, covariance = weights(curvature, doubt, moment, std, c.centre, parts, out.variances[1])
        values, axes = np.linalg.eigh(covariance)
        values = np.maximum(values, 1e-12)
        seldom = np.maximum(0.0, 1 - curvature[:, 0, 0] / (SELDOM * max(curvature[:, 0, 0].mean(), 1e-9)))
        out.theta[live] = out.centre[live] = theta
        out.inverse[live], out.axes[live], out.precision[live] = covariance, axes, 1 / values
        out.spread[:] = 0.0
        past = out.past[step % SLOTS]
        past[:] = np.append(theta[:, 0].mean(), np.zeros(p - 1))  # what an action that is new is taken for
        past[live] = theta
        out.spread[live] = (EXPLORE + (BOLD - EXPLORE) * seldom)[:, None] * np.sqrt(values)

    # choices: as those of blocks

    def pick(self, estimate: FieldPosterior, arms: Array, rng: Generator) -> Integers:
        return irls.choose_many(rng, arms, estimate)  # type: ignore[arg-type]

    def values(self, estimate: FieldPosterior, arms: Array) -> Values:
        return irls.values(arms, estimate)  # type: ignore[arg-type]

    def beliefs(self, estimate: FieldPosterior, arms: Array, level: float) -> tuple[Array, Array]:
        widths = segments.WIDENING * float(special.ndtri((1 + level) / 2))
        return irls.beliefs(arms, estimate, widths)  # type: ignore[arg-type]

    def mean(self, z: Array) -> Array:
        return linear_mean(self.contribution.centre, self.contribution.low, self.contribution.high, z)

    def report(self, estimate: FieldPosterior, live: Integers, course: Course) -> Segments | None:
        step, c = int(estimate.folded[0]), self.contribution
        if step < 0:
            return None
        noise = course.std(step) * math.sqrt(c.blocks) / c.count
        return segments.of(self.schema, self.mean, c.high - c.low, estimate, step, live, noise)

    # contributions

    def keep(self, estimate: FieldPosterior, x: Array, place: int, name: str | None, names: tuple[str, ...]) -> Array:
        return x.copy()

    def adder(self, estimate: FieldPosterior) -> Compiled:
        return Compiled(sum_fields, (self._numbers(), places(self._own, self.contribution.blocks)))

    def _numbers(self) -> "Counted":
        c = self.contribution
        low, high = float(c.low), float(c.high)
        return Counted(marks(self.schema), c.constant, c.swing, c.centre, c.count, c.scale, low, high)

    def loop(self, course: Course) -> Loop:
        return Loop(self._play, by_step=True)

    def _play(self, policy: Generator, _: Any, block: Block, held: Held, state: Any, live: Integers) -> None:
        random = state.prefix.noise.step[0] == 0
        here = places(self._own, self.contribution.blocks)
        field_rounds(policy, block, held, state, self._numbers(), here, bool(random))


def marks(schema: Schema) -> Booleans:
    """Which features may be negative."""
    return np.concatenate([part.signed for part in schema.own])


def linear_mean(centre: float, low: float, high: float, z: Array) -> Array:
    """The mean reward where its share of the range is centre + z."""
    return np.asarray(low + (high - low) * np.clip(z + centre, 0.0, 1.0))


@functools.lru_cache(maxsize=16)
def places(own: int, blocks: int) -> Integers:
    """(blocks, numbers of a contribution)."""
    size = pair_size(own) + own
    return np.arange(blocks * size).reshape(blocks, size)


def unpacked(packed: Array, p: int) -> Array:
    """Symmetric matrices from their svecs."""
    i, j = np.triu_indices(p)
    out = np.zeros((len(packed), p, p))
    out[:, i, j] = out[:, j, i] = packed / np.where(i == j, 1.0, np.sqrt(2.0))
    return out


class Seen(NamedTuple):
    """What was released of live actions, and the std of its noise: the sums of x x' (in svec) and of x."""

    products: Array  # (live, p, p)
    products_std: float
    sums: Array  # (live, p)
    sums_std: float


def drawn(target: Array, seen: Seen, signed: Booleans, parts: tuple[SchemaPart, ...]) -> tuple[Array, Array]:
    """The curvature of each action, from its target and from what was seen: first as many people as there were, then
    as often as each value came (the constant's row), then products of two fields, of all actions together and of its
    own. And the variance that is left in the constant's row, on average."""
    if not seen.products_std:  # nothing is in doubt
        return seen.products, np.zeros(len(target))
    weight, total = parts[0].weight, target[:, 0, 0].sum()
    more, noise = weight * seen.sums[:, 0].sum() - total, len(target) * (weight * seen.sums_std) ** 2
    keep = float(_kept(np.array(more**2), np.array(noise), np.array(1.0)))
    target, doubt = _counted(target * max(1 + keep * more / max(total, 1e-9), 0.05), seen, signed, parts)
    together, share = target.sum(axis=0), target[:, 0, 0] / target[:, 0, 0].sum()
    std = seen.products_std
    apart = towards(together, seen.products.sum(axis=0), std * math.sqrt(len(target)), parts) - together
    target = towards(target + share[:, None, None] * apart, seen.products, std, parts)
    values, axes = np.linalg.eigh(target)
    return (axes * np.maximum(values, 0.0)[:, None, :]) @ axes.swapaxes(1, 2), doubt


def _counted(target: Array, seen: Seen, signed: Booleans, parts: tuple[SchemaPart, ...]) -> tuple[Array, Array]:
    """Each action's target, for people whose values are as frequent as were seen, where the noise allows to tell."""
    sizes, weights = [part.size for part in parts], np.array([part.weight for part in parts])
    groups, first = np.repeat(np.arange(len(parts)), sizes), parts[0].weight
    row = np.where(signed, target[:, 0], np.maximum(target[:, 0], 1e-9))
    precision = 2 / seen.products_std**2 if seen.products_std else np.inf
    once = np.full(len(groups), precision)
    once[0] /= 2
    direct = np.where(signed, 0.0, 1 / (first * seen.sums_std) ** 2 if seen.sums_std else np.inf)
    exact = not seen.sums_std
    share = np.where(signed, 0.0, 1.0) if exact else direct / (once + direct)
    measured = share * first * seen.sums + (1 - share) * seen.products[:, 0]
    variance = np.zeros(len(groups)) if exact else 1 / (once + direct)
    before = (OFF * row) ** 2 + first * weights[groups] * np.abs(row) + 1e-12
    new = row + before / (before + variance) * (measured - row)
    ratio = np.where(signed, 1.0, np.clip(new / np.where(signed, 1.0, row), 0.2, 5.0))
    ratio = np.where(signed, ratio[:, :1], ratio)
    times = ratio[:, :, None] * ratio[:, None, :] / ratio[:, :1, None]
    same = groups[:, None] == groups
    times = np.where(same, np.sqrt(ratio[:, :, None] * ratio[:, None, :]), times)
    out = target * times
    out[:, 0, :] = out[:, :, 0] = np.where(signed, new, row * ratio)
    left = np.where(signed, 0.0, before * variance / (before + variance))
    return out, left.sum(axis=1) / np.count_nonzero(~signed)


def towards(target: Array, found: Array, std: float, parts: tuple[SchemaPart, ...]) -> Array:
    """target + keep (found - target), keep for each pair of fields: found has noise of that std on its diagonal and std
    / sqrt 2 elsewhere."""
    sizes = np.array([part.size for part in parts], dtype=np.float64)
    within = np.repeat(np.eye(len(parts)), sizes.astype(np.int64), axis=0)
    square = within.T @ (found - target) ** 2 @ within
    noise = std**2 / 2 * (np.outer(sizes, sizes) + np.diag(sizes))
    count = np.outer(sizes, sizes) - np.diag(sizes * (sizes - 1) / 2)
    keep = _kept(square, noise, count)
    keep[..., 0, :] = keep[..., :, 0] = 0.0
    out: Array = target + (within @ keep @ within.T) * (found - target)
    return out


def _kept(square: Array, noise: Array, count: Array) -> Array:
    """The share of a squared distance, of so many numbers, that noise would not explain, which gives `noise` on
    average."""
    out: Array = np.maximum(0.0, 1 - (1 + MARGIN / np.sqrt(count)) * noise / np.maximum(square, 1e-150))
    return out


def weights(
    curvature: Array,
    doubt: Array,
    moment: Array,
    std: float,
    centre: float,
    parts: tuple[SchemaPart, ...],
    variances: Array,
) -> tuple[Array, Array]:
    """The posterior's mean and covariance for each action: of (r - c) = <x, theta> + noise, from A and b, whose noise
    is (std^2 + doubt m^2) I + v A, m the constant's weight for all actions together and v the variance of a reward.
    Changes variances, the prior's for each part."""
    usual = moment[:, 0].sum() / max(curvature[:, 0, 0].sum(), 1e-9)  # the constant's weight, for all actions
    rate = min(max(centre + parts[0].weight * usual, 0.002), 0.998)
    usual, variance = (rate - centre) / parts[0].weight, rate * (1 - rate)
    sizes = np.array([part.size for part in parts])
    before = np.array([((OWN if part.names else ALONE) * variance / part.weight) ** 2 for part in parts])
    rest = moment - curvature[:, :, 0] * usual
    values, axes = np.linalg.eigh(curvature)
    values = np.maximum(values, 0.0)
    noise = (std**2 + doubt * usual**2)[:, None] + variance * values
    noise = np.maximum(noise, 1e-300)  # 0 where nobody was seen, without noise
    precision = (axes * (values**2 / noise)[:, None, :]) @ axes.swapaxes(1, 2)
    seen = np.einsum("aij,aj,akj,ak->ai", axes, values / noise, axes, rest)
    if not variances.any():
        variances[:] = before
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for _ in range(ROUNDS):
        covariance, theta = _posterior(precision, seen, np.repeat(variances, sizes))
        squares = (theta**2 + np.diagonal(covariance, axis1=1, axis2=2)).sum(axis=0)
        variances[:] = (np.add.reduceat(squares, starts) + TRUST * before) / (len(moment) * sizes + TRUST)
    covariance, theta = _posterior(precision, seen, np.repeat(variances, sizes))
    theta[:, 0] += usual
    return theta, covariance


def _posterior(precision: Array, seen: Array, variances: Array) -> tuple[Array, Array]:
    root = np.sqrt(variances)
    inner = np.linalg.inv(np.eye(len(root)) + root[:, None] * precision * root)
    covariance = root[:, None] * inner * root
    return covariance, np.einsum("aij,aj->ai", covariance, seen)


@dataclass(frozen=True, kw_only=True)
class FieldContribution(PairContribution):
    """v of the module's text; `scale` is a. constant: the first feature of everybody. swing: the largest norm of those
    features that may be negative.

    Guarantee: replacing a user moves the sum by at most D. With C = max(c, 1 - c), and B = 2 (1 - constant^2 + swing^2)
    the largest |x - x'|^2 (two people's features have an inner product of constant^2 - swing^2 at least), D^2 is the
    largest of
        1 + B max(0, alpha^2 + 2 a^2 - c (1 - c)) + e     e = a^2 / 2 if a^2 > 2 min(c, 1 - c), else 0
        2 (C^2 + alpha^2 + a^2)
        C^2 B + 2 alpha^2 + 2 a^2                         unless c = 1/2 and alpha^2 + 2 a^2 <= 1/4.
    At c = 1/2 with alpha^2 + 2 a^2 <= 1/4, whatever is negative, that is D = 1, as much as the moments alone have: the
    products and the sums of features cost nothing.

    Proof. Two users x, x~ of lengths s, t <= 1; P = |x + x~|^2, Q = |x - x~|^2 <= B, delta = s^2 - t^2. Since
    |x x' - x~ x~'|_F^2 = s^4 + t^4 - 2 <x, x~>^2 = P Q / 2 + delta^2 / 2, and P + Q = 2 (s^2 + t^2) <= 4 - 2 |delta|
    (both lengths are at most 1), P Q / 2 <= 2 Q and P Q / 2 <= 2 P. |v - v~|^2 is convex in each reward, so that
    rewards are at their ends.
    - One action, r = 1 and r~ = 0. |(1 - c) x + c x~|^2 = (1 - c) s^2 + c t^2 - c (1 - c) Q, and |u - u~|^2 <= Q:
      |v - v~|^2 <= 1 - min(c, 1 - c) |delta| + Q (alpha^2 + 2 a^2 - c (1 - c)) + a^2 delta^2 / 2, and |delta| <= 1.
    - One action, equal rewards. u and u~ have no negative numbers, so that |u - u~|^2 <= |u|^2 + |u~|^2 <= 2, and
      |v - v~|^2 <= C^2 Q + 2 alpha^2 + 2 a^2. Where c = 1/2: |u - u~|^2 <= |u + u~|^2 <= P, and with P and Q exchanged
      this is the case before.
    - Two actions. C^2 (s^2 + t^2) + alpha^2 (|u|^2 + |u~|^2) + a^2 (s^4 + t^4) <= 2 (C^2 + alpha^2 + a^2).
    - Nothing in one world: half of that at most, whose square root is `norm`. So |v|^2 + |v~|^2 <= D^2, and rewards
      that come in another step cost nothing more (mechanisms.continual).
    D = 1 is attained by x = x~ of length 1 with rewards 1 and 0."""

    constant: float
    swing: float = 0.0
    centre: float = EVEN

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.probability(centre=self.centre)

    @classmethod
    def of(cls, *, centre: float, **parts: object) -> "FieldContribution":
        return cls(scale=math.sqrt(SCALE * _room(centre)), centre=centre, **parts)  # type: ignore[arg-type]

    @property
    def count(self) -> float:
        """alpha."""
        return math.sqrt(COUNT * _room(self.centre))

    @property
    def size(self) -> int:
        return super().size + self.dim

    @property
    def sensitivity(self) -> float:
        apart = 2 * (1 - self.constant**2 + self.swing**2)
        return distance(self.centre, self.scale**2, self.count**2, apart)

    @property
    def norm(self) -> float:
        """The largest |v|."""
        return math.sqrt(max(self.centre, 1 - self.centre) ** 2 + self.count**2 + self.scale**2)


def distance(c: float, a2: float, alpha2: float, apart: float) -> float:
    """D of FieldContribution, from a^2, alpha^2 and B."""
    more, furthest = alpha2 + 2 * a2 - c * (1 - c), max(c, 1 - c) ** 2
    found = [1 + apart * max(0.0, more) + (a2 / 2 if a2 > 2 * min(c, 1 - c) else 0.0), 2 * (furthest + alpha2 + a2)]
    if c != EVEN or more > 0:
        found.append(furthest * apart + 2 * alpha2 + 2 * a2)
    return math.sqrt(max(found))


def _room(centre: float) -> float:
    return max(centre * (1 - centre), LEAST)


# kernels


class Counted(NamedTuple):
    """What contributions are made with."""

    signed: Booleans  # (p,)
    constant: float
    swing: float
    centre: float
    alpha: float
    scale: float
    low: float
    high: float


@formula
def within(x: Array, signed: Booleans, constant: float, swing: float) -> Array:
    """x with its first number set to the constant, at 0 what may not be negative, numbers that may be negative cut to
    norm `swing`, and the rest so that |x| <= 1. What a schema makes stays as it is."""
    out = x.copy()
    out[0] = constant
    both, rest = 0.0, 0.0
    for i in range(1, x.size):
        if signed[i]:
            both += out[i] * out[i]
        else:
            out[i] = max(out[i], 0.0)
            rest += out[i] * out[i]
    first = swing / max(swing, math.sqrt(both)) if both > 0.0 else 1.0
    room = math.sqrt(max(0.0, 1.0 - constant * constant - first * first * both))
    second = room / max(room, math.sqrt(rest)) if rest > 0.0 else 1.0
    for i in range(1, x.size):
        out[i] *= first if signed[i] else second
    return out


@kernel
def add_fields(
    x: Array,
    y: float,
    signed: Booleans,
    constant: float,
    swing: float,
    centre: float,
    count: float,
    scale: float,
    low: float,
    high: float,
    out: Exact,
) -> None:
    """out += (a svec(x x'), (r - c) x, alpha u), with x as `within` has it and y cut to [low, high]."""
    bounded = within(x, signed, constant, swing)
    share = (min(max(y, low), high) - low) / (high - low)
    add_outer(bounded, scale, out)
    start, last = packed_size(x.size), pair_size(x.size)
    for i in range(x.size):
        out[start + i] += (share - centre) * bounded[i]
        if not signed[i]:
            out[last + i] += count * bounded[i]


@kernel
def sum_fields(
    rows: Array, rewards: Array, weights: Array, at: Counted, places: Integers, cell: float, longest: float, out: Exact
) -> None:
    """out[places[a]] += the contributions of the rows in block a."""
    blocks, q = places.shape[0], at.signed.size
    own = Exact(np.zeros(places.shape[1]))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            a = block_of_row(rows[i], q, blocks)
            x, y = rows[i, :q], rewards[i]
            add_fields(x, y, at.signed, at.constant, at.swing, at.centre, at.alpha, at.scale, at.low, at.high, own)
            join_row(own, weights[i], places[a], cell, longest, out)


@kernel
def field_rounds(
    policy: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    at: Counted,
    places: Integers,
    random: bool,
) -> None:
    """Rounds that end no step; random: with random arms. Changes state and the block's out arrays."""
    counts, prefix, posterior = state
    p, target, own = at.signed.size, np.empty(posterior.theta.shape), Exact(np.zeros(places.shape[1]))
    for t in range(block.noise.size):
        if random:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson_blocks(policy, block.arms[t], posterior, target)
        if not outcome(block, t, index):
            continue
        row, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            x, numbers = row[:p], (at.centre, at.alpha, at.scale, at.low, at.high)
            add_fields(x, y, at.signed, at.constant, at.swing, *numbers, own)
            here = places[int(row[p])]
            for j in range(own.size):
                prefix.open[here[j]] += own[j]
                own[j] = 0.0
        if slot >= 0:
            forget(held, slot)
