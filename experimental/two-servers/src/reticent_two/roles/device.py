"""The device for two aggregators: choose by the billboard, linearise, round, split into two shares.

It needs numba, pycryptodomex and cryptography, unlike the devices of the local and shuffle models: shares come with a
proof, and sealed."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from reticent.data import Array, Exact, Sent
from reticent.errors import BadBillboard, NotSecure
from reticent.features.schema import Schema
from reticent.model.chances import Chance, by_draws
from reticent.model.glm import add_glm
from reticent.model.scores import add_score
from reticent.model.vectors import shortened
from reticent.privacy import gaussian, randomness
from reticent.privacy.budget import Budget
from reticent.privacy.randomness import Randomness, System
from reticent_devices.mechanisms.local import MARGIN
from reticent_devices.roles import limits
from reticent_devices.roles.device import DRAWS, Device, agreed, agreed_schema, check_limit
from reticent_two.roles import signed, wire
from reticent_two.roles.identity import Identities
from reticent_two.roles.sealing import SealingKey
from reticent_two.roles.signed import BoardMark, Marks
from reticent_two.shares import split
from reticent_two.vdaf.prio3 import NONCE


class TwoServerClient(Device):
    """`TwoServerClient(billboard, identities=identities)`: the device of one user.

    Guarantee: each aggregator can open one share alone, which is uniform by itself. Against one of them, and whoever
    else works with that one, what the other releases of this user is private at the claim against the first
    (docs/two-servers.md). Against both together nothing is.
    identities: of both aggregators, which the application ships; a billboard that they have not both signed is refused
    (roles.signed). marks: what this device has seen so far; `marks` of the client are to be kept before it acts.
    budget: the most that either claim may be; None: any. rewards, features: the application's own; a billboard with
    others is refused. The nonce of a report is its choice's id, so that one that is made again is counted once. Its
    shares are made with fresh randomness each time: the application stores the finished report before it is sent, and
    sends only those bytes again. noise: given in simulation alone, where nothing is claimed; draws: of the policy."""

    def __init__(
        self,
        billboard: bytes,
        *,
        identities: Identities | None = None,
        marks: Marks | None = None,
        clock: Callable[[], float] = time.time,
        budget: Budget | None = None,
        rewards: tuple[float, float] | None = None,
        features: Schema | None = None,
        noise: Randomness | None = None,
        draws: Randomness | None = None,
    ) -> None:
        check_limit(budget)
        private = noise is None or noise.private
        self.marks: Marks = marks or {}
        self._keys: tuple[SealingKey, SealingKey] | None = None
        if identities is not None:
            board, self._keys, self.marks = signed.trusted(billboard, Identities(*identities), clock(), self.marks)
        elif private:
            raise ValueError("Expected the identities of both aggregators, which the application ships, got none.")
        else:
            board = signed.read(billboard)
        self._board = board
        self.task, self.version = board.task, board.version
        super().__init__(
            dim=self.task.dim,
            link=self.task.link,
            rewards=agreed(rewards, self.task.rewards),
            features=agreed_schema(features, self.task.features),
            cost=self._cost(budget) if private else None,
        )
        self.mu = (gaussian.mu(self.task.operator), gaussian.mu(self.task.helper)) if private else None
        self.parties = self.task.identities if private else None
        self._draws = draws or System()

    def _cost(self, limit: Budget | None) -> Budget:
        """The worse of both claims: the noise follows from them by this device's own code, and is not in the task."""
        task = self.task
        if not task.private:
            raise BadBillboard("Expected a billboard that claims privacy, got one without.")
        worse = Budget(max(task.operator.epsilon, task.helper.epsilon), max(task.operator.delta, task.helper.delta))
        if limit is not None and not (worse.epsilon <= limit.epsilon * (1 + MARGIN) and worse.delta <= limit.delta):
            raise BadBillboard(
                f"Expected epsilon at most {limit.epsilon:g} and delta at most {limit.delta:g} against each "
                f"aggregator, got a billboard with {worse.epsilon:g} and {worse.delta:g}."
            )
        return worse

    def seen(self, marks: dict[str, Any]) -> dict[str, Any]:
        """What the application keeps, as JSON, before anything is done by the billboard, beside the marks of earlier
        ones; BadBillboard for one that is older than they are."""
        digest = self.task.digest.hex()
        mark = self.marks[digest]
        if digest in marks:
            signed.check_follows(BoardMark(*marks[digest]), mark)
        return {**marks, digest: [mark.version, mark.board, list(mark.keys)]}

    # choosing

    def pick(self, features: Array) -> int:
        board = self._board
        if board.random:
            return int(self._draws.uniforms(1)[0] * len(features))
        target = board.theta.copy()
        if not board.axes.size and board.spread[0] > 0:
            target += board.spread[0] * self._draws.normals(self.dim)
        for k in np.flatnonzero(board.spread > 0) if board.axes.size else ():
            target += board.spread[k] * float(self._draws.normals(1)[0]) * board.axes[:, k]
        return int(np.argmax(features @ target))

    def chance(self, features: Array, index: int) -> Chance:
        board = self._board
        if board.random:
            return Chance(1 / len(features), 0.0)
        if not board.spread.any():
            return Chance(float(int(np.argmax(features @ board.theta)) == index), 0.0)
        draws = System().normals(DRAWS * self.dim).reshape(DRAWS, self.dim) * board.spread
        targets = board.theta + (draws @ board.axes.T if board.axes.size else draws)
        hits = np.argmax(targets @ features.T, axis=1) == index
        return by_draws(int(np.count_nonzero(hits)), DRAWS)

    # reporting

    def report(self, x: Array, reward: float | None, id: bytes | None = None) -> Sent:
        vector = self.contribution(x, self.rewards[0] if reward is None else reward)
        if reward is None:  # after the same work
            vector = Exact(np.zeros(vector.size))
        if self._keys is None:
            raise NotSecure("Expected keys to seal shares to, got a device of a simulation.")
        nonce = randomness.octets(NONCE) if id is None else id
        if len(nonce) != NONCE:
            raise ValueError(f"Expected an id of {NONCE} bytes, got another.")
        made = split(self.task.prio3, self.task.grids[0].cell, vector, nonce)
        return wire.packed(self.task, nonce, made, self._keys)

    def contribution(self, x: Array, reward: float) -> Exact:
        """The curator's, at the billboard's estimate: no longer than the task's norm, and zeros where arithmetic with
        the billboard's numbers gives no numbers."""
        board, (low, high) = self._board, self.rewards
        out = Exact(np.zeros(self.task.size))
        if self.task.scale:
            add_glm(x, reward, board.at, board.inverse, self.code, self.task.blend, self.task.scale, low, high, out)
        else:
            add_score(shortened(x), reward, board.at, 0, self.code, low, high, out)
        return Exact(limits.clipped(out, self.task.norm))
