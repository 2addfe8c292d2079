"""Both halves of a shuffle or local bandit in one process, with the methods of the joint bandits."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from reticent.core.choices import Index
from reticent.core.live import Live, State
from reticent.data import Array, Integers, Raw
from reticent.kernels.block import Block
from reticent.mechanisms.memory import learnt
from reticent.model.chances import Later
from reticent.privacy.certificate import Certificate
from reticent_devices.bandits.server import Server
from reticent_devices.roles.device import Device


class EmbeddedState(NamedTuple):
    counts: Integers  # (1,): choices
    server: State
    transit: Any  # OpenBatch: reports on their way; or what devices remember, where they are asked again


@dataclass(kw_only=True, eq=False, init=False)
class Embedded(Live):
    """`Embedded(server)`: every choice is made by a device at the present billboard, every reward is randomized there
    and goes the way of a report. For simulation, and for trying a server out: one process then sees everything, so
    the guarantee of the server holds against those who see only what the server sees."""

    server: Server
    _state: EmbeddedState = field(init=False, repr=False)

    def __init__(self, server: Server, *, pending: int = 100_000) -> None:
        if not isinstance(server, Server):
            raise ValueError(f"Expected a server of the shuffle or local model, got {type(server).__name__}.")
        self.server = server
        self.dim, self.horizon, self.rewards, self.pending = server.dim, server.horizon, server.rewards, pending
        self.features = server.schema  # if there are any, `choose` takes fields
        self._at = -1
        self._device: Device | None = None
        super().__post_init__()

    def init(self) -> EmbeddedState:
        return EmbeddedState(np.zeros(1, np.int64), self.server._state, self.server.transit())

    @property
    def due(self) -> bool:
        """Before each choice: the server publishes what its schedule says."""
        return True

    def _advance(self) -> None:
        if self.server._advance(self._state.transit, self.choices):
            self.memory.tickets.clear()

    def _pick(self, features: Array) -> Index:
        device = self._present()
        return np.array([device.pick(arms) for arms in features], np.int64)

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        return Later(functools.partial(self._present().chance, features, index))

    def _learn(self, x: Array, reward: float | None) -> None:
        self.server.hear(self._present(), x, reward, self._state.transit)

    def chosen(self, row: Raw[Array], mark: bytes) -> None:
        unanswered = self.memory.tickets.unanswered(self.choices)
        if unanswered is not None:  # a reward that never came: its device sends a report without it
            learnt(self._learn, unanswered, None)

    def _play(self, block: Block) -> bool:
        self.server._play(block, self._state.transit)
        self._state.counts[0] += np.count_nonzero(block.index >= 0)
        return True

    def _present(self) -> Device:
        if self._at != self.server.version or self._device is None:
            self._at, self._device = self.server.version, self.server.device()
        return self._device

    @property
    def privacy(self) -> Certificate:
        return self.server.privacy

    def warm_up(self) -> float:
        return self.server.warm_up()

    def save(self, path: str | Path) -> NoReturn:
        raise TypeError("Expected server.save for a server within Embedded: devices keep nothing.")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        raise TypeError("Expected Embedded(TheServer.load(path)), got Embedded.load.")
