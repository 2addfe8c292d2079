"""Everything that draws noise for people's data: one run of it, and the noise that was in what the run let out.

Bandits of the registry are covered by their names, a new mechanism by one line of DRAWS, here or in the tests of a
package; a class that takes a secure source and is in no line fails a test."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from core_tests.made import any_kind
from devices_tests.roles.fleet import Fleet
from reticent import Budget, JointGLM, registry
from reticent.mechanisms import recursive
from reticent.testing import stage
from reticent.testing.canary import responses
from reticent_devices import LocalIRLS, ShuffleNewton
from reticent_devices.roles import billboard, wire
from tests.registered import bandits

BUDGET, LEAVES = Budget(1.0, 0.02), 8
NOBODY = np.zeros((1, 2))  # whose only arm is 0: adds nothing to any sum
Run = Callable[[], list[Any]]


@dataclasses.dataclass(frozen=True)
class Draw:
    """`make(source)` returns a run; a run returns vectors of noise, each number over the standard deviation that the
    certificate claims for it, in the order in which they are drawn. Draws of one family are drawn by the same lines of
    code. known: whether each number is one that the source was asked for, and all of these are there."""

    kind: type
    family: str
    make: Callable[[Any], Run]
    known: bool = True


def continual(family: str, kind: type, *, known: bool = True, **options: Any) -> Draw:
    """A bandit with continual release: what the releases tell of each draw, by the mechanism in floats."""

    def make(source: Any) -> Run:
        plain = {"features": 2, "horizon": LEAVES, "budget": BUDGET, "pending": LEAVES}
        bandit = any_kind(kind, source=source, **(plain | options))
        mechanism = stage.mechanism(bandit)
        real = getattr(mechanism, "real", mechanism)
        noise, _ = responses(dataclasses.replace(real, sigma=bandit.privacy.releases[0].sigma))
        whiten = np.linalg.inv(np.linalg.cholesky(noise @ noise.T))

        def run() -> list[Any]:
            fresh = stage.anew(bandit)
            out = [stage.close(fresh).copy() for _ in range(len(noise))]  # steps of nobody
            return list(whiten @ np.array(out))

        return run

    return Draw(kind, family, make, known)


def long_vectors(kind: type, **options: Any) -> Draw:
    """The same with ten sums of the past, which vectors of any length have here."""

    def make(source: Any) -> Run:
        with mock.patch.object(recursive, "LARGEST_TABLE", 1):
            return continual("recursive", kind, **options).make(source)

    return Draw(kind, "recursive", make)


def device(family: str, kind: type, **options: Any) -> Draw:
    """A device's report without a reward, as the server decodes it. Some shake x besides, as the billboard says."""

    def make(_source: Any) -> Run:
        server = any_kind(kind, features=2, horizon=1000, budget=BUDGET, range=(-1.0, 1.0), **options)
        client, release = server.device(), server.privacy.releases[0]
        std = np.full(server._numbers, release.std)
        std[:-1] = np.hypot(std[:-1], json.loads(server.billboard())["report"].get("shake", 0.0))
        return lambda: [server._decode(client.randomize(client.choose(NOBODY), None)) / std]

    return Draw(kind, family, make, known=False)


def coins(kind: type, *, fleet: bool = False, **options: Any) -> Draw:
    """A device's counts for the shuffler without a reward: the ones among so many fair coins."""

    def make(_source: Any) -> Run:
        server = kind(2, BUDGET, **options)
        board, trials = server.billboard(), server.privacy.releases[0].trials
        of, _ = billboard.batch(board)
        if fleet:
            many, zeros = Fleet(board), np.zeros((10, of.size))
            return lambda: list(_heads(np.frombuffer(many.reports(zeros), of.record)["counts"], of, trials))

        def run() -> list[Any]:
            client = server.device()
            _, counts = wire.decode_report(client.randomize(client.choose(NOBODY), None), of)
            return [_heads(counts, of, trials)]

        return run

    return Draw(kind, "fleet" if fleet else "coins", make, known=False)


def _heads(counts: Any, of: wire.Parameters, trials: int) -> Any:
    return (counts.astype(float) - of.reach - trials / 2) / (np.sqrt(trials) / 2)


def registered(package: str = "reticent") -> dict[str, Draw]:
    """A line for every bandit of a package, each its own family; those below replace it where they are more exact."""
    out = {}
    for name, home in bandits(package, "JOINT").items():
        kind = registry.load(*home)
        steps = kind is JointGLM or "first" in kind.__dataclass_fields__
        out[name] = continual(name, kind, **{"first": 1} if steps else {})
    out |= {name: coins(registry.load(*home)) for name, home in bandits(package, "SHUFFLE").items()}
    return out | {name: device(name, registry.load(*home)) for name, home in bandits(package, "LOCAL").items()}


DRAWS = registered() | {
    "joint-glm": continual("discounted", JointGLM, first=1),
    "joint-glm-scores": continual("discounted", JointGLM, first=1, model="scores"),
    "joint-glm-long": long_vectors(JointGLM, first=1),
    "joint-glm-person": continual("discounted", JointGLM, first=1, rounds=3),
    "local-irls": device("cap", LocalIRLS, randomizer="cap"),
    "local-irls-gaussian": device("lattice", LocalIRLS, randomizer="gaussian"),
    "shuffle-newton": coins(ShuffleNewton, first=200),
    "shuffle-newton-fleet": coins(ShuffleNewton, fleet=True, first=200),
}
