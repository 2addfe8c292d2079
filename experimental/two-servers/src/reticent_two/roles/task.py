"""The task of one era: the public numbers that devices, both aggregators and the analyzer act by.

Everything else follows from them by everybody's own code: how long contributions are and how far apart, cells, circuit,
encoder, noise. The document has these `numbers`, too, and whoever reads it works them out and refuses others: nobody
takes a sigma or a sensitivity from another. Both aggregators sign the document (roles.signed), each once. Reports
and proofs are bound to its digest, so that a report of one era, or of one bound, is none of another.

The leader is the operator's aggregator, the helper somebody else's. Against either the noise of the other one protects:
so the helper's is made for `operator`, the claim against the operator, and the leader's for `helper`."""

import functools
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from reticent.errors import BadBillboard, NotSecure
from reticent.kernels.rounds import Schedule
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.grid import Grid
from reticent.model import links
from reticent.model.glm import glm_norm, glm_sensitivity, largest_weight
from reticent.model.scores import ScoreContribution
from reticent.model.vectors import pair_size
from reticent.privacy import gaussian
from reticent.privacy.budget import Budget
from reticent_devices.roles.billboard import BELOW_ONE, PART, POSITIVE, ROW, SIZE, WIDEST, checked, need
from reticent_devices.roles.schema import Field, hexadecimal, one_of, or_null, real, record, variant, whole, word
from reticent_two.roles.identity import Identities
from reticent_two.shares import BITS, check_honest, check_room, circuit_for, grid_for
from reticent_two.vdaf.circuit import Bounded
from reticent_two.vdaf.prio3 import Prio3

FORMAT, PROTOCOL = "reticent task of two aggregators", 2
LEADER, HELPER = 0, 1
PARTIES = "leader", "helper"
MOST_REPORTS = 1 << 35  # of an era: so many have room in the field, with all noise
MOST_LEAVES = 1 << 14  # steps of an era
PROOFS = 3
SAME = 1e-9  # relative: so far may two machines' arithmetic be apart

CLAIM = record({"epsilon": or_null(POSITIVE), "delta": BELOW_ONE})
NUMBERS: dict[str, Field] = {
    "size": whole(1, 2**24),  # of a contribution
    "bits": whole(1, 53),  # of each number
    "proofs": whole(1, 255),
    "squares": whole(1, 2**53),  # the most that the squares of a contribution's cells add up to
    "cell": POSITIVE,
    "norm": POSITIVE,
    "sensitivity": POSITIVE,
    "encoder": hexadecimal,  # SHA-256 of the encoder's whole numbers, 8 bytes each
    "sigma": record(dict.fromkeys(PARTIES, SIZE)),
}
EACH: dict[str, Field] = {
    "first": whole(1, 2**53),
    "growth": real(1.0, 1e6),
    "leaves": whole(1, MOST_LEAVES),
    "discount": PART,
}
STEPS, FADING = record(EACH), record(EACH | {"longest": whole(1, 2**53)})  # the second where the past is forgotten
FIELDS: dict[str, Field] = {
    "format": one_of(FORMAT),
    "protocol": one_of(PROTOCOL),
    "era": hexadecimal,
    "bandit": word,
    "dim": whole(1, WIDEST),
    "features": or_null(hexadecimal),
    "link": one_of(*links.NAMES),
    "rewards": ROW,
    "report": variant("name", {"glm": {"scale": real(1e-6, 1e6), "blend": PART}, "score": {}}),
    "operator": CLAIM,
    "helper": CLAIM,
    "steps": lambda value: (FADING if type(value) is dict and "longest" in value else STEPS)(value),
    "identities": record(dict.fromkeys(PARTIES, hexadecimal)),
    "commitments": record(dict.fromkeys(PARTIES, hexadecimal)),
    "numbers": record(NUMBERS),
}


