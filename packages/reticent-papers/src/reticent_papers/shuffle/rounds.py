"""The device of a shuffled batch whose users answer several rounds (ShuffleGLM): choose by the billboard, report, and
then answer each later question of the batch once.

    client = Client(billboard, budget=Budget(1.0, 1e-6))   # the billboard of round 0
    report = client.randomize(client.choose(arms), reward)
    report = client.answer(choice, billboard)              # that of round 1, 2, ...

What a user contributes, x being the arm played and r the reward as a share of its range:
    round 0  svec(w x x'), w = 1 in the first batch, else mu'(<x, theta_1>) / exp(min(2 S, width |x|_{V^-1})), at most
             `largest`: a lower bound on the slope at theta*, by the first batch's estimate theta_1 and information V;
    later    (mu(<x, theta>) - r) x at the billboard's theta: the gradient of the loss, of norm at most 1."""

import math
from typing import Any

import numpy as np

from reticent.data import Array, Coded, Exact, Sent
from reticent.errors import BadBillboard
from reticent.features.schema import Schema
from reticent.model.chances import Chance
from reticent.model.glm import in_units
from reticent.model.links import mean, slope
from reticent.model.vectors import packed_size, pair
from reticent.privacy import randomness
from reticent.privacy.budget import Budget
from reticent.privacy.randomness import Randomness, System
from reticent_devices.mechanisms.shuffle.encoding import coded
from reticent_devices.roles import limits, wire
from reticent_devices.roles.designs import draw
from reticent_devices.roles.device import ID_BYTES, REPORT, Device, DeviceChoice, agreed, agreed_schema, check_limit
from reticent_devices.roles.wire import Parameters
from reticent_papers import designs
from reticent_papers.shuffle import round_boards as boards

REWARD = -1  # in what a choice keeps, beside (digest of the question, report) of each round


class RoundsClient(Device):
    """`Client(billboard)`: the device of one user, for the batch that the billboard of its round 0 opens.

    Guarantee: as long as each round has the honest users that the billboard plans for, all that the shuffler hands on
    in the rounds of the batch is together (epsilon, delta)-private for replacing this user, at `cost`. The device works
    out itself what the plan gives for all rounds, and refuses a billboard that claims more protection than that, or
    gives less than the caller's `budget` (None: any claim). It reports the first choice that it makes, and answers no
    other
    rounds than those of the terms that it began with, each of them once: a second question for a round that it has
    answered is refused, and the same one gets the same bytes. Single reports are for the shuffler only.
    rewards, features, noise, draws: as for the device of a single round (roles.shuffle)."""

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
        self.parameters, self._board = boards.read(billboard)
        if self._board["round"]:
            raise BadBillboard("Expected the billboard that opens a batch, got that of a later round.")
        self._noise = noise or System()
        super().__init__(
            dim=self._board["dim"],
            link=self._board["link"],
            rewards=agreed(rewards, self._board["rewards"]),
            features=agreed_schema(features, self._board["features"]),
            cost=limits.cost(self._board, budget) if self._noise.private else None,
            batch=self.parameters.batch if self._noise.private else None,
        )
        self._draws = draws or System()
        self._thetas: Array = self._board["thetas"]
        self._inverses: Array = self._board["inverses"].reshape(len(self._thetas), self.dim, self.dim)

    # choosing

    def pick(self, features: Array) -> int:
        return draw(float(self._draws.uniforms(1)[0]), self._weights(features))

    def chance(self, features: Array, index: int) -> Chance:
        return Chance(float(self._weights(features)[index]), 0.0)

    def _weights(self, features: Array) -> Array:
        """An optimal design over the scaled arms that no closed batch shows to be worse than another."""
        widths = np.array([self._board["later" if k else "first"] for k in range(len(self._thetas))])
        alive = designs.survivors(features, self._thetas, self._inverses, widths)
        scales = np.array([self._slope_below(x) for x in features])
        return designs.d_optimal(features, scales, alive)

    def _slope_below(self, x: Array) -> float:
        """A lower bound on the slope at theta*, once a batch is closed; 1 before."""
        if not len(self._thetas):
            return 1.0
        half = self._board["first"] * math.sqrt(max(float(x @ self._inverses[0] @ x), 0.0))
        return slope(self.code, float(x @ self._thetas[0])) * math.exp(-min(2.0 * self._board["radius"], half))

    # reporting

    def report(self, x: Array, reward: float | None, id: bytes | None = None) -> Sent:
        return self.respond(x, reward, self.parameters, self._board, id)

    def answer(self, choice: DeviceChoice, billboard: bytes) -> Sent:
        """The report for a later round of the batch, about a choice whose first report this device has made: the same
        bytes however often it is asked for. BadBillboard for another batch, other terms, or another question than the
        one that was answered in that round."""
        if not isinstance(choice, DeviceChoice):
            raise ValueError(f"Expected what choose returned, got {type(choice).__name__}.")
        if choice.made.get(0, (b"",))[0] != self.parameters.digest:
            raise ValueError("Expected a choice that this device has reported, got another.")
        parameters, board = boards.read(billboard)
        number = board["round"]
        if board["terms"] != self._board["terms"] or parameters.batch != self.parameters.batch + number:
            raise BadBillboard("Expected a round of the batch that this device is in, on its terms, got another.")
        if number not in choice.made:
            with np.errstate(all="ignore"):
                made = self.respond(choice.features, choice.made[REWARD], parameters, board)
            choice.keep(number, (parameters.digest, made))  # the report is kept before it is sent
        response: tuple[bytes, Sent] = choice.made[number]
        if response[0] != parameters.digest:
            raise BadBillboard(f"Expected the question that was answered in round {number}, got another.")
        return response[1]

    def _keep(self, choice: DeviceChoice, reward: float | None) -> None:
        choice.keep(REWARD, reward)
        choice.keep(0, (self.parameters.digest, choice.made[REPORT]))

    def respond(
        self, x: Array, reward: float | None, of: Parameters, board: dict[str, Any], id: bytes | None = None
    ) -> Sent:
        """A fresh report of the arm played and its reward, to one question of the batch."""
        vector = self.contribution(x, self.rewards[0] if reward is None else reward, board)
        if reward is None:  # after the same work
            vector = Exact(np.zeros(vector.size))
        return wire.encode_report(of, (id or randomness.octets(ID_BYTES))[:ID_BYTES], self.counts(vector, of, board))

    def counts(self, vector: Exact, of: Parameters, board: dict[str, Any]) -> Coded:
        """The whole numbers of one report, coins included."""
        return coded(vector, self._noise, grid=board["plan"]["grid"], reach=of.reach, trials=of.trials)

    def contribution(self, x: Array, reward: float, board: dict[str, Any]) -> Exact:
        """The vector that is hidden by coins; its norm never exceeds the plan's, whatever the billboard says."""
        x = x * (1 / max(1.0, math.sqrt(float(np.dot(x, x)))))
        if board["round"]:
            expected = mean(self.code, float(np.dot(x, board["theta"])))
            vector = np.asarray((expected - in_units(reward, self.code, *self.rewards)) * x)
        else:
            vector = pair(x, min(self._slope_below(x), board["largest"]), 0.0)[: packed_size(self.dim)]
        return Exact(limits.clipped(vector, board["plan"]["norm"]))
