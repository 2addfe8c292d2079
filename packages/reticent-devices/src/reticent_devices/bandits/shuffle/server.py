"""What the servers of the shuffle model share: batches, the billboard, the shuffled sum, the charge, the
certificate."""

import json
import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import numpy as np

from reticent.core.live import State
from reticent.data import Array, Coded
from reticent.errors import BatchTooSmall
from reticent.privacy import relations, words
from reticent.privacy.certificate import Certificate, certify, plain_certificate
from reticent.privacy.ledger import ShuffledRelease
from reticent_devices.bandits.server import Server, numbers
from reticent_devices.bandits.shuffle.batches_kernel import BATCH
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan
from reticent_devices.mechanisms.shuffle.encoding import nothing_coded
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import wire
from reticent_devices.roles.analyzer import Analyzer
from reticent_devices.roles.device import Device
from reticent_devices.roles.shuffle import ShuffleClient
from reticent_devices.roles.shuffler import Shuffler

MUCH_LARGER = 100  # than the first batch: its noise then adds little to that of rewards


@dataclass(kw_only=True, eq=False)
class BehindShuffler(Server):
    """A server that takes shuffled sums. Its version is the number of sums so far; each has a billboard of its own.
    dropout, malicious: shares of users who may send nothing, or no noise."""

    dropout: float = 0.0
    malicious: float = 0.0

    @property
    @abstractmethod
    def wanted(self) -> int:
        """Reports of the present batch or round: close it when the shuffler has so many."""

    @property
    @abstractmethod
    def theta(self) -> Array:
        """The estimate that devices choose by: a function of shuffled sums."""

    @abstractmethod
    def _board(self) -> dict[str, Any]:
        """The billboard as a document."""

    def billboard(self) -> bytes:
        board: tuple[int, bytes] | None = getattr(self, "_published", None)
        if board is None or board[0] != self.version:
            board = self._published = self.version, json.dumps(self._board(), sort_keys=True).encode()
            self._check_board(board[1])  # raises here rather than at every device
        return board[1]

    def republish(self, billboard: bytes) -> None:
        """Reports have the digest of these very bytes."""
        self._check_board(billboard)
        self._published = self.version, billboard

    def _check_board(self, billboard: bytes) -> None:
        """BadBillboard for one that devices would refuse."""
        boards.batch(billboard)


class ShuffledState(State, Protocol):
    """As ShuffleState; `counts` are the users of closed batches, and those batches."""

    @property
    def spent(self) -> Array: ...


