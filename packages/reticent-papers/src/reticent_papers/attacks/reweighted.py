"""Attacks on reweighted regression and SquareCB: all that a fit releases, one report, the released iterate."""

import copy
import dataclasses
import functools
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from reticent.core.reward import Reward
from reticent.data import Array, Exact, Released
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Secure, Simulated, Source
from reticent_devices.mechanisms.randomizers import Coin
from reticent_devices.roles.billboard import TAG
from reticent_devices.roles.device import ID_BYTES
from reticent_lab.audit.attack import Attack
from reticent_papers import JointSquareCB, LocalReweighted
from reticent_papers.kernels.matrices import root
from reticent_papers.local.device import PublishedClient
from reticent_papers.queries import Queries
from reticent_papers.regression import estimate as reweighted
from reticent_papers.regression.linear import ReweightedLinear
from reticent_papers.regression.reweighting import Sample

BUDGET = Budget(epsilon=1.0, delta=0.02)
CROWD = 200  # known rows beside the canary
UNDERFLOW = 1e-162  # squares of such numbers have no digits
TINY = 1e-9  # a covariate that is nearly 0 still has a direction


Settings = tuple[tuple[str, Any], ...]


def attacks() -> Sequence[Attack]:
    return [
        fit_attack(),
        fit_attack(secure=True),
        report_attack(),
        report_attack(stale=True),
        report_attack(tiny=True),
        square_attack(),
    ]


class Watched(Queries):
    """Keeps what it releases, as an adversary would."""

    def release(self, number: int, total: Exact, count: int, source: Source) -> Released:
        released = super().release(number, total, count, source)
        seen: list[Array] = self.__dict__.setdefault("seen", [])
        seen.append(released)
        return released


class WatchedLinear(ReweightedLinear):
    """The real estimator with queries that are watched."""

    watched: type[Watched] = Watched

    def plan(self, dim: int, count: int) -> Queries:
        settings = tuple((f.name, getattr(self, f.name)) for f in dataclasses.fields(self) if f.name != "source")
        asked = copy.copy(_plan(type(self), settings, bool(self.source.private), dim, count))
        asked.__dict__.pop("seen", None)
        return asked

    def _queries(self, dim: int, count: int) -> Queries:
        asked = super()._queries(dim, count)
        fields = {f.name: getattr(asked, f.name) for f in dataclasses.fields(asked)}
        return self.watched(**fields)


@functools.cache
def _plan(kind: type[WatchedLinear], settings: Settings, secure: bool, dim: int, count: int) -> Queries:
    """The estimator's own, made once for the same settings, since an attack fits thousands of times."""
    return ReweightedLinear.plan(kind(**dict(settings), source=Secure() if secure else Simulated(0)), dim, count)


def likelihood_ratio(regressor: WatchedLinear, worlds: Sequence[Sample]) -> float:
    """Of all that a fit has released, U recomputed from it as the adversary can, for the rows of two worlds."""
    asked: Any = regressor._asked
    count, dim = worlds[0].count, worlds[0].x.shape[1]
    contribution = regressor.contribution(dim)
    matrix, ratio = np.eye(dim), 0.0
    for k, released in enumerate(asked.seen):
        part, last = asked.rows(k, count), k + 1 == len(asked.queries)
        zero, one = (
            contribution.closing(each.x[part], each.r[part], matrix, np.zeros(dim))
            if last
            else contribution.gram(each.x[part], matrix)
            for each in worlds
        )
        ratio += float((released * count - (zero + one) / 2) @ (one - zero)) / asked.sigma(k) ** 2
        if not last:
            matrix = reweighted.spectral_step(matrix, released, reweighted.noise_ridge(asked.std(k, count), dim, count))
    return ratio


def fit_attack(*, secure: bool = False) -> Attack:
    """ReweightedLinear, joint: every release of a whole adaptive fit. secure: with the noise that protects people."""
    angles = default_rng(0).uniform(0, 2 * math.pi, CROWD)
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    targets = np.where(np.arange(CROWD) % 2 == 0, 1.0, -1.0)
    canaries = [(np.array([[1.0, 0.0]]), np.array([1.0])), (np.array([[TINY, 0.0]]), np.array([-1.0]))]

    worlds = [
        Sample(Exact(np.concatenate([rows, x])), Exact(np.concatenate([targets, y])), CROWD + 1) for x, y in canaries
    ]

    def score(world: int, source: Source) -> float:
        regressor = WatchedLinear(budget=BUDGET, source=source)
        regressor.estimate(worlds[world])
        return likelihood_ratio(regressor, worlds)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        safe = Secure() if secure else None
        return np.array([score(world, safe or Simulated(int(rng.integers(2**63)))) for _ in range(runs)])

    source = Secure() if secure else Simulated(0)
    return Attack(
        name="reweighted-fit-secure" if secure else "reweighted-fit",
        view="all releases",
        epsilon=WatchedLinear(budget=BUDGET, source=source).plan(2, CROWD + 1).epsilon,
        delta=BUDGET.delta,
        how="One row of 201 is (1, 0) with target 1, or nearly 0 along it with target -1; score: the likelihood ratio "
        "of all six releases, U recomputed from them as the adversary can.",
        scores=scores,
        family="gaussian",
        share=0.05 if secure else 0.1,
    )


