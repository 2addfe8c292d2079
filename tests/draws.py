"""Everything that draws noise for people's data: one run of it, and the noise that was in what the run let out.

Bandits of the registry are covered by their names, a new mechanism by one line of DRAWS; a class that takes a secure
source and is in no line fails a test."""

import dataclasses
import json
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from scipy.stats import norm

from tacit import Budget, JointGLM, JointLinUCB, LocalIRLS, ShuffleNewton, registry
from tacit.kernels.rounds import BOUNDARY, CHOICES
from tacit.mechanisms import recursive
from tacit.roles import billboard, wire
from tacit.roles.fleet import Fleet
from tacit.testing.canary import responses
from tacit_papers import (
    AdaCGOPE,
    DistributedElimination,
    Fliphat,
    JointGLMRare,
    JointReweighted,
    JointSquareCB,
    LocalAnytimeUCB,
    LocalCombiner,
    LocalGLM,
    LocalLinUCB,
    LocalOnlineUCB,
    LocalReweighted,
    LocalSquareCB,
    ShariffLinUCB,
    ShuffleGLM,
    ShuffleLinUCB,
    ShuffleSBLB,
)
from tacit_papers.queries import Queries
from tacit_papers.regression import (
    ImproperSGD,
    OutputPerturbation,
    PrivateNewton,
    PrivateRidge,
    ReweightedGLM,
    ReweightedLinear,
)
from tacit_papers.shuffle.aggregation import Aggregator

BUDGET = Budget(1.0, 0.02)
LEAVES = 8
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
        plain = {"dim": 2, "horizon": LEAVES, "budget": BUDGET, "pending": LEAVES}
        bandit = kind(source=source, **(plain | options))
        mechanism = getattr(bandit.mechanism, "real", bandit.mechanism)
        noise, _ = responses(dataclasses.replace(mechanism, sigma=bandit.privacy.releases[0].sigma))
        whiten = np.linalg.inv(np.linalg.cholesky(noise @ noise.T))

        def run() -> list[Any]:
            bandit._state, out = bandit.init(), []
            counts = bandit._state.counts
            for _ in range(len(noise)):
                counts[CHOICES] = counts[BOUNDARY]  # of nobody: a step closes and releases noise
                bandit._advance()
                out.append(bandit._state.prefix.released.copy())
            return list(whiten @ np.array(out))

        return run

    return Draw(kind, family, make, known)


def long_vectors(kind: type, **options: Any) -> Draw:
    """The same with ten sums of the past, which vectors of any length have here."""

    def make(source: Any) -> Run:
        with mock.patch.object(recursive, "LARGEST_TABLE", 1):
            return continual("recursive", kind, **options).make(source)

    return Draw(kind, "recursive", make)


def gradients() -> Draw:
    """JointGLMRare: what its two optimisers are handed, each of three steps."""

    def make(source: Any) -> Run:
        settings: dict[str, Any] = {"iterations": 3, "most_o": 1, "most_tau": 1}
        bandit = JointGLMRare(dim=2, horizon=LEAVES, budget=BUDGET, source=source, pending=LEAVES, **settings)
        unit, out = (bandit._rule.cell or 1.0) / bandit.privacy.releases[1].sigma, []

        def watched(compute: Callable[..., None]) -> Callable[..., None]:
            return lambda state, noise, rule: (out.extend(noise * unit), compute(state, noise, rule))[1]

        def run() -> list[Any]:
            out.clear()
            home = sys.modules[JointGLMRare.__module__]
            with mock.patch.multiple(home, compute_o=watched(home.compute_o), compute_tau=watched(home.compute_tau)):
                bandit._recompute_o()
                bandit._recompute_tau()
            return list(out)

        return run

    return Draw(JointGLMRare, "gradients", make)


def asked(kind: type, act: Callable[[Any], None], **options: Any) -> Draw:
    """What answers sums by `Queries`: each release less the exact sum."""

    def make(source: Any) -> Run:
        owner = kind(budget=BUDGET, source=source, **options)
        answer, claims = Queries.release, []

        def run() -> list[Any]:
            out = []

            def release(self: Queries, number: int, total: Any, count: int, source: Any) -> Any:
                released = answer(self, number, total, count, source)
                out.append((number, released * self.people(number, count) - total))
                return released

            with mock.patch.object(Queries, "release", release):
                act(owner)
            claims.extend([] if claims else owner.privacy.releases)
            return [vector / claims[number].sigma for number, vector in out]

        return run

    return Draw(kind, "queries", make)


ROWS = np.random.default_rng(0).uniform(-0.7, 0.7, (24, 2))


def fit(regressor: Any) -> None:
    regressor.fit(ROWS, np.arange(24) % 2)


def epoch(bandit: Any) -> None:
    """The first epoch, of which every other user answers."""
    bandit._state = bandit.init()
    for t in range(bandit.first):
        choice = bandit.choose(ROWS[t : t + 2])
        if t % 2:
            bandit.observe(choice, 1.0)
    bandit._advance()


def iterate() -> Draw:
    """JointSquareCB: nobody moves the iterate from 0, so what is released is noise, in units of the epoch's step."""

    def make(source: Any) -> Run:
        bandit = JointSquareCB(dim=2, horizon=LEAVES, first=1, budget=BUDGET, source=source, pending=LEAVES)
        std = bandit.privacy.releases[0].sigma * bandit.rewards[1]

        def run() -> list[Any]:
            bandit._state, out = bandit.init(), []
            for _ in range(LEAVES):
                step, before = float(bandit._state.step[0]), bandit.closed
                bandit.choose(NOBODY)
                if bandit.closed > before:
                    out.append(bandit.theta / (step * std))
            return out

        return run

    return Draw(JointSquareCB, "queries", make)


