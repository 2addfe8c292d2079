"""JointGLM in two situations that a simulation by itself has not: the first users are public, and rewards that never
come."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.bandits import Bandit, JointGLM
from tacit.data import Array, Raw
from tacit.kernels.block import Block
from tacit.privacy.budget import Budget


@dataclass(kw_only=True, eq=False)
class FirstPublic(JointGLM):
    """The first `opening` users are public: they are served without noise, and are the `warm` rows of the bandit that
    serves the others. All of them count for the regret."""

    opening: int = 200
    _rows: list[Array] = field(default_factory=list, init=False, repr=False)
    _rewards: list[float] = field(default_factory=list, init=False, repr=False)
    _serving: JointGLM | None = field(default=None, init=False, repr=False)
    _warmed: bool = field(default=False, init=False, repr=False)

    def _play(self, block: Block) -> None:
        if self._serving is None:
            self._serving = self._made(budget=Budget(np.inf, self.budget.delta))
        count = 0 if self._warmed else min(self.opening - len(self._rewards), len(block.noise))
        if count:
            head = _cut(block, slice(0, count))
            self._serving.play(head)
            self._rows += [head.arms[t, index].copy() for t, index in enumerate(head.index)]
            self._rewards += head.reward.tolist()
            if len(self._rewards) == self.opening:
                self._warmed, self._serving = True, self._made(warm=(np.array(self._rows), np.array(self._rewards)))
        if count < len(block.noise):
            self._serving.play(_cut(block, slice(count, None)))

    def _made(self, **other: object) -> JointGLM:
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(JointGLM) if f.init}
        return JointGLM(**own | other)


def _cut(block: Block, rounds: slice) -> Block:
    """Some of its rounds; what is written there is written in the whole."""
    parts = {name: part[rounds] for name, part in block._asdict().items() if name not in ("kind", "scale")}
    return block._replace(**parts)


@dataclass(kw_only=True, eq=False)
class Silent(JointGLM):
    """A share `gone` of the rewards never comes: of all alike, or, `uneven`, 1.6 times as many where the first
    feature is positive, and .4 times as many elsewhere."""

    gone: float
    uneven: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._fates = np.random.default_rng(0)

    _play = Bandit._play

    def _row(self, offered: Array, picked: int, *given: Any) -> Raw[Array]:
        self._first = float(offered[picked][0])  # of the last choice: `_play` answers one after the other
        return super()._row(offered, picked, *given)

    def _observed(self, ticket: int, reward: Raw[float]) -> bool:
        more = (1.6 if self._first > 0 else 0.4) if self.uneven else 1.0
        return self._fates.random() >= more * self.gone and super()._observed(ticket, reward)
