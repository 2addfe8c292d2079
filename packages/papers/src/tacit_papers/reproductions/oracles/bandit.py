"""JointGLM with noise that an oracle has chosen. Not private: for experiments."""

from dataclasses import dataclass, replace

import numpy as np
from tacit.bandits.joint.glm import JointGLM

from tacit import checks
from tacit.algorithms.forgetting import steps_before
from tacit.data import Array
from tacit.errors import NotSecure
from tacit.kernels.continual import TABLE, JointState, draws_needed, noise_step
from tacit.mechanisms.prefix import PrefixSums
from tacit.privacy import gaussian
from tacit.privacy.certificate import Certificate
from tacit.privacy.noise import generator_of

WITHOUT = ("curvature", "moments", "fresh", "once", "floor")


@dataclass(kw_only=True, eq=False)
class Oracle(JointGLM):
    """The noise is drawn before the first user comes, as the budget asks for it; then, with `without`,
        curvature, moments: that part of each release has none,
        fresh: each release has its own, of the same variance,
        once: its variance is that of a single release of one sum,
        floor: the curvature has none, and every release has the same noise in its moments, that of a single release of
               the moments alone, whose sensitivity is 2.
    The estimate is told the std of the moments' noise that is left, and does not know that the curvature has less."""

    without: str

    def __post_init__(self) -> None:
        checks.one_of(WITHOUT, without=self.without)
        if self.source.private or self.horizon is None:
            raise NotSecure("Expected an experiment (source=Simulated(seed) and a horizon), got a private source.")
        super().__post_init__()

    @property
    def privacy(self) -> Certificate:
        raise NotSecure("Expected a private bandit, got an oracle, which leaves noise out.")

    def init(self) -> JointState[PrefixSums]:
        state = super().init()
        assert self.horizon is not None
        steps, sigma = steps_before(self.horizon, self._schedule) + 1, self.mechanism.sigma
        gains = self.mechanism.gain(np.arange(steps + 1.0))
        noise = self._drawn(steps)
        if self.without == "fresh":
            noise = generator_of(self.source).normal(size=noise.shape) * sigma * gains[1:, None]
        elif self.without in ("once", "floor"):
            bound = 2.0 if self.without == "floor" else self.contribution.sensitivity
            single = bound / gaussian.mu(self.budget)
            noise *= single / (sigma * gains[1:, None])
            gains = np.full(steps + 1, single / sigma)
        if self.without == "floor":
            noise[:] = noise[0]
        curved = self._curvature()
        if self.without in ("curvature", "floor"):
            noise[:, curved] = 0.0
        elif self.without == "moments":
            noise[:, ~curved] = 0.0
        self.algorithm = replace(self.algorithm, gains=gains)
        table = self.mechanism._state(TABLE, table=noise)
        state.prefix.use(table)
        return state

    def _drawn(self, steps: int) -> Array:
        """The noise of so many releases, as the mechanism makes it."""
        state, out = self.mechanism.noise_state(self.source), np.empty((steps, self.mechanism.size))
        for row in out:
            noise_step(state, self.source.rows(draws_needed(state), self.mechanism.size, self.mechanism.law), row)
        return out

    def _curvature(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Which of the released numbers are the curvature's."""
        c = self.contribution
        own = np.zeros(c.size // self._blocks, np.bool_)
        own[: own.size - self._own_dim] = True
        return np.tile(own, self._blocks)
