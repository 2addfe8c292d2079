"""JointGLM's estimate where others release the leaves: two aggregators, each with noise of its own."""

import dataclasses
import math
from dataclasses import dataclass, field

import numpy as np
from tacit.bandits.joint.glm import JointGLM

from tacit.algorithms import forgetting
from tacit.algorithms.forgetting import steps_before
from tacit.core.onepass import OnePassEstimate
from tacit.data import Array, Integers, Raw, Released
from tacit.errors import NotSecure
from tacit.kernels.block import Block
from tacit.kernels.continual import JointState
from tacit.kernels.rounds import CHOICES, Schedule
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.discounted import Discounted
from tacit.mechanisms.prefix import PrefixSums
from tacit.models.scores import Scores
from tacit.privacy import gaussian
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import Release
from tacit_two.roles.task import MOST_LEAVES, MOST_REPORTS
from tacit_two.shares import grid_for

AGAINST = "operator", "helper"  # who runs the leader, and the helper


class Elsewhere:
    """The source of one who draws no noise: it is in what the aggregators have released."""

    private = True
    description = "the aggregators'"

    def expect(self, need: int, cells: float) -> None:
        pass

    def integers(self, count: int, size: int, cells: float) -> Integers:
        raise NotSecure("Expected the aggregators to draw noise, got a request for it here.")


@dataclass(kw_only=True, eq=False)
class Curator(JointGLM):
    """The noise in a leaf is that of both aggregators: sigma = hypot of theirs, which the estimate knows. Its own sums
    are used in simulation, and are zeros otherwise. helper_budget: the claim against the helper."""

    helper_budget: Budget
    sigmas: tuple[float, float] = field(init=False, repr=False)  # of the leader's noise and of the helper's
    fading: float = field(init=False, repr=False)  # what is left of earlier steps at each

    @property
    def _mu(self) -> float:
        """Of the total noise."""
        total = math.hypot(*(1 / mu for mu in self._mus))
        return 1 / total if total else math.inf

    @property
    def _mus(self) -> tuple[float, float]:
        """Of the leader's noise, which protects against the helper, and of the helper's."""
        return gaussian.mu(self.helper_budget), gaussian.mu(self.budget)

    def _mechanism(self, first: int, forget: float | None) -> Continual:
        """With an encoder of whole numbers, however long vectors are: shares need one that is linear."""
        assert self.growth is not None and self.discount is not None
        steps = self._schedule = forgetting.schedule(first, self.growth, forget)
        leaves = min(1 + steps_before(self.horizon or MOST_REPORTS, steps), MOST_LEAVES)
        self.fading = forgetting.discount(steps, forget, self.discount)
        real = Discounted(leaves=leaves, size=self._model.sums.size, discount=self.fading, sigma=0.0)
        if isinstance(self.source, Elsewhere):
            given = {"norm": self.contribution.norm, "sensitivity": self._sensitivity}
            leader, helper = (grid_for(real, mu=mu, **given) for mu in self._mus)
            self.sigmas = leader.sigma, helper.sigma
            return dataclasses.replace(helper, sigma=math.hypot(*self.sigmas))
        far = self._sensitivity * real.column_norm
        self.sigmas = far / self._mus[0], far / self._mus[1]
        return dataclasses.replace(real, sigma=math.hypot(*self.sigmas))

    # what the server is made of

    @property
    def state(self) -> JointState[PrefixSums]:
        return self._state

    @property
    def schedule(self) -> Schedule:
        return self._schedule

    @property
    def scores(self) -> bool:
        """Whether scores alone are summed."""
        return isinstance(self._model, Scores)

    @property
    def present(self) -> OnePassEstimate:
        """What choices are made by."""
        return self.algorithm.of_arrays(self._state.estimate, self._steps)

    def cost(self, party: int, steps: int) -> tuple[Release, ...]:
        """What so many steps have cost a user against that party: the noise of the other one counts alone."""
        if not steps:
            return ()
        alone = dataclasses.replace(self.mechanism, sigma=self.sigmas[1 - party])
        words = self.algorithm.plan.releases(steps)[0].statistic
        size, relation = self.contribution.size, self._relation
        name = f"against the {AGAINST[party]}"
        return (alone.entry(name, words, self._bound, steps, 1, size=size, relation=relation),)

    def due(self, users: int) -> bool:
        """Whether the open step closes at so many users: a public count."""
        self._state.counts[CHOICES] = users
        return self._due

    def follow(self, noisy: Released, users: int) -> None:
        """The next leaf, released by the aggregators when so many users had come in all."""
        self._state.counts[CHOICES] = users
        self._state.prefix.follow(noisy, self._closing())
        self._update(self._state.prefix.released)

    def hear(self, x: Array, reward: float) -> None:
        """Simulation: what one device contributes."""
        self._join(Raw(np.asarray(x)), Raw(reward))

    def close(self) -> None:
        """Simulation: the step that is due, with the noise of both."""
        self._advance()

    def run(self, block: Block) -> None:
        """Simulation: compiled rounds."""
        self._play(block)
