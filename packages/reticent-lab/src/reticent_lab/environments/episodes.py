"""An environment as Gymnasium has them: `reset` and `step`, for agents of other libraries. Gymnasium is not needed."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from reticent import checks
from reticent.data import Array
from reticent.environments.base import Environment, World
from reticent.kernels.block import Block
from reticent.kernels.rounds import outcome


class Discrete(NamedTuple):
    """Actions 0, ..., n - 1."""

    n: int


class Box(NamedTuple):
    """Arrays of numbers."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: type = np.float64


@dataclass(kw_only=True, eq=False)
class Episodes:
    """Each episode is a fresh instance of the environment and `horizon` people who come one after the other. An
    observation is the (K, width) features of what can be offered to the next of them, an action is which of it is. A
    reward comes at once; info["regret"] is what the best action had been expected to give beyond it, and info["known"]
    whether the reward is known: in a replayed log only that of the logged action is, and others give 0."""

    environment: Environment
    horizon: int
    _rng: Generator | None = field(default=None, init=False, repr=False)
    _world: World | None = field(default=None, init=False, repr=False)
    _block: Block = field(init=False, repr=False)
    _left: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        checks.positive_int(horizon=self.horizon)
        if self.environment.rounds is not None and self.horizon > self.environment.rounds:
            raise ValueError(f"Expected at most {self.environment.rounds} rounds, got {self.horizon}.")
        self._block = self.environment.block(1)

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.environment.arms)

    @property
    def observation_space(self) -> Box:
        """Features have norm at most 1; where an arm is a row (z, a), its last number is that of its block."""
        return Box(
            -1.0, float(max(1, (self.environment.blocks or 1) - 1)), (self.environment.arms, self.environment.width)
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, dict[str, Any]]:
        """A fresh instance, and its first person. The same seed gives the same people; without one the generator of
        the last episode goes on, or a new one begins."""
        if seed is not None or self._rng is None:
            self._rng = default_rng(seed)
        self._world, self._left = self.environment.start(self._rng, self.horizon), self.horizon
        return self._next(), {}

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Observation, reward, terminated (never), truncated (after the last person), info."""
        if not self._left:
            raise ValueError("Expected reset() before an episode, got a step.")
        if (
            isinstance(action, bool)
            or not isinstance(action, int | np.integer)
            or not 0 <= action < self.action_space.n
        ):
            raise ValueError(f"Expected an action from 0 to {self.action_space.n - 1}, got another.")
        known = bool(outcome(self._block, 0, int(action)))
        reward, info = float(self._block.reward[0]), {"regret": float(self._block.regret[0]), "known": known}
        self._left -= 1
        seen = self._next() if self._left else self._block.arms[0].copy()
        return seen, reward, False, not self._left, info

    def close(self) -> None:
        """Nothing is open."""

    def _next(self) -> Array:
        assert self._world is not None
        self._world.fill(self._block)
        seen: Array = self._block.arms[0].copy()
        return seen
