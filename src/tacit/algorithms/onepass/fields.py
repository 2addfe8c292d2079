"""One pass by fields: each action has a part of the vector for itself, and a schema says of which fields it consists.

What is released (model.fields), for each action: the sums of x x', of (r - c) x and of x. The chance of a reward is
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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from tacit import special
from tacit.algorithms import irls
from tacit.algorithms.chances import Values
from tacit.algorithms.onepass.fields_kernel import field_rounds
from tacit.algorithms.onepass.scores import lengths
from tacit.data import Array, Booleans, Integers, Released
from tacit.features.parts import SchemaPart
from tacit.features.people import made_up
from tacit.features.schema import Schema
from tacit.kernels.block import Block
from tacit.kernels.continual import JointState, PrefixState
from tacit.kernels.rounds import Held
from tacit.kernels.summing import Counted, each_fields, sum_fields
from tacit.model.fields import EVEN, FieldContribution
from tacit.model.vectors import packed_size, pair_size
from tacit.protocols import Adder

if TYPE_CHECKING:
    from tacit.algorithms.onepass.algorithm import OnePass

STATISTIC = "features, their products and centred rewards, by fields"
# Chosen by regret on tuning seeds of a world of messages (docs/measurements/fields.md); none of them touches privacy.
GROWTH, DISCOUNT = 1.1, 0.98  # of steps
PER_SIGMA = 10.0  # of the noise's std: so many more people in the smallest step
EXPLORE, BOLD = 0.15, 0.3  # of the posterior's std: a draw for each choice; where an action was hardly ever chosen
SELDOM = 0.5  # of the usual number of choices: fewer are too few
MARGIN = 2.8  # by so many standard deviations or so a distance has to exceed what noise would give
OFF = 0.2  # of how often a value comes: what its target is off by, about
PEOPLE = 1000  # that are made up at each step
OWN, ALONE = 0.8, 0.2  # std of what a field, and of what an action itself, does to the log odds, before it is learnt
TRUST = 1.0  # of that: as if so many more numbers had been seen
ROUNDS = 5  # of learning it, at each step
SLOTS = 32  # estimates that are remembered: of those who are held, some chose by earlier ones
MOST = 100  # numbers of an action, with which it is the default
WIDENING = 1.6  # of intervals


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


def check(curvature: str, schema: Schema | None, *, own: int, others: dict[str, bool]) -> tuple[bool, str]:
    """Whether sums by fields are released, and why, in words for the certificate where "auto" has chosen; ValueError if
    they cannot be. others: what they do not go with, by name, and whether it is given."""
    apt = schema is not None and schema.arms == "disjoint" and schema.blocks > 1
    against = [name for name, given in others.items() if given]
    if curvature == "fields" and (not apt or against):
        reason = f"{against[0]} beside it" if apt else "other features, or none"
        raise ValueError(f'Expected features of disjoint arms alone with curvature="fields", got {reason}.')
    chosen = curvature == "fields" or (curvature == "auto" and apt and not against and own <= MOST)
    return chosen, "; by fields, as each action has a part of the vector for itself" if curvature == "auto" else ""


def contribution(schema: Schema, base_rate: float | None, **parts: object) -> FieldContribution:
    swing = math.sqrt(sum(part.weight**2 for part in schema.own if part.signed.any()))
    centre = EVEN if base_rate is None else base_rate
    return FieldContribution.of(centre=centre, constant=schema.own[0].weight, swing=swing, **parts)


def marks(schema: Schema) -> Booleans:
    """Which features may be negative."""
    return np.concatenate([part.signed for part in schema.own])


def contribution_of(of: "OnePass") -> FieldContribution:
    assert isinstance(of.contribution, FieldContribution)
    return of.contribution


def _schema(of: "OnePass") -> Schema:
    assert of.plan.features is not None
    return of.plan.features


def blank(of: "OnePass", live: Integers) -> FieldPosterior:
    own, blocks = of.own, of.plan.blocks
    return FieldPosterior(
        *irls.prior_of_blocks(own, of.plan.radius, blocks, live),
        np.zeros((blocks, own, own)),
        np.zeros((2, len(_schema(of).own))),
        np.zeros((SLOTS, blocks, own)),
        np.array([-1.0, 0.0]),
    )


# the estimate


def fit(of: "OnePass", released: Released, step: int, live: Integers, posterior: FieldPosterior) -> None:
    c, p, std, parts = contribution_of(of), of.own, of.std(step), _schema(of).own
    sums = released.reshape(of.plan.blocks, -1)[live]
    packed, last = packed_size(p), pair_size(p)
    seen = Seen(unpacked(sums[:, :packed] / c.scale, p), std / c.scale, sums[:, last:] / c.count, std / c.count)
    curvature, doubt = drawn(posterior.target[live], seen, marks(_schema(of)), parts)
    moment = sums[:, packed:last]
    posterior.variances[1] = posterior.variances[0]  # so that the same release gives the same, however often
    theta, covariance = weights(curvature, doubt, moment, std, c.centre, parts, posterior.variances[1])
    values, axes = np.linalg.eigh(covariance)
    values = np.maximum(values, 1e-12)
    seldom = np.maximum(0.0, 1 - curvature[:, 0, 0] / (SELDOM * max(curvature[:, 0, 0].mean(), 1e-9)))
    posterior.theta[live] = posterior.centre[live] = theta
    posterior.inverse[live], posterior.axes[live], posterior.precision[live] = covariance, axes, 1 / values
    posterior.spread[:] = 0.0
    past = posterior.past[step % SLOTS]
    past[:] = np.append(theta[:, 0].mean(), np.zeros(p - 1))  # what an action that is new is taken for
    past[live] = theta
    posterior.spread[live] = (EXPLORE + (BOLD - EXPLORE) * seldom)[:, None] * np.sqrt(values)


def fold(of: "OnePass", released: Released, step: int, live: Integers, chosen: int, posterior: FieldPosterior) -> None:
    """The people of the step that was released join the targets: made-up ones, for whom the estimate after `chosen`
    releases chooses. Once for each release. Changes posterior.target, posterior.variances and posterior.folded."""
    if posterior.folded[0] == step:
        return
    posterior.folded[0] = step
    posterior.variances[0] = posterior.variances[1]
    schema = _schema(of)
    together = people(of, released)
    if step == 0:  # released by a predecessor, whose people are not known otherwise
        posterior.folded[1] = 1.0
        count = max(float(together[0]) / schema.own[0].weight, 1.0)
    else:
        length = lengths(of.plan.schedule, of.plan.mechanism.leaves)
        count = float(length[min(step, len(length)) - 1])
    rng = default_rng(step)  # of nobody's: the same for everybody who computes it
    those = made_up(schema, together, PEOPLE, rng)
    posterior.target[:] *= of.plan.mechanism.fading
    if step == 0 or (chosen <= 0 and not posterior.folded[1]):  # by random arms
        posterior.target[live] += count / PEOPLE / len(live) * (those.T @ those)
        return
    theta = posterior.past[max(chosen, step - SLOTS) % SLOTS, live]
    best = offered(posterior, those, theta, live, rng)
    for i, block in enumerate(live):
        mine = those[best == i]
        posterior.target[block] += count / PEOPLE * (mine.T @ mine)


def people(of: "OnePass", released: Released) -> Array:
    """(p,): the sums of an action's part of the features, over people, as they were released: with noise."""
    sums = released.reshape(of.plan.blocks, -1)[:, pair_size(of.own) :].sum(axis=0)
    return np.asarray(sums / contribution_of(of).count)


