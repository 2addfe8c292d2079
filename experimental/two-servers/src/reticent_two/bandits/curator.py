"""JointGLM's estimate where others release the leaves: two aggregators, each with noise of its own."""

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent import checks
from reticent.algorithms import prior, schedules
from reticent.algorithms.schedules import steps_before
from reticent.core import plan as plans
from reticent.core.memory import Sums
from reticent.core.onepass import OnePass, OnePassEstimate
from reticent.core.plan import Limits, Plan
from reticent.core.reward import Reward
from reticent.data import Array, Integers, Raw, Released
from reticent.errors import NotSecure
from reticent.joint import FEWEST
from reticent.kernels.block import Block
from reticent.kernels.continual import Closing
from reticent.kernels.rounds import BOUNDARY, CHOICES, Schedule, next_boundary
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.memory import Ring
from reticent.model import links
from reticent.models import choose
from reticent.models.protocol import ModelSettings
from reticent.models.scores import Scores
from reticent.privacy import gaussian
from reticent.privacy.budget import Budget
from reticent.privacy.ledger import Release
from reticent.privacy.relations import REPLACE
from reticent_two.roles.task import MOST_LEAVES, MOST_REPORTS
from reticent_two.shares import grid_for

AGAINST = "operator", "helper"  # who runs the leader, and the helper
MODELS = {"auto": None, "released": "curvature", "none": "scores"}


class Elsewhere:
    """The source of one who draws no noise: it is in what the aggregators have released."""

    private = True
    description = "the aggregators'"

    def expect(self, need: int, cells: float) -> None:
        pass

    def integers(self, count: int, size: int, cells: float) -> Integers:
        raise NotSecure("Expected the aggregators to draw noise, got a request for it here.")


class Asked(NamedTuple):
    """Settings, as TwoServerGLM has them. first: None for what the noise asks for."""

    dim: int
    budget: Budget
    helper_budget: Budget
    reward: Reward
    horizon: int | None
    first: int | None
    curvature: str
    forget: float | None

    @property
    def mus(self) -> tuple[float, float]:
        """Of the leader's noise, which protects against the helper, and of the helper's."""
        return gaussian.mu(self.helper_budget), gaussian.mu(self.budget)

    @property
    def mu(self) -> float:
        """Of the total noise."""
        total = math.hypot(*(1 / mu for mu in self.mus))
        return 1 / total if total else math.inf


class Noise(NamedTuple):
    """How steps close, and the noise of both: of the leader, of the helper, and their hypot in the mechanism."""

    schedule: Schedule
    mechanism: Continual
    sigmas: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class TwoPlan(Plan):
    """cost: of so many steps, to the operator."""

    cost: Callable[[int], tuple[Release, ...]]

    def releases(self, steps: int) -> tuple[Release, ...]:
        return self.cost(steps)