class TaskSteps(NamedTuple):
    """When steps close, how many there may be, and how much of the earlier ones is left at each. longest: reports of a
    step at most, where the past is forgotten."""

    first: int
    growth: float
    leaves: int
    discount: float
    longest: int | None = None

    @property
    def schedule(self) -> Schedule:
        return Schedule(float(self.first), self.growth, math.inf if self.longest is None else float(self.longest))

    @property
    def document(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Task:
    """scale, blend: of contributions with curvature (model.glm); scale 0: scores alone (model.scores). identities: of
    both aggregators, in hexadecimal digits. commitments: to both halves of the key that reports are verified with,
    which no device knows."""

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
    identities: tuple[str, str]
    commitments: tuple[str, str]

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Task":
        """A task as JSON gives it, checked whole; BadBillboard."""
        read = checked(document, FIELDS)
        need(read["steps"]["discount"] > 0, "a discount above 0")
        need(len(set(read["identities"].values())) == 2, "two identities")
        plain = {name: read[name] for name in ("era", "bandit", "dim", "features", "link", "rewards")}
        made = cls(
            **plain,
            scale=read["report"].get("scale", 0.0),
            blend=read["report"].get("blend", 0.0),
            operator=_claim(read["operator"]),
            helper=_claim(read["helper"]),
            steps=TaskSteps(**read["steps"]),
            identities=(read["identities"]["leader"], read["identities"]["helper"]),
            commitments=(read["commitments"]["leader"], read["commitments"]["helper"]),
        )
        made._agree(read["numbers"])
        vars(made)["text"] = canonical(document)  # whose numbers may differ in the last digits from those made here
        return made

    def _agree(self, given: dict[str, Any]) -> None:
        """BadBillboard unless they are what follows from the rest. Arithmetic may differ in the last digits: `sigma`,
        `norm` and `sensitivity` are taken from here, whatever the document has there."""

        def same(one: Any, other: Any) -> bool:
            if isinstance(one, dict):
                return all(same(one[name], other[name]) for name in one)
            return math.isclose(one, other, rel_tol=SAME) if isinstance(one, float) else bool(one == other)

        for name, own in self.numbers.items():
            need(same(own, given[name]), f"the {name} that follows from the rest")

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
            "steps": self.steps.document,
            "identities": dict(zip(PARTIES, self.identities, strict=True)),
            "commitments": dict(zip(PARTIES, self.commitments, strict=True)),
            "numbers": self.numbers,
        }

    @functools.cached_property
    def text(self) -> bytes:
        """The document as it is signed."""
        return canonical(self.document)

    @functools.cached_property
    def digest(self) -> bytes:
        """What reports, proofs and messages are bound to."""
        return hashlib.sha256(self.text).digest()

    @property
    def known(self) -> Identities:
        """Who signs for it."""
        return Identities(*map(bytes.fromhex, self.identities))

    # what follows

    @functools.cached_property
    def numbers(self) -> dict[str, Any]:
        grid, circuit = self.grids[LEADER], self.circuit
        return {
            "size": self.size,
            "bits": BITS,
            "proofs": PROOFS,
            "squares": circuit.longest,
            "cell": grid.cell,
            "norm": self.norm,
            "sensitivity": self.sensitivity,
            "encoder": hashlib.sha256(grid.encoder_cells.astype("<i8").tobytes()).hexdigest(),
            "sigma": {name: float(each.sigma) for name, each in zip(PARTIES, self.grids, strict=True)},
        }

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
        """NotSecure unless there is noise, and it has room with all reports that there may be, and every honest
        contribution passes the circuit; for aggregators."""
        if not self.private:
            raise NotSecure("Expected a finite epsilon against each aggregator, got none: there would be no noise.")
        check_honest(self.grids[LEADER], self.circuit)
        check_room(self.grids, self.circuit, MOST_REPORTS)

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
        return Prio3(circuit=self.circuit, context=self.digest, proofs=PROOFS)


def canonical(document: dict[str, Any]) -> bytes:
    """JSON whose names are sorted, as Python writes it; one document, one text."""
    return json.dumps(document, sort_keys=True).encode()


def _claim(read: dict[str, Any]) -> Budget:
    need(read["epsilon"] is None or read["delta"] > 0, "a delta above 0")
    return Budget(math.inf if read["epsilon"] is None else read["epsilon"], read["delta"])


def key(task: Task, halves: tuple[bytes, bytes]) -> bytes:
    """That reports are verified with, from the halves that each aggregator drew; BadBillboard unless the task is
    committed to both. One key for an era: a second one would read what is in a report."""
    for half, commitment in zip(halves, task.commitments, strict=True):
        if len(half) != 32 or committed(half) != commitment:
            raise BadBillboard("Expected the halves of the key that the task is committed to, got others.")
    return hashlib.sha256(b"reticent verify key" + task.digest + b"".join(halves)).digest()


def committed(half: bytes) -> str:
    """What a task says of a half."""
    return hashlib.sha256(b"reticent half of a verify key" + half).hexdigest()