def offered(posterior: FieldPosterior, rows: Array, theta: Array, live: Integers, rng: Generator) -> Integers:
    """For each of the (n, p) rows the place in `live` of the action that is chosen: by (live, p) weights, and by draws
    as large as the present ones."""
    moves = rows @ (posterior.axes[live] * posterior.spread[live][:, None, :])
    draws = np.sqrt((moves**2).sum(axis=2)).T * rng.standard_normal((len(rows), len(live)))
    return np.asarray(np.argmax(rows @ theta.T + draws, axis=1))


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
    told = (axes * (values**2 / noise)[:, None, :]) @ axes.swapaxes(1, 2)
    seen = np.einsum("aij,aj,akj,ak->ai", axes, values / noise, axes, rest)
    if not variances.any():
        variances[:] = before
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for _ in range(ROUNDS):
        covariance, theta = _posterior(told, seen, np.repeat(variances, sizes))
        squares = (theta**2 + np.diagonal(covariance, axis1=1, axis2=2)).sum(axis=0)
        variances[:] = (np.add.reduceat(squares, starts) + TRUST * before) / (len(moment) * sizes + TRUST)
    covariance, theta = _posterior(told, seen, np.repeat(variances, sizes))
    theta[:, 0] += usual
    return theta, covariance


def _posterior(told: Array, seen: Array, variances: Array) -> tuple[Array, Array]:
    root = np.sqrt(variances)
    inner = np.linalg.inv(np.eye(len(root)) + root[:, None] * told * root)
    covariance = root[:, None] * inner * root
    return covariance, np.einsum("aij,aj->ai", covariance, seen)


# choices: as those of blocks


def pick(of: "OnePass", posterior: Any, arms: Array, rng: Generator) -> Integers:
    return irls.choose_many(rng, arms, posterior, random=False)


def values(of: "OnePass", posterior: Any, arms: Array) -> Values:
    return irls.values(arms, posterior)


def beliefs(of: "OnePass", posterior: Any, arms: Array, level: float) -> tuple[Array, Array]:
    return irls.beliefs(arms, posterior, WIDENING * float(special.ndtri((1 + level) / 2)))


# contributions


def adder(of: "OnePass", posterior: FieldPosterior) -> Adder:
    return Adder(each_fields, sum_fields, (_numbers(of), places(of.own, of.plan.blocks), of.tally))


def _numbers(of: "OnePass") -> Counted:
    c = contribution_of(of)
    return Counted(marks(_schema(of)), c.constant, c.swing, c.centre, c.count, c.scale, float(c.low), float(c.high))


@functools.lru_cache(maxsize=16)
def places(own: int, blocks: int) -> Integers:
    """(blocks, numbers of a contribution)."""
    size = pair_size(own) + own
    return np.arange(blocks * size).reshape(blocks, size)


def play(
    of: "OnePass",
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    live: Integers,
) -> None:
    random = state.prefix.noise.step[0] == 0
    field_rounds(policy, block, held, state, _numbers(of), places(of.own, of.plan.blocks), bool(random))
