"""The device of ShuffleSBLB: choose by the billboard, then one report of bits, some replaced by coins, to the shuffler.

client = SBLBClient(billboard, budget=Budget(1.0, 1e-6))
report = client.randomize(client.choose(arms), reward)"""

import numpy as np

from reticent.data import Array, Exact, Sent
from reticent.features.schema import Schema
from reticent.model.chances import Chance
from reticent.model.vectors import shortened
from reticent.privacy import randomness
from reticent.privacy.budget import Budget
from reticent.privacy.randomness import Randomness, System
from reticent_devices.roles import limits, wire
from reticent_devices.roles.device import ID_BYTES, Device, agreed, agreed_schema, check_limit
from reticent_papers.mechanisms.flips import flipped
from reticent_papers.shuffle import bit_boards as boards


class SBLBClient(Device):
    """`SBLBClient(billboard)`: the device of one user, for the batch that the billboard announces.

    Guarantee: as long as the batch has the honest users that the billboard plans for, what the shuffler hands on is
    (epsilon, delta)-private for replacing this user, at `cost`, which the device works out itself: it refuses a
    billboard that claims more protection than that, or gives less than the caller's `budget` (None: any claim). It
    reports the first choice that it makes, and no other.
    rewards, features, noise, draws: as for other devices of the shuffle model (roles.shuffle)."""

    def __init__(
        self,
        billboard: bytes,
        *,
        budget: Budget | None = None,
        rewards: tuple[float, float] | None = None,
        features: Schema | None = None,
        noise: Randomness | None = None,
        draws: Randomness | None = None,
    ) -> None:
        check_limit(budget)
        self.parameters, document = boards.read(billboard)
        self._noise = noise or System()
        super().__init__(
            dim=document["dim"],
            link=document["link"],
            rewards=agreed(rewards, document["rewards"]),
            features=agreed_schema(features, document["features"]),
            cost=limits.cost(document, budget) if self._noise.private else None,
            batch=self.parameters.batch if self._noise.private else None,
        )
        self._plan = document["plan"]
        self._theta, self._inverse, self._width = document["theta"], document["inverse"], document["width"]

    def pick(self, features: Array) -> int:
        """argmax over arms of <x, theta> + width |x|_{V^-1}."""
        squares = np.einsum("ki,ij,kj->k", features, self._inverse, features)
        return int(np.argmax(features @ self._theta + self._width * np.sqrt(np.maximum(squares, 0.0))))

    def chance(self, features: Array, index: int) -> Chance:
        return Chance(float(self.pick(features) == index), 0.0)

    def report(self, x: Array, reward: float | None, id: bytes | None = None) -> Sent:
        values = self.values(x, self.rewards[0] if reward is None else reward)
        if reward is None:  # after the same work: every bit is a fair coin, up to its place
            values = Exact(np.full(values.size, 0.5))
        counts = flipped(values, self._noise, chance=self._plan["chance"], bits=self._plan["bits"])
        return wire.encode_report(self.parameters, (id or randomness.octets(ID_BYTES))[:ID_BYTES], counts)

    def values(self, x: Array, reward: float) -> Exact:
        """(x x' / 2 + 1 / 2 from its diagonal on, row by row; r x / 2 + 1 / 2), |x| <= 1, r in units of the largest
        reward: numbers in [0, 1]."""
        x = shortened(x)
        r = reward / max(abs(self.rewards[0]), abs(self.rewards[1]))
        return Exact(0.5 * np.concatenate([np.outer(x, x)[np.triu_indices(x.size)], r * x]) + 0.5)
