"""Our own: generalised linear bandits under joint privacy, by one pass over people with any model."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent import checks
from reticent.algorithms import irls, prior, schedules
from reticent.algorithms.groups import Groups
from reticent.algorithms.prior import WarmStart
from reticent.algorithms.schedules import FARTHEST, fewest_leaves, steps_before
from reticent.core import actions, plan
from reticent.core.onepass import OnePass
from reticent.core.plan import Limits, Plan
from reticent.core.reward import Reward
from reticent.features.schema import Schema
from reticent.kernels.glm import Tuning
from reticent.kernels.rounds import Schedule
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.grid import Grid
from reticent.mechanisms.phases import LaplaceSteps, Phases
from reticent.mechanisms.recursive import discounted
from reticent.mechanisms.recursive_grid import on_integers
from reticent.model import links
from reticent.model.holdout import Holdout
from reticent.models import choose
from reticent.models.beside import Beside
from reticent.models.choose import Factory, Variant
from reticent.models.protocol import Model, ModelSettings, ModelSums
from reticent.privacy import gaussian
from reticent.privacy.budget import Budget
from reticent.privacy.settings import check_budget, check_features

REWARD = Reward()
FEWEST = 8  # users in the smallest step, beside those for each unit of the noise's std


@dataclass(frozen=True, eq=False)
class JointGLM:
    """Rewards with mean mu(<x, theta*>): each user's datum is used once, linearised at the public estimate, summed
    within steps that grow geometrically, and released with noise that does not grow; exploration is a Thompson draw in
    directions that were sampled too little. These are its settings, all public: it holds nobody's data. `Bandit` runs
    it in memory, `Stored` on a database.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: the whole
    run is one Gaussian mechanism on bounded contributions, and what is shown to each user is a function of its
    releases, that user's own arms and fresh randomness. No horizon is needed: the noise stays bounded.
    Regret: measured (docs/joint-glm.md); what is proven is in docs/proofs/one-pass.md.
    Reference: none; the saturating weights and the one pass are ours. Discounted square-root Toeplitz: see Discounted.
    Departure: none.

    features: a Schema, which makes vectors of a person's fields; or how many numbers a vector has, of norm at most 1,
    where `choose` is given vectors.
    budget: what is promised, and to whom: Budget(epsilon, delta, unit=Person(rounds, per)). The noise for a person of k
    rounds is k times as large.
    reward: its range and link, what is usual, and when a choice counts (Reward).
    model: what learns, by name ("curvature", "scores", "fields") or as what makes one of ModelSettings; by default the
    one that is best for these settings, and the certificate says why. Variant(...): with settings for research.
    forget: after so many rounds, or a time ("30 days"), what was learnt counts 1 / e, for ever (docs/change.md).
    Without it the past fades ever more slowly, in proportion to its length: for preferences that do not change, or,
    with vectors, that change suddenly, which is noticed (kernels.change).
    horizon: the number of rounds, where it is known; none is needed.
    warm_start: what is known from elsewhere, and is not protected (WarmStart).
    per_day: choices that are expected a day: what makes a time a number of choices, where there is no clock.
    """

    features: Schema | int
    budget: Budget
    reward: Reward = REWARD
    model: str | Factory | Variant | None = None
    forget: float | str | None = None
    horizon: int | None = None
    warm_start: WarmStart | None = None
    per_day: float | None = None

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        check_features(self.features)
        check_budget(self.budget)
        self.budget.needs_delta(type(self).__name__)
        for name, kind in (("reward", Reward), ("warm_start", WarmStart | None)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"Expected {name}= with {name}'s own settings, got {getattr(self, name)!r}.")
        if self.horizon is not None:
            checks.positive_int(horizon=self.horizon)
        times = [self.forget, self.reward.window, self.budget.unit and self.budget.unit.per]
        if self.per_day is not None:
            checks.positive(per_day=self.per_day)
            if not any(isinstance(one, str) for one in times):
                raise ValueError('Expected per_day with a time, as forget="30 days", got none.')
        _ = self.variant, self._exact  # which check the rest

    @property
    def dim(self) -> int:
        """Numbers of a vector."""
        return self.features.dim if isinstance(self.features, Schema) else int(self.features)

    @functools.cached_property
    def variant(self) -> Variant:
        """Settings for research."""
        return choose.variant(self.model)

    def one_pass(self, *, exact: bool) -> OnePass:
        return self._exact if exact else self._floats

    @functools.cached_property
    def _exact(self) -> OnePass:
        return planned(self, self, exact=True)

    @functools.cached_property
    def _floats(self) -> OnePass:
        return planned(self, self, exact=False)


def idle(features: Schema | int, base_rate: float | None, model: Any, *, known: bool = False) -> tuple[str, ...]:
    """Settings that have no effect beside these. known: something is, from elsewhere."""
    schema, name = features if isinstance(features, Schema) else None, choose.variant(model).name
    dim = features.dim if isinstance(features, Schema) else features
    fields = not callable(name) and choose.by_fields(name, schema, dim, base_rate, known=known)
    return ("link", "radius") if fields or base_rate is not None else ()


def planned(asked: JointGLM, whole: Any, *, exact: bool, holdout: Holdout | None = None) -> OnePass:
    """All that follows of settings; ValueError for those that cannot be. whole: the algorithm that has them.
    exact: noise is whole numbers on a grid."""
    schema = asked.features if isinstance(asked.features, Schema) else None
    dim, blocks = (asked.dim, 1) if schema is None else (schema.dim, schema.blocks)
    budget, reward, variant = asked.budget, asked.reward, asked.variant
    forget, week = (
        None if length is None else schedules.rounds(length, asked.per_day, name)
        for length, name in ((asked.forget, "forget"), (None if budget.unit is None else budget.unit.per, "per"))
    )
    mu = gaussian.mu(budget) / budget.rounds
    link, (low, high) = links.named(reward.link), reward.range
    if reward.radius > link.reach:
        raise ValueError(f"Expected a link known for |z| <= {reward.radius:g}, got one for {link.reach:g}.")
    unit = 1.0 if link.bounded else reward.unit
    declared = actions.of(schema)
    known = prior.knowledge(
        asked.warm_start,
        live=len(actions.live(declared, blocks)),
        dim=dim,
        blocks=blocks,
        link=link,
        rewards=(low, high),
        radius=reward.radius,
        unit=unit,
    )
    tuning = irls.as_tuning(Tuning, variant.tuning or choose.usual_tuning(blocks, forget))
    settings = ModelSettings(
        schema, dim, blocks, link, low, high, reward.radius, unit, reward.base_rate, tuning, known, mu, forget
    )
    model, why = choose.model(variant.name, settings, asked.horizon)
    if model.sums.norm != "l2":
        raise ValueError(f"Expected a model of the l2 norm, but in a first phase (Then), got one of {model.sums.norm}.")
    growth, discount = _pace(variant, model, forget)
    groups = None if holdout is None else Groups(holdout, float(low), float(high), model.sums.sensitivity, blocks > 1)
    learning: Model[Any] = model if groups is None else Beside(inner=model, groups=groups)

    def mechanism(first: int, forget: float | None) -> tuple[Schedule, Continual]:
        """For steps of at least `first` choices, with the noise that the budget asks for."""
        steps = schedules.schedule(first, growth, forget)
        if holdout is not None and holdout.assign == "blocks":  # steps close where blocks of numbers do
            steps = steps._replace(block=float(holdout.block))
        columns = {} if week is None else {"spacing": fewest_leaves(steps, week, asked.horizon or FARTHEST)}
        leaves, fading = (
            1 + steps_before(asked.horizon or FARTHEST, steps),
            schedules.discount(steps, forget, discount),
        )
        sums = learning.sums.phases[-1] if learning.sums.phases else learning.sums
        noiseless = discounted(leaves=leaves, size=sums.size, discount=fading, **columns)
        noise = with_noise(noiseless, sums.sensitivity, mu, exact=exact or bool(learning.sums.phases))
        return steps, beside(noise, learning.sums.phases, budget) if learning.sums.phases else noise

    def shortest(forget: float | None) -> int:
        """Choices in a step that says more than its noise."""
        if variant.first is not None:
            return int(variant.first)
        return FEWEST + math.floor(model.pace.per_sigma * mechanism(FEWEST, forget)[1].sigma)

    schedules.check(forget, shortest)
    schedule, noise = mechanism(shortest(forget), forget)
    forgotten = "" if forget is None else f", forgotten in {forget:g} rounds"
    size, bound = model.sums.size, model.sums.sensitivity
    words = f"discounted sums of {model.sums.statistic}, {plan.numbers(size, blocks)}, each user once{why}{forgotten}"
    limits = Limits(None if budget.unit is None else budget.rounds, week)
    made = Plan(
        name=type(asked).__name__,
        settings=whole,
        budget=budget,
        reward=reward,
        features=schema,
        dim=dim,
        blocks=blocks,
        horizon=None if asked.horizon is None else int(asked.horizon),
        per_day=asked.per_day,
        schedule=schedule,
        mechanism=noise,
        limits=limits,
        forget=forget,
        statistic=words,
        size=size,
        sensitivity=bound,
        kept=learning.sums.kept,
        groups=groups,
        numbers=(noise.step, noise.sigma, noise.column_norm, bound),
        caveats=prior.sentences(asked.warm_start) + (choose.CAVEAT,) * (reward.base_rate is not None),
    )
    return OnePass(plan=made, model=learning, gains=noise.gain(np.arange(noise.window + 1.0)))


def _pace(variant: Variant, model: Model[Any], forget: float | None) -> tuple[float, float]:
    """How steps grow, and how the past fades; ValueError for what has no effect."""
    growth = model.pace.growth if variant.growth is None else variant.growth
    discount = model.pace.discount if variant.discount is None else variant.discount
    if forget is not None and variant.discount is not None:
        raise ValueError(f"Expected no discount with forget, which says how fast the past fades, got {discount:g}.")
    if forget is not None and variant.growth is not None and growth < schedules.LEAST_GROWTH:
        raise ValueError(f"Expected growth of at least {schedules.LEAST_GROWTH:g} with forget, got {growth:g}.")
    return growth, discount


def beside(second: Continual, phases: Sequence[ModelSums], budget: Budget) -> Continual:
    """With the mechanism of a first phase of the l1 norm."""
    if not isinstance(second, Grid) or (budget.unit is not None and budget.unit.per is not None):
        raise ValueError(f"Expected a finite budget without a period for a model of the l1 norm, got {budget!r}.")
    size, distance, *_ = phases[0]
    first = LaplaceSteps.of(
        size=size, sensitivity=distance, cell=second.cell, epsilon=budget.epsilon, rounds=budget.rounds
    )
    return Phases.of(first, second, second.longest)


def with_noise(noiseless: Continual, sensitivity: float, mu: float, *, exact: bool) -> Continual:
    """A mechanism with the noise that makes it mu-GDP: whole numbers on a grid where people's data are protected,
    floats in experiments."""
    if exact and mu < math.inf:
        return on_integers(noiseless, sensitivity=sensitivity, mu=mu)
    return dataclasses.replace(noiseless, sigma=sensitivity * noiseless.column_norm / mu)
