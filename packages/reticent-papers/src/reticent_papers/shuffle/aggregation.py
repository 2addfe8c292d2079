"""The device and the aggregator of DistributedElimination: reports of one number, and their sum modulo m.

client = ArmClient(billboard, budget=Budget(1.0, 0.0))
report = client.randomize(client.choose(arms), reward)  # for the aggregator alone
"""

import functools
from typing import Any

import numpy as np

from reticent.data import Array, Coded, Sent
from reticent.errors import BadBillboard
from reticent.features.schema import Schema
from reticent.model.chances import Chance
from reticent.privacy import randomness
from reticent.privacy.budget import Budget
from reticent.privacy.ledger import LAPLACE_ONE
from reticent.privacy.randomness import Randomness, System
from reticent_devices.mechanisms.local import MARGIN
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import wire
from reticent_devices.roles.device import ID_BYTES, Device, agreed, agreed_schema, check_limit
from reticent_devices.roles.schema import hexadecimal, one_of, or_null, record, whole, word
from reticent_devices.roles.shuffler import Shuffler
from reticent_papers.mechanisms.laplace import FINEST, LIMIT, LaplacePlan, coded, drawable, reduced

FORMAT = "reticent billboard of an arm"
LARGEST = 1 << 18  # users of a sum at most
MIDDLE = 0.5  # of the range of rewards: what silence counts as

FIELDS = {
    "format": one_of(FORMAT),
    "version": one_of(wire.VERSION),
    "model": one_of("shuffle"),
    "bandit": word,
    "batch": whole(0, 2**63 - 1),  # counts sums: one for each arm of a batch
    "dim": whole(1, boards.WIDEST),
    "features": or_null(hexadecimal),
    "rewards": boards.ROW,
    "arm": whole(0, boards.WIDEST - 1),
    "plan": record(
        {
            "users": whole(1, LARGEST),
            "minimum": whole(1, LARGEST),
            "malicious": whole(0, LARGEST),
            "honest": whole(1, LARGEST),
            "cells": whole(1, FINEST),
            "chance": whole(0, LAPLACE_ONE - 1),
            "reach": whole(0, LIMIT // 2 - 1),
            "epsilon": or_null(boards.POSITIVE),
            "delta": boards.BELOW_ONE,
        }
    ),
}


def read(billboard: bytes) -> tuple[wire.Parameters, dict[str, Any]]:
    """(what its messages have in common, the checked document, whose `coding` is the plan of the sum), or BadBillboard.
    A number of a report is in [0, m), m - 1 = 2 reach + users cells."""
    return _read(boards.as_bytes(billboard))


@functools.lru_cache(maxsize=4)
def _read(billboard: bytes) -> tuple[wire.Parameters, dict[str, Any]]:
    board = boards.checked(boards.parsed(billboard, "shuffle", FORMAT), FIELDS)
    plan = board["plan"]
    made = LaplacePlan(plan["users"], plan["honest"], plan["cells"], plan["chance"], plan["reach"])
    boards.need(board["arm"] < board["dim"], "one of its arms")
    boards.need(plan["honest"] <= plan["minimum"] - plan["malicious"], "no more honest users than surely report")
    boards.need(plan["minimum"] <= plan["users"], "no more users than the plan has")
    boards.need(made.modulus < LIMIT, "numbers that fit into 4 bytes")
    boards.need(drawable(made.chance), "noise that a device can draw")
    given = wire.Parameters(board["batch"], wire.digest(billboard), 1, made.reach, made.users * made.cells)
    return given, board | {"coding": made}


def cost(board: dict[str, Any], limit: Budget | None) -> Budget:
    """What a report costs its user, computed from the noise. BadBillboard where that is more than is claimed, or than
    the caller's limit."""
    plan, found = board["plan"], Budget(board["coding"].epsilon, 0.0)
    if plan["epsilon"] is None or not found.epsilon <= plan["epsilon"] * (1 + MARGIN):
        raise BadBillboard("Expected noise that gives the claimed epsilon, got less, or no claim.")
    if limit is not None and not found.epsilon <= limit.epsilon * (1 + MARGIN):
        raise BadBillboard(f"Expected epsilon at most {limit.epsilon:g}, got a billboard with {found.epsilon:g}.")
    return found


class ArmClient(Device):
    """`Client(billboard)`: the device of one user of the sum that the billboard announces. It plays the billboard's
    arm, coordinate `arm` of the arms' unit vectors, and reports its reward; a reward of another arm, where that one is
    not on offer, counts as none.

    Guarantee: as long as the sum has the honest users that the billboard plans for, what the aggregator hands on is
    (epsilon, 0)-private for replacing this user's reward, at `cost`. The report alone is not: it is for the aggregator
    only. The device works out epsilon from the noise, and refuses a billboard that claims less, or has more than the
    caller's `budget`. rewards, features, noise: as for other devices (roles.shuffle)."""

    def __init__(
        self,
        billboard: bytes,
        *,
        budget: Budget | None = None,
        rewards: tuple[float, float] | None = None,
        features: Schema | None = None,
        noise: Randomness | None = None,
    ) -> None:
        check_limit(budget)
        self.parameters, document = read(billboard)
        self._noise = noise or System()
        super().__init__(
            dim=document["dim"],
            link="identity",  # none is needed
            rewards=agreed(rewards, document["rewards"]),
            features=agreed_schema(features, document["features"]),
            cost=cost(document, budget) if self._noise.private else None,
            batch=self.parameters.batch if self._noise.private else None,
        )
        self._arm: int = document["arm"]
        self._plan: LaplacePlan = document["coding"]

    def pick(self, features: Array) -> int:
        return int(np.argmax(features[:, self._arm]))

    def chance(self, features: Array, index: int) -> Chance:
        return Chance(float(self.pick(features) == index), 0.0)

    def report(self, x: Array, reward: float | None, id: bytes | None = None) -> Sent:
        counts = coded(self.value(x, reward), self._noise, self._plan)
        return wire.encode_report(self.parameters, (id or randomness.octets(ID_BYTES))[:ID_BYTES], counts)

    def value(self, x: Array, reward: float | None) -> float:
        """In [0, 1], whatever the reward is."""
        low, high = self.rewards
        if reward is None or not x[self._arm] > 0:
            return MIDDLE
        return (min(max(reward, low), high) - low) / (high - low)


class Aggregator(Shuffler):
    """Takes the reports of one sum and hands on the sum modulo m, and the number of reports: as a shuffler it is
    trusted to keep single reports to itself. In a protocol of secure aggregation nobody has to be."""

    def __init__(self, billboard: bytes, *, budget: Budget | None = None, into: OpenBatch | None = None) -> None:
        super().__init__(billboard, into=into)
        if budget is not None:
            self.epsilon = cost(read(billboard)[1], budget).epsilon

    def _opened(self, billboard: bytes) -> tuple[wire.Parameters, dict[str, Any]]:
        return read(billboard)

    def _sums(self) -> Coded:
        return reduced(self._open.sums, self.parameters.slots + 1)