def device(family: str, kind: type, **options: Any) -> Draw:
    """A device's report without a reward: noise alone, as the server decodes it. Some devices shake x besides, for no
    privacy, as the billboard says."""

    def make(_source: Any) -> Run:
        server = kind(dim=2, horizon=1000, budget=BUDGET, rewards=(-1.0, 1.0), **options)
        client, release = server.device(), server.privacy.releases[0]
        std = np.full(server._numbers, release.std)
        std[:-1] = np.hypot(std[:-1], json.loads(server.billboard())["report"].get("shake", 0.0))
        return lambda: [server._decode(client.randomize(client.choose(NOBODY), None)) / std]

    return Draw(kind, family, make, known=False)


def coins(kind: type, *, fleet: bool = False, **options: Any) -> Draw:
    """A device's counts for the shuffler without a reward: the ones among so many fair coins."""

    def make(_source: Any) -> Run:
        server = kind(dim=2, budget=BUDGET, **options)
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


def summed() -> Draw:
    """DistributedElimination: the noise in the sum of the fewest users who must report, all with the lowest reward, as
    a normal number: the quantile of where it lies in the discrete Laplace law that is claimed, at random within its own
    probability."""

    def make(_source: Any) -> Run:
        server = DistributedElimination(dim=2, horizon=1000, budget=BUDGET, first=6, dropout=0.3)
        release, modulus = server.privacy.releases[0], server._plan_of(0).modulus
        b, inside = release.chance / 2**48, np.random.default_rng(0)

        def run() -> list[Any]:
            adder = Aggregator(server.billboard())
            for _ in range(release.minimum):
                adder.add(server.device().report(np.array([1.0, 0.0]), 0.0))
            found = int.from_bytes(adder.close()[-8:], "little")
            k = found if found < modulus / 2 else found - modulus
            below = b ** (1 - k) / (1 + b) if k <= 0 else 1 - b**k / (1 + b)
            share = below + inside.random() * (1 - b) / (1 + b) * b ** abs(k)
            return [np.array([norm.ppf(share)])]

        return run

    return Draw(DistributedElimination, "laplace", make, known=False)


def _heads(counts: Any, of: wire.Parameters, trials: int) -> Any:
    return (counts.astype(float) - of.reach - trials / 2) / (np.sqrt(trials) / 2)


def registered() -> dict[str, Draw]:
    """A line for every bandit of the registry, each a family of its own: those below replace it where they can be more
    exact."""
    out = {}
    for name, home in registry.bandits("JOINT").items():
        kind = registry.load(*home)
        out[name] = continual(name, kind, **{"first": 1} if "first" in kind.__dataclass_fields__ else {})
    out |= {name: coins(registry.load(*home)) for name, home in registry.bandits("SHUFFLE").items()}
    return out | {name: device(name, registry.load(*home)) for name, home in registry.bandits("LOCAL").items()}


DRAWS = registered() | {
    "joint-lin-ucb": continual("toeplitz", JointLinUCB, first=1, growth=1.01),
    "shariff-lin-ucb-tree": continual("tree", ShariffLinUCB, release="tree"),
    "shariff-lin-ucb-consistent-tree": continual("consistent", ShariffLinUCB, release="consistent-tree", known=False),
    "shariff-lin-ucb-toeplitz": continual("toeplitz", ShariffLinUCB, release="toeplitz"),
    "shariff-lin-ucb-buffered": continual("buffered", ShariffLinUCB, release="buffered"),
    "joint-glm": continual("discounted", JointGLM, first=1),
    "joint-glm-scores": continual("discounted", JointGLM, first=1, curvature="none"),
    "joint-glm-long": long_vectors(JointGLM, first=1),
    "joint-glm-person": continual("discounted", JointGLM, first=1, max_rounds_per_person=3),
    "adac-gope": continual("alone", AdaCGOPE, length_scale=1e-6),
    "joint-glm-rare": continual("matrices", JointGLMRare, explore=1e-3, ridge=1e9),  # so that nothing is recomputed
    "joint-glm-rare-gradients": gradients(),
    "joint-reweighted": asked(JointReweighted, epoch, dim=2, horizon=64, first=12, pending=64),
    "fliphat": asked(Fliphat, epoch, dim=2, horizon=64, first=12, pending=64),
    "joint-square-cb": iterate(),
    "reweighted-linear": asked(ReweightedLinear, fit),
    "reweighted-glm": asked(ReweightedGLM, fit),
    "private-ridge": asked(PrivateRidge, fit),
    "private-newton": asked(PrivateNewton, fit),
    "improper-sgd": asked(ImproperSGD, fit),
    "output-perturbation": asked(OutputPerturbation, fit),
    "local-irls": device("cap", LocalIRLS, randomizer="cap"),
    "local-glm": device("hemisphere", LocalGLM),
    "local-irls-gaussian": device("lattice", LocalIRLS, randomizer="gaussian"),
    "local-lin-ucb": device("lattice", LocalLinUCB),
    "local-online-ucb": device("pair", LocalOnlineUCB),
    "local-anytime-ucb": device("pair", LocalAnytimeUCB),
    "local-combiner": device("pair", LocalCombiner),
    "local-square-cb": device("lattice", LocalSquareCB, first=10),
    "local-reweighted": device("lattice", LocalReweighted, first=60),
    "shuffle-newton": coins(ShuffleNewton, first=200),
    "shuffle-newton-fleet": coins(ShuffleNewton, fleet=True, first=200),
    "shuffle-lin-ucb": coins(ShuffleLinUCB, horizon=1000, first=200),
    "shuffle-sblb": coins(ShuffleSBLB, horizon=1000, first=200),
    "distributed-elimination": summed(),
    "shuffle-glm": coins(ShuffleGLM, horizon=1000, first=200),
}
