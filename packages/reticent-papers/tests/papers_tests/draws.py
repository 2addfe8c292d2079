"""Everything here that draws noise for people's data, as tests/draws.py has it."""

import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from scipy.stats import norm

import reticent_papers as papers
from reticent_papers import JointGLMRare, regression
from reticent_papers.queries import Queries
from reticent_papers.shuffle.aggregation import Aggregator
from tests.draws import BUDGET, LEAVES, NOBODY, Draw, Run, coins, continual, device, registered


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
        bandit = papers.JointSquareCB(dim=2, horizon=LEAVES, first=1, budget=BUDGET, source=source, pending=LEAVES)
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

    return Draw(papers.JointSquareCB, "queries", make)


def summed() -> Draw:
    """DistributedElimination: the noise in the sum of the fewest users who must report, all with the lowest reward, as
    a normal number: the quantile of where it lies in the discrete Laplace law that is claimed, at random within its own
    probability."""

    def make(_source: Any) -> Run:
        server = papers.DistributedElimination(2, BUDGET, horizon=1000, first=6, dropout=0.3)
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

    return Draw(papers.DistributedElimination, "laplace", make, known=False)


DRAWS = registered("reticent_papers") | {
    "shariff-lin-ucb-tree": continual("tree", papers.ShariffLinUCB, release="tree"),
    "shariff-lin-ucb-consistent-tree": continual(
        "consistent", papers.ShariffLinUCB, release="consistent-tree", known=False
    ),
    "shariff-lin-ucb-toeplitz": continual("toeplitz", papers.ShariffLinUCB, release="toeplitz"),
    "shariff-lin-ucb-buffered": continual("buffered", papers.ShariffLinUCB, release="buffered"),
    "adac-gope": continual("alone", papers.AdaCGOPE, length_scale=1e-6),
    "joint-glm-rare": continual("matrices", JointGLMRare, explore=1e-3, ridge=1e9),  # so that nothing is recomputed
    "joint-glm-rare-gradients": gradients(),
    "joint-reweighted": asked(papers.JointReweighted, epoch, dim=2, horizon=64, first=12, pending=64),
    "fliphat": asked(papers.Fliphat, epoch, dim=2, horizon=64, first=12, pending=64),
    "joint-square-cb": iterate(),
    **{name: asked(getattr(regression, name), fit) for name in regression.__all__},
    "local-glm": device("hemisphere", papers.LocalGLM),
    "local-lin-ucb": device("lattice", papers.LocalLinUCB),
    "local-online-ucb": device("pair", papers.LocalOnlineUCB),
    "local-anytime-ucb": device("pair", papers.LocalAnytimeUCB),
    "local-combiner": device("pair", papers.LocalCombiner),
    "local-square-cb": device("lattice", papers.LocalSquareCB, first=10),
    "local-reweighted": device("lattice", papers.LocalReweighted, first=60),
    "shuffle-lin-ucb": coins(papers.ShuffleLinUCB, horizon=1000, first=200),
    "shuffle-sblb": coins(papers.ShuffleSBLB, horizon=1000, first=200),
    "distributed-elimination": summed(),
    "shuffle-glm": coins(papers.ShuffleGLM, horizon=1000, first=200),
}