@dataclass(kw_only=True, eq=False)
class Shuffled(BehindShuffler):
    """A server whose `analyzer` plans the batches. largest: users of a batch at most, however many came before; None: a
    hundred times the first batch's."""

    _why = ""  # how it came to sum that, in words after those of `_statistic`
    largest: float | None = math.inf
    calibration: str = "exact"
    analyzer: Analyzer = field(init=False, repr=False)
    _state: ShuffledState = field(init=False, repr=False)

    # what an algorithm defines

    @abstractmethod
    def _public(self) -> dict[str, Any]:
        """Its part of the billboard: curvature, moment, weights, policy, theta, centre, inverse, axes, spread."""

    @abstractmethod
    def _close(self, reports: int, sums: Coded, plan: ShufflePlan) -> None:
        """Take the shuffled batch into the state, and renew the estimate."""

    def _analyzer(self, *, size: int, sensitivity: float, norm: float, first: int, growth: float) -> Analyzer:
        self.budget.needs_delta(type(self).__name__)
        if self.largest is None:
            self.largest = MUCH_LARGER * first
        return Analyzer(
            budget=self.budget,
            size=size,
            sensitivity=sensitivity,
            norm=norm,
            first=first,
            growth=growth,
            dropout=self.dropout,
            malicious=self.malicious,
            largest=self.largest,
            calibration=self.calibration,
        )

    @property
    def _statistic(self) -> str:
        """What is summed, in words for the certificate."""
        return "x x' and x, weighted,"

    # the protocol

    @property
    def version(self) -> int:
        return int(self._state.counts[BATCH])

    @property
    def wanted(self) -> int:
        return self.analyzer.plan(self.version).users

    def _board(self) -> dict[str, Any]:
        plan = self.analyzer.plan(self.version)
        return {
            "format": boards.SHUFFLE,
            "version": wire.VERSION,
            "model": "shuffle",
            "bandit": type(self).__name__,
            "batch": self.version,
            "dim": self.dim,
            "features": self._schema,
            "link": self.link,
            "rewards": list(self.rewards),
            "plan": {
                "users": plan.users,
                "minimum": self.analyzer.minimum(plan),
                "size": plan.size,
                "grid": plan.scale,
                "reach": plan.reach,
                "trials": plan.trials,
                "laplace": plan.laplace,
                "norm": self.analyzer.norm,
                "sensitivity": plan.sensitivity,
                "malicious": self.analyzer.liars(plan),
                "epsilon": None if math.isinf(self.budget.epsilon) else self.budget.epsilon,
                "delta": self.budget.delta,
            },
            **{key: numbers(v) if isinstance(v, np.ndarray) else v for key, v in self._public().items()},
        }

    def device(self) -> Device:
        return ShuffleClient(self.billboard(), features=self.schema, noise=self._noise(), draws=self._draws())

    def observe(self, report: bytes) -> None:
        """Take the shuffled batch that the shuffler hands over."""
        board = self.billboard()
        plan = self.analyzer.plan(self.version)
        reports, sums = self.analyzer.open(report, self.version, wire.digest(board))
        if reports < self.analyzer.minimum(plan):
            raise BatchTooSmall(f"Expected at least {self.analyzer.minimum(plan)} reports, got {reports}.")
        self.analyzer.plan(self.version + 1)  # raises before anything has changed, if it cannot be made
        self._close(reports, sums, plan)
        self._charge(self.version - 1, reports)

    def _charge(self, batch: int, reports: int) -> None:
        if self.budget.epsilon != math.inf:
            spent = self._cost(self.analyzer.plan(batch), reports)
            self._state.spent[0] = max(self._state.spent[0], spent)

    def _cost(self, plan: ShufflePlan, reports: int) -> float:
        """epsilon of a batch of so many reports."""
        return self.analyzer.epsilon(plan, reports)

    def _coin(self, plan: ShufflePlan) -> float:
        """How likely devices replace a bit by a coin; 0 where they add coins."""
        return 0.0

    def _std(self, plan: ShufflePlan) -> float:
        """Of the noise in a number of the sum."""
        return plan.std

    # simulation

    def transit(self) -> OpenBatch:
        return OpenBatch(np.zeros(1, np.int64), nothing_coded(self.analyzer.size))

    def _advance(self, transit: OpenBatch, users: int) -> bool:
        inside = users - self.users
        full = inside >= self.analyzer.plan(self.version).users
        if full:
            for _ in range(inside - int(transit.reports[0])):  # rewards that never came: noise alone
                self._send(self.device().report(np.zeros(self.dim), None), transit)
            self.observe(Shuffler(self.billboard(), into=transit).close())
            transit.reports[0] = 0
            transit.sums[:] = 0
        return full

    def _send(self, report: bytes, transit: OpenBatch) -> None:
        Shuffler(self.billboard(), into=transit).add(report)

    def _compile_more(self) -> None:
        plan = self.analyzer.plan(self.version)
        self._close(plan.users, nothing_coded(plan.size), plan)

    def _plan_numbers(self) -> list[float]:
        plan = self.analyzer.plan(0)
        return [plan.users, plan.scale, plan.reach, plan.trials, plan.sensitivity]

    # what may be shown

    @property
    def theta(self) -> Array:
        out: Array = np.array(self._public()["theta"])
        return out

    @property
    def privacy(self) -> Certificate:
        plan = self.analyzer.plan(self.version)
        if self.calibration == "central":
            return plain_certificate(type(self).__name__, "The noise is a trusted curator's: no claim is made.")
        spent = float(self._state.spent[0])
        release = ShuffledRelease(
            "shuffled sum",
            f"sums of {self._statistic} over a batch: {plan.size} numbers, each user in one batch{self._why}",
            plan.sensitivity,
            plan.users,
            self.analyzer.minimum(plan),
            plan.scale,
            plan.trials,
            self._std(plan),
            plan.bits,
            max(spent, self._cost(plan, self.analyzer.minimum(plan))),
            self.budget.delta,
            chance=self._coin(plan),
            relation=relations.REPLACE,
        )
        return certify(
            type(self).__name__,
            model="shuffle",
            budget=self.budget,
            releases=(release,),
            spent=(msgspec.structs.replace(release, epsilon=spent),) if self.version else (),
            source=self._origin,
            features=self.schema,
            horizon=self.horizon,
            rounds=self.users,
            caveats=(words.shuffle_assumes(self.malicious),),
        )
