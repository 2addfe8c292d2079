"""One pass around a usual reward (base_rate=), where arms are vectors: what is released is the sums of y y' and of
(r - c) y, y the features with a constant before them (model.centred).

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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from tacit import checks, special
from tacit.algorithms import irls
from tacit.algorithms.chances import Values
from tacit.algorithms.onepass import fields
from tacit.algorithms.onepass.centred_kernel import centred_rounds
from tacit.data import Array, Integers, Released
from tacit.features.parts import SchemaPart
from tacit.features.schema import Schema
from tacit.kernels.block import Block
from tacit.kernels.continual import JointState, PrefixState
from tacit.kernels.glm import Posterior
from tacit.kernels.rounds import Held
from tacit.kernels.summing import Around, each_centred, sum_centred
from tacit.model.centred import CONSTANT, CentredContribution
from tacit.model.vectors import packed_size
from tacit.protocols import Adder

if TYPE_CHECKING:
    from tacit.algorithms.onepass.algorithm import OnePass

STATISTIC = "products of features, and centred rewards times features"
WHY = "; around a usual reward, as base_rate is given"  # in words for the certificate
CAVEAT = "The usual reward was given as public (base_rate=): the people behind that number, if any, are not protected."
# Chosen by regret on tuning seeds (docs/measurements/fields.md); none of them touches privacy.
GROWTH, DISCOUNT, PER_SIGMA = fields.GROWTH, fields.DISCOUNT, fields.PER_SIGMA
WIDENING = 1.6  # of intervals


def check(base_rate: float | None, curvature: str, *, by_fields: bool, dim: int, others: dict[str, bool]) -> bool:
    """Whether vectors are summed around a usual reward; ValueError if one is given that nothing can be done with.
    by_fields: it is for sums by fields. others: as in fields.check."""
    if base_rate is None:
        return False
    checks.probability(base_rate=base_rate)
    if by_fields:
        return False
    against = [name for name, given in others.items() if given]
    if curvature != "auto":
        against.append(f'curvature="{curvature}"')
    if dim > fields.MOST:
        against.append(f"more than {fields.MOST} numbers of an arm")
    if against:
        raise ValueError(
            "Expected base_rate with vectors, or with features of shared arms or of disjoint ones by fields, got it "
            f"with {against[0]}."
        )
    return True


def contribution(schema: Schema | None, centre: float, **parts: Any) -> CentredContribution:
    if schema is not None:  # whose vectors begin with a constant, which is left out
        parts |= {"skip": 1, "longest": math.sqrt(1 - schema.common[0].weight ** 2)}
    return CentredContribution.of(centre=centre, **parts)


def blank(of: "OnePass", live: Integers) -> Posterior:
    p = _contribution(of).numbers
    one, lifted = irls.prior(of.plan.dim, of.plan.radius), irls.prior(p, of.plan.radius)
    return one._replace(centre=lifted.centre, inverse=lifted.inverse)


def fit(of: "OnePass", released: Released, step: int, live: Integers, posterior: Posterior) -> None:
    """theta, axes, precision and spread are of the features of an arm, by which choices are made; centre and inverse
    are of y."""
    c, std, parts = _contribution(of), of.std(step), _parts(of)
    p, packed = c.numbers, packed_size(c.numbers)
    found, noise = fields.unpacked(released[None, :packed] / c.scale, p), std / c.scale
    curvature = _drawn(found, noise, parts)
    doubt, before = np.array([noise**2 / 2]), np.zeros(len(parts))
    theta, covariance = fields.weights(curvature, doubt, released[None, packed:], std, c.centre, parts, before)
    posterior.centre[:], posterior.inverse[:] = theta[0], covariance[0]
    unit, rest = CONSTANT / c.longest, slice(c.skip, None)
    own = np.zeros((of.plan.dim, of.plan.dim))
    own[rest, rest] = unit**2 * covariance[0, 1:, 1:]
    values, posterior.axes[:] = np.linalg.eigh(own)
    values = np.maximum(values, 0.0)
    posterior.theta[:] = 0.0
    posterior.theta[rest] = unit * theta[0, 1:]
    posterior.precision[:] = 1 / np.maximum(values, 1e-12)
    posterior.spread[:] = fields.EXPLORE * np.sqrt(values)


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


def _parts(of: "OnePass") -> tuple[SchemaPart, ...]:
    """Of y."""
    if of.plan.features is None:
        return _whole(of.plan.dim)
    unit = CONSTANT / _contribution(of).longest
    first, *others = of.plan.features.common
    return first._replace(weight=CONSTANT), *(part._replace(weight=unit * part.weight) for part in others)


def _contribution(of: "OnePass") -> CentredContribution:
    assert isinstance(of.contribution, CentredContribution)
    return of.contribution


# choices


def pick(of: "OnePass", posterior: Posterior, arms: Array, rng: Generator) -> Integers:
    return irls.choose_many(rng, arms, posterior, random=False)


def values(of: "OnePass", posterior: Posterior, arms: Array) -> Values:
    return irls.values(arms, posterior)


def beliefs(of: "OnePass", posterior: Posterior, arms: Array, level: float) -> tuple[Array, Array]:
    """The distance from the usual reward, and half the width of its interval: what the noise leaves open, and as much
    as the distance itself, because chances are not linear. The interval always holds the usual reward that was
    declared."""
    c = _contribution(of)
    rest = arms[:, c.skip :]
    lengths = np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), c.longest)
    lifted = np.hstack([np.full((len(arms), 1), CONSTANT), rest * (CONSTANT / lengths)])
    middle, half = irls.beliefs(lifted, posterior, WIDENING * float(special.ndtri((1 + level) / 2)))
    return middle, half + np.abs(middle)


# contributions


def adder(of: "OnePass", posterior: Posterior) -> Adder:
    places = np.arange(_contribution(of).size)[None]
    return Adder(each_centred, sum_centred, (_numbers(of), places, of.tally))


def _numbers(of: "OnePass") -> Around:
    c = _contribution(of)
    return Around(of.plan.dim, c.skip, c.longest, c.centre, c.scale, float(c.low), float(c.high))


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
    centred_rounds(policy, block, held, state, _numbers(of), bool(random))
