"""One pass by fields: each action has a part of the vector for itself, and a schema says of which fields it consists.

What is released (model.fields): for each action a svec(sum x x') and the sum of (r - c) x, and the sum of x over all
actions. The chance of a reward is taken to be linear in x, for each action: whatever the link, it is a sum of one
number for each field.

Curvature. That of an action is hundreds of numbers which are mostly noise. Most of it is known: people come as the sums
of features say, and the policy of each step is public. So people are made up (features.people), the policy of the step
chooses for them, and the sums of their x x' are a target; what was released is drawn towards it, for each pair of
fields as far as the distance may be noise (James & Stein, with a margin).

Estimate. With curvature A, moment b with noise of std s, and the rate of all actions as the centre, an action's weights
have a Gaussian posterior; the prior's variance is one number for each field, the same for all actions, and is learnt
(MacKay): a field that does not matter is left out as soon as the noise allows to see it.

All of it is post-processing of what was released, of the schedule and of the schema."""

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from tacit import checks, special
from tacit.algorithms import irls
from tacit.algorithms.chances import Values
from tacit.algorithms.onepass.fields_kernel import field_rounds
from tacit.algorithms.onepass.scores import lengths
from tacit.data import Array, Booleans, Integers, Released
from tacit.features.parts import Part
from tacit.features.people import made_up
from tacit.features.schema import Schema
from tacit.kernels.block import Block
from tacit.kernels.continual import JointState
from tacit.kernels.rounds import Held
from tacit.kernels.summing import Pooled, each_fields, sum_fields
from tacit.model.fields import EVEN, FieldContribution
from tacit.model.hybrid import Layout
from tacit.model.vectors import packed_size, pair_size
from tacit.protocols import Adder

if TYPE_CHECKING:
    from tacit.algorithms.onepass.algorithm import OnePass

STATISTIC = "features, their products and centred rewards, by fields"
# Chosen by regret on tuning seeds of a world of messages (docs/measurements/fields.md); none of them touches privacy.
GROWTH, DISCOUNT = 1.1, 0.98  # of steps
PER_SIGMA = 10.0  # of the noise's std: so many more people in the smallest step
EXPLORE, BOLD = 0.1, 0.25  # of the posterior's std: a draw for each choice; where an action was hardly ever chosen
SELDOM = 0.5  # of the usual number of choices: fewer are too few
MARGIN = 2.8  # by so many standard deviations or so a distance has to exceed what noise would give
PEOPLE = 1000  # that are made up at each step
OWN, ALONE = 0.4, 0.2  # std of what a field, and of what an action itself, does to the log odds, before it is learnt
TRUST = 1.0  # of that: as if so many more numbers had been seen
ROUNDS = 5  # of learning it, at each step
SLOTS = 32  # estimates that are remembered: of those who are held, some chose by earlier ones
MOST = 100  # numbers of an action, with which it is the default
WIDENING = 1.5  # of intervals


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
    folded: Array  # (2,): the release that the target is of; 1 if an earlier incarnation released something


def check(
    curvature: str, schema: Schema | None, *, own: int, base_rate: float | None, others: dict[str, bool]
) -> tuple[bool, str]:
    """Whether sums by fields are released, and why, in words for the certificate where "auto" has chosen; ValueError if
    they cannot be. others: what they do not go with, by name, and whether it is given."""
    apt = schema is not None and schema.arms == "disjoint" and schema.blocks > 1
    against = [name for name, given in others.items() if given]
    if curvature == "fields" and (not apt or against):
        reason = f"{against[0]} beside it" if apt else "other features, or none"
        raise ValueError(f'Expected features of disjoint arms alone with curvature="fields", got {reason}.')
    chosen = curvature == "fields" or (curvature == "auto" and apt and not against and own <= MOST)
    if base_rate is not None:
        checks.probability(base_rate=base_rate)
        if not chosen:
            beside = against[0] if against else f'curvature="{curvature}"'
            reason = beside if apt and (against or curvature != "auto") else "others"
            raise ValueError(
                'Expected base_rate with features of disjoint arms, whose sums are by fields (curvature="fields"), got '
                f"it with {reason}."
            )
    return chosen, "; by fields, as each action has a part of the vector for itself" if curvature == "auto" else ""


