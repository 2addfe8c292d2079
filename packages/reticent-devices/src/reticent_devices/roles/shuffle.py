"""The device of the shuffle model: choose by the billboard, then one report of integers and coins to the shuffler."""

import math
from typing import Any

import numpy as np

from reticent.data import Array, Coded, Exact, Sent
from reticent.features.schema import Schema
from reticent.model.chances import Chance, by_draws
from reticent.model.glm import in_units, line, softened
from reticent.model.scores import score
from reticent.model.vectors import pair
from reticent.privacy import randomness
from reticent.privacy.budget import Budget
from reticent.privacy.randomness import Randomness, System
from reticent_devices.mechanisms.shuffle.encoding import coded
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import designs, limits, wire
from reticent_devices.roles.device import DRAWS, ID_BYTES, Device, agreed, agreed_schema, check_limit


class ShuffleClient(Device):
    """`Client(billboard)`: the device of one user, for the batch that the billboard announces.

    Guarantee: as long as the batch has the honest users that the billboard plans for, what the shuffler hands on is
    (epsilon, delta)-private for replacing this user, at `cost`. The report alone is not: it is for the shuffler only.
    The device works out itself what the plan gives, and refuses a billboard that claims more protection than that, or
    gives less than the caller's `budget` (None: any claim). It reports the first choice that it makes, and no other.
    rewards: the application's own range (low, high); a billboard with another one is refused. features: the
    application's own schema, with which `choose` takes fields; a billboard for another one is refused.
    The randomness is the operating system's; `noise` and `draws` are given in simulation."""

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
        self.parameters, document = boards.shuffle(billboard)
        self._noise = noise or System()
        super().__init__(
            dim=document["dim"],
            link=document["link"],
            rewards=agreed(rewards, document["rewards"]),
            features=agreed_schema(features, document["features"]),
            cost=limits.cost(document, budget) if self._noise.private else None,
            batch=self.parameters.batch if self._noise.private else None,
        )
        self._draws = draws or System()
        self._plan: dict[str, Any] = document["plan"]
        self._curvature, self._moment = document["curvature"], document["moment"]
        self._weights_are: str = document["weights"]
        self._policy: dict[str, Any] = document["policy"]
        self._share: float = self._policy.get("share", 0.0)  # of users who try what may be best
        self._theta, self._centre, self._inverse = document["theta"], document["centre"], document["inverse"]
        self._axes, self._spread = document["axes"], document["spread"]

    # choosing

    def pick(self, features: Array) -> int:
        kind = self._policy["name"]
        if kind == "random":
            return int(self._draws.uniforms(1)[0] * len(features))
        if kind == "elimination":
            return designs.draw(float(self._draws.uniforms(1)[0]), self._weights(features))
        if kind == "thompson" and (float(self._draws.uniforms(1)[0]) >= self._share or not self._axes.size):
            target = self._centre.copy()
            for k in np.flatnonzero(self._spread > 0):
                target += self._spread[k] * float(self._draws.normals(1)[0]) * self._axes[:, k]
            return int(np.argmax(features @ target))
        return self._optimistic(features)

    def chance(self, features: Array, index: int) -> Chance:
        kind = self._policy["name"]
        if kind == "random":
            return Chance(1 / len(features), 0.0)
        if kind == "elimination":
            return Chance(float(self._weights(features)[index]), 0.0)
        if not self._axes.size:
            return Chance(float(int(np.argmax(features @ self._centre)) == index), 0.0)
        certain = float(self._optimistic(features) == index)
        if kind == "thompson":
            draws = System().normals(DRAWS * self.dim).reshape(DRAWS, self.dim)
            hits = np.argmax((self._centre + (draws * self._spread) @ self._axes.T) @ features.T, axis=1) == index
            value, error = by_draws(int(np.count_nonzero(hits)), DRAWS)
            return Chance(self._share * certain + (1 - self._share) * value, (1 - self._share) * error)
        return Chance(certain, 0.0)

    def _optimistic(self, features: Array) -> int:
        """The arm that may be best; by the cautious estimate, unless draws are about the centre."""
        kind = self._policy["name"]
        values = features @ (self._centre if kind == "thompson" else self._theta)
        if kind != "greedy":
            values = values + self._halves(features)
        return int(np.argmax(values))

    def _halves(self, features: Array) -> Array:
        """width |x|_{P^-1} of each arm."""
        squares = np.einsum("ki,ij,kj->k", features, self._inverse, features)
        return np.asarray(self._policy["width"] * np.sqrt(np.maximum(squares, 0.0)))

    def _weights(self, features: Array) -> Array:
        middle, half = features @ self._theta, self._halves(features)
        return designs.chances(features, middle + half >= (middle - half).max())

    # reporting

    def report(self, x: Array, reward: float | None, id: bytes | None = None) -> Sent:
        vector = self.contribution(x, self.rewards[0] if reward is None else reward)
        if reward is None:  # after the same work
            vector = Exact(np.zeros(vector.size))
        return wire.encode_report(self.parameters, (id or randomness.octets(ID_BYTES))[:ID_BYTES], self.counts(vector))

    def counts(self, vector: Exact) -> Coded:
        """The whole numbers of one report, coins included."""
        grid, laplace = self._plan["grid"], self._plan["laplace"]
        of = self.parameters
        return coded(vector, self._noise, grid=grid, reach=of.reach, trials=of.trials, laplace=laplace)

    def contribution(self, x: Array, reward: float) -> Exact:
        """v, by what the billboard's `weights` are:
            saturating  (curvature svec(weight x x'), moment response x), linearised at its theta: model.glm
            plain       (curvature svec(x x'), moment y x)
            score       the score at its theta, as many numbers as features: model.scores
        Its norm never exceeds the plan's."""
        x = x * (1 / max(1.0, math.sqrt(float(np.dot(x, x)))))
        if self._weights_are == "score":
            length, z = math.sqrt(float(np.dot(x, x))), float(np.dot(x, self._theta))
            vector = np.asarray(score(length, z, reward, self.code, *self.rewards) * x)
        else:
            weight, response = (1.0, reward) if self._weights_are == "plain" else self._linearize(x, reward)
            vector = pair(x, self._curvature * weight, self._moment * response)
        size = float(np.linalg.norm(vector))
        return Exact(vector * (self._plan["norm"] / size) if size > self._plan["norm"] else vector)

    def _linearize(self, x: Array, reward: float) -> tuple[float, float]:
        v, k = softened(float(np.dot(x, self._theta)), float(x @ self._inverse @ x), self.code)
        r = in_units(reward, self.code, *self.rewards)
        return line(math.sqrt(float(np.dot(x, x))), v, k, r, self.code, 0.0)
