"""JointGLM with noise that an oracle has chosen. Not private: for experiments."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from reticent import checks
from reticent.algorithms.schedules import steps_before
from reticent.core.bandit import Bandit
from reticent.core.memory import Sums
from reticent.core.onepass import OnePass
from reticent.data import Array
from reticent.environments.base import Environment
from reticent.environments.delay import Delay
from reticent.errors import NotSecure
from reticent.experiments.spec import Spec
from reticent.joint import JointGLM
from reticent.kernels.continual import TABLE, draws_needed, noise_step
from reticent.mechanisms.continual import Continual
from reticent.privacy import gaussian
from reticent.privacy.certificate import Certificate
from reticent.privacy.noise import generator_of

WITHOUT = ("curvature", "moments", "fresh", "once", "floor")


@dataclass(frozen=True, eq=False)
class Oracle(JointGLM):
    """The noise is drawn before the first user comes, as the budget asks for it; then, with `without`,
        curvature, moments: that part of each release has none,
        fresh: each release has its own, of the same variance,
        once: its variance is that of a single release of one sum,
        floor: the curvature has none, and every release has the same noise in its moments, that of a single release of
               the moments alone, whose sensitivity is 2.
    The estimate is told the std of the moments' noise that is left, and does not know that the curvature has less."""

    without: str = field(kw_only=True)

    def __post_init__(self) -> None:
        checks.one_of(WITHOUT, without=self.without)
        super().__post_init__()

    def one_pass(self, *, exact: bool) -> OnePass:
        made = super().one_pass(exact=exact)
        if exact or self.horizon is None:
            raise NotSecure("Expected an experiment (source=Simulated(seed) and a horizon), got a private source.")
        if self.without not in ("once", "floor"):
            return made
        single = self._single(made) / made.plan.mechanism.sigma
        return dataclasses.replace(made, gains=np.full(self.releases(made) + 1, single))

    def _single(self, made: OnePass) -> float:
        """The std of the noise of a single release."""
        bound = 2.0 if self.without == "floor" else made.learnt.sums.sensitivity
        return bound / gaussian.mu(self.budget)

    def releases(self, made: OnePass) -> int:
        """All that there will be."""
        assert self.horizon is not None
        return steps_before(self.horizon, made.plan.schedule) + 1

    def noise(self, made: OnePass, source: Any) -> Array:
        """Of each release."""
        mechanism = made.plan.mechanism
        out = _drawn(mechanism, self.releases(made), source)
        stds = mechanism.sigma * mechanism.gain(np.arange(len(out) + 1.0))[1:, None]
        if self.without == "fresh":
            out = generator_of(source).normal(size=out.shape) * stds
        elif self.without in ("once", "floor"):
            out *= self._single(made) / stds
        if self.without == "floor":
            out[:] = out[0]
        curved = _curvature(made)
        if self.without in ("curvature", "floor"):
            out[:, curved] = 0.0
        elif self.without == "moments":
            out[:, ~curved] = 0.0
        return out


def _drawn(mechanism: Continual, steps: int, source: Any) -> Array:
    """The noise of so many releases, as the mechanism makes it."""
    state, out = mechanism.noise_state(source), np.empty((steps, mechanism.size))
    for row in out:
        noise_step(state, source.rows(draws_needed(state), mechanism.size, mechanism.law), row)
    return out


def _curvature(made: OnePass) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Which of the released numbers are the curvature's."""
    plan = made.plan
    own = np.zeros(made.learnt.sums.size // plan.blocks, np.bool_)
    own[: own.size - plan.dim // plan.blocks] = True
    return np.tile(own, plan.blocks)


class Left(Sums):
    """With the noise that an oracle leaves."""

    def __init__(self, algorithm: OnePass, source: Any, *given: Any, **more: Any) -> None:
        super().__init__(algorithm, source, *given, **more)
        noise = algorithm.plan.settings.noise(algorithm, source)
        self.state.prefix.use(algorithm.plan.mechanism._state(TABLE, table=noise))


class Told(Bandit):
    """`Told(Oracle(...), source=Simulated(seed))`."""

    learns = Left

    @property
    def privacy(self) -> Certificate:
        raise NotSecure("Expected a private bandit, got an oracle, which leaves noise out.")


class OracleSpec(Spec):
    """What is left out, and settings of JointGLM."""

    def __init__(self, without: str, *, label: str | None = None, **options: Any) -> None:
        super().__init__(Oracle, label=label, **options)
        self._plain = Spec(JointGLM, **options)
        self.options = options | {"without": without}

    def build(self, environment: Environment, horizon: int, seed: SeedSequence, delay: Delay | None = None) -> Bandit:
        made = self._plain.build(environment, horizon, seed, delay)
        assert isinstance(made, Bandit) and isinstance(made.algorithm, JointGLM)
        settings = {one.name: getattr(made.algorithm, one.name) for one in dataclasses.fields(made.algorithm)}
        oracle = Oracle(**settings, without=self.options["without"])
        return Told(oracle, pending=made.memory.pending, source=made.source, policy=made.sums.policy)
