"""What the servers of the local model share: reports come in, each private by itself, and are decoded."""

import json
import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from reticent.data import Released
from reticent.errors import BadReport, DuplicateReport, WrongBatch
from reticent.privacy import ledger, relations
from reticent.privacy.certificate import Certificate, certify
from reticent.privacy.ledger import LocalRelease
from reticent.privacy.randomness import FARTHEST
from reticent_devices.bandits.server import Server
from reticent_devices.mechanisms import local, randomizers
from reticent_devices.mechanisms.randomizers import Cap, Coin, Lattice, Law, Open, Randomizer
from reticent_devices.roles import billboard as boards
from reticent_devices.roles.billboard import TAG, tag
from reticent_devices.roles.device import ID_BYTES
from reticent_devices.roles.local import SENT, SIMULATED, LocalClient

REMEMBERED = 1 << 20  # ids


@dataclass(kw_only=True, eq=False)
class LocalServer(Server):
    """A subclass sets `_randomizer`, `_size` and `_sensitivity` by `_calibrate`, then `self._state = self.init()`."""

    _client: ClassVar[type[LocalClient]] = LocalClient  # its devices
    _staged = False  # whether reports are for one step alone
    _seen: dict[bytes, None] = field(default_factory=dict, init=False, repr=False)

    def _calibrate(self, made: Randomizer | Coin, *, size: int, sensitivity: float, enforce: bool = True) -> None:
        self._randomizer, self._size, self._sensitivity = made, size, sensitivity
        self.delta = self.budget.delta if isinstance(made, Lattice) else 0.0
        self.epsilon = local.epsilon_of(made, sensitivity=sensitivity, size=size, delta=self.budget.delta)
        if enforce:
            ledger.check((self._release(),), self.budget)

    # what an algorithm defines

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """theta, inverse, report and policy (and axes) of the billboard."""

    @abstractmethod
    def _absorb(self, vector: Released) -> None:
        """Learn from one decoded report."""

    # shared

    @property
    def std(self) -> float:
        """Standard deviation of the noise in a decoded number, nearly."""
        made = self._randomizer
        return made.scale if isinstance(made, Cap) else made.sigma if isinstance(made, Lattice) else 0.0

    @property
    def _law(self) -> Law:
        assert not isinstance(self._randomizer, Coin)
        return self._randomizer.law

    def billboard(self) -> bytes:
        self._advance(self.transit(), self.users)
        document = {"format": boards.LOCAL, "version": self.version} | self._fixed() | self._document()
        made = json.dumps(document).encode()
        boards.local(made, self._client.kinds)  # raises here rather than at every device
        return made

    def _fixed(self) -> dict[str, Any]:
        """What does not change from one billboard to the next, as JSON gives it back."""
        fixed = {
            "protocol": boards.PROTOCOL,
            "bandit": type(self).__name__,
            "dim": self.dim,
            "features": self._schema,
            "link": self.link,
            "rewards": list(self.rewards),
            "randomizer": randomizers.document(self._randomizer),
            "claim": {"epsilon": self.epsilon if self.epsilon < math.inf else None, "delta": self.delta},
        }
        out: dict[str, Any] = json.loads(json.dumps(fixed))
        return out

    def device(self) -> LocalClient:
        public, schema = isinstance(self._randomizer, Coin), self.schema
        return self._client(
            self.billboard(), public_arms=public, features=schema, noise=self._noise(), draws=self._draws()
        )

    def observe(self, report: bytes) -> None:
        """Learn from one device's report. A retry raises DuplicateReport: ids of the last REMEMBERED reports are kept,
        in memory alone."""
        vector = self._decode(report)
        self._once(report)
        self._absorb(vector)

    def _once(self, report: bytes) -> None:
        """Count a good report once."""
        if self.simulated:
            return
        identity = report[1 : 1 + ID_BYTES]
        if identity in self._seen:
            raise DuplicateReport("Expected a new report, got one that has been counted.")
        self._seen[identity] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]

    def _body(self, report: bytes) -> bytes:
        """What is in a report of a device at this server's billboard, or BadReport."""
        if not isinstance(report, bytes):
            raise BadReport(f"Expected the bytes of a report, got {type(report).__name__}.")
        if self.simulated:
            if report[:1] != SIMULATED:
                raise BadReport("Expected a report of a simulated device at this server's billboard, got another.")
            return report[1:]
        if report[:1] != SENT or len(report) < 1 + ID_BYTES + TAG:
            raise BadReport("Expected a report of a device at this server's billboard, got another.")
        if report[1 + ID_BYTES : 1 + ID_BYTES + TAG] != self._tag:
            raise WrongBatch("Expected a report made for this server's settings and budget, got one for others.")
        return report[1 + ID_BYTES + TAG :]

    @property
    def _tag(self) -> bytes:
        """Of the present billboard: it changes with the version where reports are for one step alone."""
        step = self.version if self._staged else 0
        tagged: tuple[int, bytes] | None = getattr(self, "_tagged", None)
        if tagged is None or tagged[0] != step:
            tagged = self._tagged = step, tag(self._fixed() | {"version": step}, staged=self._staged)
        return tagged[1]

    def _decode(self, report: bytes) -> Released:
        made, body = self._randomizer, self._body(report)
        assert not isinstance(made, Coin)
        length = 8 * self._numbers if self.simulated else made.length(self._numbers)
        if len(body) != length:
            raise BadReport(f"Expected a report with {length} bytes of numbers, got {len(body)}.")
        vector = Open().decode(body) if self.simulated else made.decode(body)
        if not np.isfinite(vector).all():
            raise BadReport("Expected finite numbers in a report, got NaN or infinity.")
        if not self.simulated and not (np.abs(vector) <= self._farthest()).all():
            raise BadReport("Expected numbers that an honest device can send, got one beyond them.")
        return vector

    @property
    def _numbers(self) -> int:
        """Of a report now."""
        return self._size

    def _farthest(self) -> float:
        """No number of an honest report is larger: forged ones cannot outweigh all others."""
        made = self._randomizer
        if isinstance(made, Cap):
            return made.scale * randomizers.largest() / randomizers.UNIT * (1 + 1e-9)
        norm = self._norm
        sigma = made.sigma if isinstance(made, Lattice) else 0.0
        return norm * (1 + 1e-9) + FARTHEST * (sigma + self._shake) + 2 * sigma / randomizers.CELLS

    @property
    def _norm(self) -> float:
        """Of the vector that a device makes."""
        return self._client.extent(self._document()["report"], self.link, self.rewards, self.dim).norm

    @property
    def _shake(self) -> float:
        """Standard deviation of what devices add that is not for privacy."""
        return 0.0

    def _plan_numbers(self) -> list[float]:
        return [float(v) for v in vars(self._randomizer).values()]

    @property
    def privacy(self) -> Certificate:
        releases = (self._release(),)
        return certify(
            type(self).__name__,
            model="local",
            budget=self.budget,
            delta=self.delta,
            releases=releases,
            spent=releases if self.users else (),
            source=self._origin,
            features=self.schema,
            horizon=self.horizon,
            rounds=self.users,
            caveats=self._caveats(),
        )

    def _release(self) -> LocalRelease:
        made = self._randomizer
        name = {Cap: "cap (PrivUnit)", Lattice: "discrete Gaussian", Coin: "randomised response"}.get(
            type(made), "none"
        )
        numbers = self._size, self._sensitivity, self.std, self.epsilon, self.delta
        return LocalRelease(name, self._statistic(), *numbers, relation=self._relation)

    @property
    def _relation(self) -> str:
        """The neighbours that a report is private for: it holds arms as they are where its numbers are a coin alone."""
        return relations.named(public=isinstance(self._randomizer, Coin))

    def _statistic(self) -> str:
        return f"one report of {self._size} numbers for each user"

    def _caveats(self) -> tuple[str, ...]:
        return ()