def contribution(schema: Schema, base_rate: float | None, **parts: object) -> FieldContribution:
    signed = bool(marks(schema).any())
    if signed and base_rate is not None:
        raise ValueError(
            "Expected fields whose numbers are not negative with base_rate (Category, Tags, Number with bins=2 or "
            "more), got a Number with bins=1 or a Hashed."
        )
    return FieldContribution.of(centre=EVEN if base_rate is None else base_rate, signed=signed, **parts)


@functools.lru_cache(maxsize=16)
def _marks(own: tuple[tuple[bool, ...], ...]) -> Booleans:
    return np.array([sign for part in own for sign in part])


def marks(schema: Schema) -> Booleans:
    """Which features may be negative."""
    return _marks(tuple(tuple(part.signed.tolist()) for part in schema.own))


def _contribution(of: "OnePass") -> FieldContribution:
    assert isinstance(of.contribution, FieldContribution)
    return of.contribution


def _schema(of: "OnePass") -> Schema:
    assert of.plan.features is not None
    return of.plan.features


def blank(of: "OnePass", live: Integers) -> FieldPosterior:
    own, blocks = of.layout.own, of.plan.blocks
    return FieldPosterior(
        *irls.prior_of_blocks(own, of.plan.radius, blocks, live),
        np.zeros((blocks, own, own)),
        np.zeros((2, len(_schema(of).own))),
        np.zeros((SLOTS, blocks, own)),
        np.array([-1.0, 0.0]),
    )


# the estimate


def fit(of: "OnePass", released: Released, step: int, live: Integers, posterior: FieldPosterior) -> None:
    c, p, std = _contribution(of), of.layout.own, of.std(step)
    blocks, size, packed = of.plan.blocks, pair_size(p), packed_size(p)
    pairs, pooled = released[: blocks * size].reshape(blocks, size)[live], released[blocks * size :] / c.pooled
    parts = _schema(of).own
    found, moment = _unpacked(pairs[:, :packed] / c.scale, p), pairs[:, packed:]
    curvature = drawn(posterior.target[live], found, pooled[0], std / c.scale, std / c.pooled, parts)
    posterior.variances[1] = posterior.variances[0]  # so that the same release gives the same, however often
    theta, covariance = weights(curvature, moment, std, c.centre, parts, posterior.variances[1])
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
    c, schema = _contribution(of), _schema(of)
    pooled = released[-c.common :] / c.pooled
    if step == 0:  # released by an earlier incarnation, whose people are not known otherwise
        posterior.folded[1] = 1.0
        count = max(float(pooled[0]) / schema.own[0].weight, 1.0)
    else:
        length = lengths(of.plan.schedule, of.plan.mechanism.leaves)
        count = float(length[min(step, len(length)) - 1])
    rng = default_rng(step)  # of nobody's: the same for everybody who computes it
    people = made_up(schema, pooled, PEOPLE, rng)
    posterior.target[:] *= of.plan.mechanism.fading
    if step == 0 or (chosen <= 0 and not posterior.folded[1]):  # by random arms
        posterior.target[live] += count / PEOPLE / len(live) * (people.T @ people)
        return
    theta = posterior.past[max(chosen, step - SLOTS) % SLOTS, live]
    spread = np.einsum("ni,aij,aj->naj", people, posterior.axes[live], posterior.spread[live])
    draws = np.sqrt((spread**2).sum(axis=2)) * rng.standard_normal((PEOPLE, len(live)))
    best = np.argmax(people @ theta.T + draws, axis=1)
    for i, block in enumerate(live):
        those = people[best == i]
        posterior.target[block] += count / PEOPLE * (those.T @ those)


def _unpacked(packed: Array, p: int) -> Array:
    """Symmetric matrices from their svecs."""
    i, j = np.triu_indices(p)
    out = np.zeros((len(packed), p, p))
    out[:, i, j] = out[:, j, i] = packed / np.where(i == j, 1.0, np.sqrt(2.0))
    return out