class Stale(PublishedClient):
    """A bug: statements are divided by how far apart users are at a round U."""

    def __init__(self, billboard: bytes, **options: Any) -> None:
        super().__init__(billboard, **options)
        here, round = (self.extent(self._report, self.link, self.rewards, self.dim, u) for u in (self._inverse, None))
        self._louder = round.norm / here.norm
        self._norm = round.norm

    def _datum(self, x: Array, reward: float) -> Array:
        return super()._datum(x, reward) * self._louder


def report_attack(*, stale: bool = False, tiny: bool = False) -> Attack:
    """LocalReweighted: one closing report of a device. stale: planted, a round U's sensitivity used at an
    ill-conditioned one. tiny: covariates so small that their squares underflow, and their computed norm is a third of
    the true one."""
    dim = 20 if tiny else 2
    server = LocalReweighted(dim, BUDGET, Reward("identity", range=(-1.0, 1.0)), horizon=10_000)
    matrix = np.diag([1.0, 1000.0]) if stale else np.eye(dim)
    board = json.loads(server.billboard()) | {"inverse": matrix.tolist()}
    board["report"] |= {"stage": "closing", "half": root(matrix).tolist()}
    kind = Stale if stale else PublishedClient
    client = kind(json.dumps(board).encode(), epsilon=BUDGET.epsilon, delta=BUDGET.delta)
    if stale:  # nearly equal covariates that U turns against each other
        users = [(np.array([0.999, 0.04]), 1.0), (np.array([0.999, -0.04]), 1.0)]
    elif tiny:
        x = np.append(2.23, np.full(dim - 1, 1.57)) * UNDERFLOW
        users = [(x, 1.0), (x, -1.0)]
    else:
        users = [(np.array([1.0, 0.0]), 1.0), (np.array([TINY, 0.0]), -1.0)]
    known = [(x / UNDERFLOW * TINY if tiny else x, y) for x, y in users]  # what a little longer ones would say
    difference = client.contribution(*known[1]) - client.contribution(*known[0])
    made, head = client._randomizer, 1 + ID_BYTES + TAG
    assert not isinstance(made, Coin)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        x, y = users[world]
        return np.array([made.decode(client.report(x, y)[head:]) @ difference for _ in range(runs)])

    apart = "have covariates near 1e-162 and opposite targets" if tiny else "U sets farthest apart"
    bug = "PLANTED: the sensitivity of a round U used at an ill-conditioned one. " if stale else ""
    return Attack(
        name="reweighted-stale-sensitivity" if stale else "reweighted-underflow" if tiny else "reweighted-report",
        view="one report",
        epsilon=server.epsilon,
        delta=BUDGET.delta,
        claimed=not stale,
        how=bug + f"One user's closing report for two users that {apart}; score: along their difference.",
        scores=scores,
        family="gaussian",
        share=0.1
        if tiny
        else 5.0
        if stale
        else 1.0,  # the bug is worth .33 of epsilon: found in 20 of 20 with 10 000 runs
    )


def square_attack() -> Attack:
    """JointSquareCB: the iterate released after the first epoch."""
    crowd = 20

    def build(seed: int) -> JointSquareCB:
        settings: dict[str, Any] = {"dim": 2, "horizon": 1000, "budget": BUDGET, "first": crowd + 1, "pending": 2}
        return JointSquareCB(**settings, source=Simulated(seed), policy=default_rng(seed))

    users = [(np.array([[math.cos(a), math.sin(a)]]), r) for a, r in ((-math.pi / 6, -1.0), (math.pi / 6, 1.0))]
    push = np.array([[0.0, 1.0]])

    def released(bandit: JointSquareCB, world: int) -> Array:
        for _ in range(crowd):  # theta moves towards (0, -1), where the two differ most
            bandit.observe(bandit.choose(push), -1.0)
        x, r = users[world]
        bandit.observe(bandit.choose(x), r)
        bandit.choose(push)
        return bandit.theta

    def silent(world: int) -> Array:
        bandit = build(0)
        for _ in range(crowd):
            bandit.observe(bandit.choose(push), -1.0)
        x, r = users[world]
        bandit.observe(bandit.choose(x), r)
        out: Array = bandit._state.theta.copy()
        return out

    difference = silent(1) - silent(0)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        return np.array([released(build(int(rng.integers(2**63))), world) @ difference for _ in range(runs)])

    return Attack(
        name="joint-square-cb-iterate",
        view="all releases",
        epsilon=build(0).epsilon,
        delta=BUDGET.delta,
        how="The last of 21 users is 30 degrees below or above the first axis; score: the released iterate along the "
        "difference. The claim is looser by design: a user replaced in place moves the iterate by at most 2.6 of the 4 "
        "that late rewards need.",
        scores=scores,
        family="gaussian",
        share=0.1,
    )
