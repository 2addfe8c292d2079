"""The task of one era: the public numbers that devices, both aggregators and the analyzer act by.

Everything else follows from them by everybody's own code: how long contributions are and how far apart, cells, circuit,
encoder, noise. Nobody takes a sigma or a sensitivity from another. Reports and proofs are bound to the task's digest,
so that a report of one era, or of one bound, is none of another.

The leader is the operator's aggregator, the helper somebody else's. Against either the noise of the other one protects:
so the helper's is made for `operator`, the claim against the operator, and the leader's for `helper`."""

import functools
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from tacit.errors import BadBillboard, NotSecure
from tacit.kernels.rounds import Schedule
from tacit.mechanisms.discounted import Discounted
from tacit.mechanisms.grid import Grid
from tacit.mechanisms.shares import check_room, circuit_for, grid_for
from tacit.model import links
from tacit.model.glm import glm_norm, glm_sensitivity, largest_weight
from tacit.model.scores import ScoreContribution
from tacit.model.vectors import pair_size
from tacit.privacy import gaussian
from tacit.privacy.budget import Budget
from tacit.roles.billboard import BALANCE, BELOW_ONE, PART, POSITIVE, ROW, WIDEST, checked, need
from tacit.roles.schema import Field, hexadecimal, one_of, or_null, real, record, variant, whole, word
from tacit.vdaf.circuit import Bounded
from tacit.vdaf.prio3 import Prio3

FORMAT, PROTOCOL = "tacit task of two aggregators", 1
LEADER, HELPER = 0, 1
PARTIES = "leader", "helper"
MOST_REPORTS = 1 << 35  # of an era: so many have room in the field, with all noise
MOST_LEAVES = 1 << 14  # steps of an era

CLAIM = record({"epsilon": or_null(POSITIVE), "delta": BELOW_ONE})
FIELDS: dict[str, Field] = {
    "format": one_of(FORMAT),
    "protocol": one_of(PROTOCOL),
    "era": hexadecimal,
    "bandit": word,
    "dim": whole(1, WIDEST),
    "features": or_null(hexadecimal),
    "link": one_of(*links.NAMES),
    "rewards": ROW,
    "report": variant("name", {"glm": {"scale": BALANCE, "blend": PART}, "score": {}}),
    "operator": CLAIM,
    "helper": CLAIM,
    "steps": record(
        {"first": whole(1, 2**53), "growth": real(1.0, 1e6), "leaves": whole(1, MOST_LEAVES), "discount": PART}
    ),
    "commitments": record(dict.fromkeys(PARTIES, hexadecimal)),
}


class TaskSteps(NamedTuple):
    """When steps close, how many there may be, and how much of the earlier ones is left at each."""

    first: int
    growth: float
    leaves: int
    discount: float

    @property
    def schedule(self) -> Schedule:
        return Schedule(float(self.first), self.growth)


@dataclass(frozen=True, kw_only=True)
class Task:
    """scale, blend: of contributions with curvature (model.glm); scale 0: scores alone (model.scores). commitments:
    SHA-256 of both halves of the key that reports are verified with, which no device knows."""

    era: str
    bandit: str
    dim: int
    features: str | None
    link: str
    rewards: tuple[float, float]
    scale: float
    blend: float
    operator: Budget
    helper: Budget
    steps: TaskSteps
    commitments: tuple[str, str]

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Task":
        """A task as JSON gives it, checked whole; BadBillboard."""
        read = checked(document, FIELDS)
        need(read["steps"]["discount"] > 0, "a discount above 0")
        plain = {name: read[name] for name in ("era", "bandit", "dim", "features", "link", "rewards")}
        return cls(
            **plain,
            scale=read["report"].get("scale", 0.0),
            blend=read["report"].get("blend", 0.0),
            operator=_claim(read["operator"]),
            helper=_claim(read["helper"]),
            steps=TaskSteps(**read["steps"]),
            commitments=(read["commitments"]["leader"], read["commitments"]["helper"]),
        )

    @property
    def document(self) -> dict[str, Any]:
        def claim(budget: Budget) -> dict[str, Any]:
            return {"epsilon": None if math.isinf(budget.epsilon) else budget.epsilon, "delta": budget.delta}

        glm = {"name": "glm", "scale": self.scale, "blend": self.blend}
        return {
            "format": FORMAT,
            "protocol": PROTOCOL,
            "era": self.era,
            "bandit": self.bandit,
            "dim": self.dim,
            "features": self.features,
            "link": self.link,
            "rewards": list(self.rewards),
            "report": glm if self.scale else {"name": "score"},
            "operator": claim(self.operator),
            "helper": claim(self.helper),
            "steps": self.steps._asdict(),
            "commitments": dict(zip(PARTIES, self.commitments, strict=True)),
        }

    @functools.cached_property
    def digest(self) -> bytes:
        """What reports, proofs and messages are bound to."""
        return hashlib.sha256(json.dumps(self.document, sort_keys=True).encode()).digest()

    # what follows

    @property
    def size(self) -> int:
        """Numbers of a contribution."""
        return pair_size(self.dim) if self.scale else self.dim

    @property
    def norm(self) -> float:
        """Of the longest contribution."""
        return glm_norm(self._weight) if self.scale else ScoreContribution.norm

    @property
    def sensitivity(self) -> float:
        return glm_sensitivity(self._weight) if self.scale else ScoreContribution.sensitivity

    @property
    def _weight(self) -> float:
        return self.scale * largest_weight(links.named(self.link))

    @property
    def private(self) -> bool:
        """Whether both claims are finite."""
        return max(self.operator.epsilon, self.helper.epsilon) < math.inf

    def check(self) -> None:
        """NotSecure unless there is noise, and it has room with all reports that there may be; for aggregators."""
        if not self.private:
            raise NotSecure("Expected a finite epsilon against each aggregator, got none: there would be no noise.")
        check_room(max(self.grids, key=lambda grid: grid.cells), self.circuit, MOST_REPORTS)

    @functools.cached_property
    def grids(self) -> tuple[Grid, Grid]:
        """The leader's mechanism and the helper's."""
        real = Discounted(leaves=self.steps.leaves, size=self.size, discount=self.steps.discount, sigma=0.0)
        given = {"norm": self.norm, "sensitivity": self.sensitivity}
        leader, helper = (grid_for(real, mu=gaussian.mu(claim), **given) for claim in (self.helper, self.operator))
        return leader, helper

    @functools.cached_property
    def circuit(self) -> Bounded:
        return circuit_for(self.grids[LEADER])

    @functools.cached_property
    def prio3(self) -> Prio3:
        return Prio3(circuit=self.circuit, context=self.digest)


def _claim(read: dict[str, Any]) -> Budget:
    need(read["epsilon"] is None or read["delta"] > 0, "a delta above 0")
    return Budget(math.inf if read["epsilon"] is None else read["epsilon"], read["delta"])


def key(task: Task, halves: tuple[bytes, bytes]) -> bytes:
    """That reports are verified with, from the halves that each aggregator drew; BadBillboard unless the task is
    committed to both. One key for an era: a second one would read what is in a report."""
    for half, commitment in zip(halves, task.commitments, strict=True):
        if len(half) != 32 or committed(half) != commitment:
            raise BadBillboard("Expected the halves of the key that the task is committed to, got others.")
    return hashlib.sha256(b"tacit verify key" + task.digest + b"".join(halves)).digest()


def committed(half: bytes) -> str:
    """What a task says of a half."""
    return hashlib.sha256(b"tacit half of a verify key" + half).hexdigest()