def drawn(target: Array, found: Array, constant: float, std: float, pooled: float, parts: tuple[Part, ...]) -> Array:
    """The curvature of each action: its target, first for as many people as were counted (constant: the sum of that
    feature, with noise of std `pooled`), then as all actions together were seen to differ from theirs, then as it was
    seen itself. std: of the noise in svec(found)."""
    weight, total = parts[0].weight, target[:, 0, 0].sum()
    more = weight * constant - total
    keep = _kept(np.array(more**2), np.array((weight * pooled) ** 2), np.array(1.0))
    target = target * max(1 + float(keep) * more / max(total, 1e-9), 0.05)
    together = target.sum(axis=0)
    share = target[:, 0, 0] / max(target[:, 0, 0].sum(), 1e-9)
    apart = _towards(together, found.sum(axis=0), std * np.sqrt(len(found)), parts) - together
    target = _towards(target + share[:, None, None] * apart, found, std, parts)
    values, axes = np.linalg.eigh(target)
    out: Array = (axes * np.maximum(values, 0.0)[..., None, :]) @ axes.swapaxes(-1, -2)
    return out


def _towards(target: Array, found: Array, std: float, parts: tuple[Part, ...]) -> Array:
    """target + keep (found - target), keep for each pair of parts: found has noise of that std on its diagonal and std
    / sqrt 2 elsewhere."""
    sizes = np.array([part.size for part in parts], dtype=np.float64)
    within = np.repeat(np.eye(len(parts)), sizes.astype(np.int64), axis=0)
    square = within.T @ (found - target) ** 2 @ within
    noise = std**2 / 2 * (np.outer(sizes, sizes) + np.diag(sizes))
    count = np.outer(sizes, sizes) - np.diag(sizes * (sizes - 1) / 2)
    keep = _kept(square, noise, count)
    out: Array = target + (within @ keep @ within.T) * (found - target)
    return out


def _kept(square: Array, noise: Array, count: Array) -> Array:
    """The share of a squared distance, of so many numbers, that noise would not explain, which gives `noise` on
    average."""
    out: Array = np.maximum(0.0, 1 - (1 + MARGIN / np.sqrt(count)) * noise / np.maximum(square, 1e-300))
    return out


def weights(
    curvature: Array, moment: Array, std: float, centre: float, parts: tuple[Part, ...], variances: Array
) -> tuple[Array, Array]:
    """The posterior's mean and covariance for each action: of (r - c) = <x, theta> + noise, from A and b, whose noise
    is std^2 I + v A, v the variance of a reward. Changes variances, the prior's for each part."""
    usual = moment[:, 0].sum() / max(curvature[:, 0, 0].sum(), 1e-9)  # the constant's weight, for all actions
    rate = min(max(centre + parts[0].weight * usual, 0.002), 0.998)
    usual, variance = (rate - centre) / parts[0].weight, rate * (1 - rate)
    sizes = np.array([part.size for part in parts])
    before = np.array([((OWN if part.names else ALONE) * variance / part.weight) ** 2 for part in parts])
    rest = moment - curvature[:, :, 0] * usual
    values, axes = np.linalg.eigh(curvature)
    values = np.maximum(values, 0.0)
    noise = np.maximum(std**2 + variance * values, 1e-300)  # 0 where nobody was seen, without noise
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
    """Of the mean reward's share of its range."""
    middle, half = irls.beliefs(arms, posterior, WIDENING * float(special.ndtri((1 + level) / 2)))
    return middle + _contribution(of).centre, half


def mean(z: Array) -> Array:
    """The mean reward, as a share of its range."""
    return np.clip(z, 0.0, 1.0)


# contributions


def adder(of: "OnePass", posterior: FieldPosterior) -> Adder:
    return Adder(each_fields, sum_fields, (_numbers(of), places(of.layout), of.tally))


def _numbers(of: "OnePass") -> Pooled:
    c = _contribution(of)
    return Pooled(marks(_schema(of)), c.centre, c.pooled, c.scale, float(c.low), float(c.high))


@functools.lru_cache(maxsize=16)
def places(layout: Layout) -> Integers:
    """(blocks, numbers of a contribution): those of an action, then those in common."""
    size, blocks = pair_size(layout.own), layout.blocks
    own, common = np.arange(blocks * size).reshape(blocks, size), blocks * size + np.arange(layout.own)
    return np.column_stack([own, np.tile(common, (blocks, 1))])


def play(
    of: "OnePass", policy: Generator, rng: Generator, block: Block, held: Held, state: JointState, live: Integers
) -> None:
    random = state.prefix.noise.step[0] == 0
    field_rounds(policy, block, held, state, _numbers(of), places(of.layout), bool(random))