class Curator:
    """The noise in a leaf is that of both aggregators: sigma = hypot of theirs, which the estimate knows. Its own sums
    are used in simulation, and are zeros otherwise."""

    def __init__(self, asked: Asked, source: Any, policy: Generator) -> None:
        if asked.first is not None:
            checks.positive_int(first=asked.first)
        forget = None if asked.forget is None else schedules.rounds(asked.forget, None, "forget")
        found = _model(asked, forget)
        model: Any = found.model

        def shortest(forget: float | None) -> int:
            if asked.first is not None:
                return int(asked.first)
            least = _noise(asked, model, FEWEST, forget, exact=source.private)
            return FEWEST + math.floor(float(model.pace.per_sigma) * least.mechanism.sigma)

        schedules.check(forget, shortest)
        noise = _noise(asked, model, shortest(forget), forget, exact=source.private)
        forgotten = "" if forget is None else f", forgotten in {forget:g} rounds"
        numbers = plans.numbers(model.sums.size, 1)
        self._words = f"discounted sums of {model.sums.statistic}, {numbers}, each user once{found.why}{forgotten}"
        self.model, self.contribution = model, model.contribution
        self.schedule, self.mechanism, self.sigmas = noise
        plan = TwoPlan(
            name="TwoServerGLM",
            settings=asked,
            budget=asked.budget,
            reward=asked.reward,
            features=None,
            dim=asked.dim,
            blocks=1,
            horizon=asked.horizon,
            per_day=None,
            schedule=self.schedule,
            mechanism=self.mechanism,
            limits=Limits(),
            forget=forget,
            statistic=self._words,
            size=model.sums.size,
            sensitivity=model.sums.sensitivity,
            kept=model.sums.kept,
            groups=None,
            numbers=self.sigmas,
            caveats=(),
            cost=functools.partial(self.cost, 0),
        )
        gains = self.mechanism.gain(np.arange(self.mechanism.window + 1.0))
        self.one_pass = OnePass(plan=plan, model=model, gains=gains)
        self.sums = Sums(self.one_pass, source, policy, window=None, declared=())
        self._held = Ring(1, asked.dim, named=False).held(0, math.nan)  # nothing waits

    # what the server is made of

    @property
    def first(self) -> int:
        return int(self.schedule.first)

    @property
    def scores(self) -> bool:
        """Whether scores alone are summed."""
        return isinstance(self.model, Scores)

    @property
    def present(self) -> OnePassEstimate:
        """What choices are made by."""
        return self.sums.estimator.estimate

    def cost(self, party: int, steps: int) -> tuple[Release, ...]:
        """What so many steps have cost a user against that party: the noise of the other one counts alone."""
        if not steps:
            return ()
        alone = dataclasses.replace(self.mechanism, sigma=self.sigmas[1 - party])
        size, bound = self.model.sums.size, self.model.sums.sensitivity
        name = f"against the {AGAINST[party]}"
        return (alone.entry(name, self._words, bound, steps, 1, size=size, relation=REPLACE),)

    def due(self, users: int) -> bool:
        """Whether the open step closes at so many users: a public count."""
        self.sums.counts[CHOICES] = users
        return self.sums.due

    def follow(self, noisy: Released, users: int) -> None:
        """The next leaf, released by the aggregators when so many users had come in all."""
        counts = self.sums.counts
        counts[CHOICES] = users
        closing = Closing(counts[BOUNDARY : BOUNDARY + 1], next_boundary(users, *self.schedule))
        self.sums.state.prefix.follow(noisy, closing)
        self.sums.follow()

    def hear(self, x: Array, reward: float) -> None:
        """Simulation: what one device contributes."""
        self.sums.join(Raw(np.asarray(x)), Raw(reward))

    def close(self) -> None:
        """Simulation: the step that is due, with the noise of both."""
        self.sums.advance()

    def run(self, block: Block) -> None:
        """Simulation: compiled rounds."""
        self.sums.rounds(block, self._held, lambda: None)

    def resume(self) -> None:
        """Goes on from what is in the state's arrays."""
        self.sums.resume()


def _model(asked: Asked, forget: float | None) -> choose.ModelChoice:
    """For dense vectors: their sums by fields, limits for persons and priors are not for two servers."""
    link, (low, high) = links.named(asked.reward.link), asked.reward.range
    settings = ModelSettings(
        schema=None,
        dim=asked.dim,
        blocks=1,
        link=link,
        low=low,
        high=high,
        radius=asked.reward.radius,
        unit=1.0 if link.bounded else asked.reward.unit,
        base_rate=None,
        tuning=choose.usual_tuning(1, forget),
        prior=prior.nothing(),
        mu=asked.mu,
        forget=forget,
    )
    return choose.model(MODELS[asked.curvature], settings, asked.horizon)


def _noise(asked: Asked, model: Any, first: int, forget: float | None, *, exact: bool) -> Noise:
    """For steps of at least `first` users, with an encoder of whole numbers, however long vectors are: shares need one
    that is linear. exact: noise is whole numbers on a grid."""
    steps = schedules.schedule(first, model.pace.growth, forget)
    leaves = min(1 + steps_before(asked.horizon or MOST_REPORTS, steps), MOST_LEAVES)
    fading, sensitivity = schedules.discount(steps, forget, model.pace.discount), model.sums.sensitivity
    real = Discounted(leaves=leaves, size=model.sums.size, discount=fading, sigma=0.0)
    if exact:
        norm = model.contribution.norm
        leader, helper = (grid_for(real, norm=norm, sensitivity=sensitivity, mu=mu) for mu in asked.mus)
        sigmas = leader.sigma, helper.sigma
        return Noise(steps, dataclasses.replace(helper, sigma=math.hypot(*sigmas)), sigmas)
    far = sensitivity * real.column_norm
    sigmas = far / asked.mus[0], far / asked.mus[1]
    return Noise(steps, dataclasses.replace(real, sigma=math.hypot(*sigmas)), sigmas)
