"""Attacks on the shuffle model: what the analyzer sees, in both directions; and planted bugs.

Small enough to enumerate: one coordinate, the worst pair of inputs, the law of the sum by binomial convolution.
Three rows run devices, shuffler and analyzer as they ship instead, and are sampled."""

import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from reticent.data import Array, Coded, Exact
from reticent.privacy.budget import Budget
from reticent_devices.bandits.shuffle.newton import ShuffleNewton
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan, calibrate
from reticent_devices.mechanisms.shuffle.encoding import coded
from reticent_devices.roles import wire
from reticent_devices.roles.shuffle import ShuffleClient
from reticent_devices.roles.shuffler import Shuffler
from reticent_lab.audit.attack import Attack

BUDGET = Budget(1.0, 0.02)
USERS = 200
FEW = 10  # users of the batches that are sampled


def attacks() -> list[Attack]:
    """The analyzer at three budgets and with a planned dropout; no shuffling, no noise, too few coins."""
    plan = _plan(BUDGET)
    out = [_analyzer(f"shuffle-analyzer-{e:g}".replace(".", ""), Budget(e, 0.02)) for e in (0.5, 1.0, 4.0)]
    out.append(_analyzer("shuffle-analyzer-small-delta", Budget(1.0, 1e-6)))
    out.append(_analyzer("shuffle-dropout", BUDGET, dropout=0.2))
    how = "Everybody else's coins cannot help a user whose own report is seen: floor(u + U) + Bin(b, 1/2), enumerated."
    out.append(_attack("shuffle-identity", "each user's report", BUDGET, plan, plan.trials, False, how))
    how = "Users round and send no coins: the sum of the others is known in the worst case, so the value shows."
    out.append(_attack("shuffle-no-noise", "shuffled counts", BUDGET, plan, 0, False, how))
    how = "0.8 of the standard deviation: 0.64 of the coins."
    fewer = int(0.64 * plan.users * plan.trials)
    out.append(_attack("shuffle-fewer-coins", "shuffled counts", BUDGET, plan, fewer, False, how))
    how = "Devices, shuffler and analyzer as they ship: one user's arm is turned round, the others send noise alone."
    out.append(_protocol("shuffle-protocol", ShuffleClient, True, how))
    out.append(
        _protocol("shuffle-scores", ShuffleClient, True, "The same with reports of scores alone.", curvature="none")
    )
    out.append(_protocol("shuffle-coinless-devices", Coinless, False, "Planted: the same with devices without coins."))
    return out


class Coinless(ShuffleClient):
    """A bug: rounds and forgets its coins."""

    def counts(self, vector: Exact) -> Coded:
        return coded(vector, self._noise, grid=self._plan["grid"], reach=self.parameters.reach, trials=0)


def _protocol(name: str, kind: type[ShuffleClient], claimed: bool, how: str, curvature: str = "released") -> Attack:
    server = ShuffleNewton(1, BUDGET, first=FEW, curvature=curvature)
    board = server.billboard()
    digest = wire.digest(board)
    Shuffler(board, budget=BUDGET)  # the operator's own check
    client, x = kind(board), np.ones(1)
    direction = client.contribution(x, 1.0) - client.contribution(-x, 1.0)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.empty(runs)
        for i in range(runs):
            shuffler = Shuffler(board)
            shuffler.add(client.report(x if world else -x, 1.0))
            for _ in range(FEW - 1):
                shuffler.add(client.report(x, None))
            out[i] = server.analyzer.open(shuffler.close(), 0, digest)[1] @ direction
        return out

    return Attack(
        name=name,
        view="shuffled counts",
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        claimed=claimed,
        how=how,
        scores=scores,
        share=0.1,
    )


def _plan(budget: Budget, dropout: float = 0.0) -> ShufflePlan:
    return calibrate(budget, users=USERS, size=1, sensitivity=2.0, norm=1.0, dropout=dropout)


def _analyzer(name: str, budget: Budget, dropout: float = 0.0) -> Attack:
    plan = _plan(budget, dropout)
    trials = math.floor((1 - dropout) * plan.users) * plan.trials
    how = "One coordinate, farthest values, all others known: the law of the shuffled sum, enumerated both ways."
    return _attack(name, "shuffled counts", budget, plan, trials, True, how)


def _attack(name: str, view: str, budget: Budget, plan: ShufflePlan, trials: int, claimed: bool, how: str) -> Attack:
    width = plan.scale * plan.sensitivity
    zero, one = worlds(width, trials)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        u = world * width
        rounded = np.floor(u + rng.random(runs))
        return np.asarray(rounded + rng.binomial(trials, 0.5, runs), np.float64)

    return Attack(
        name=name,
        view=view,
        epsilon=budget.epsilon,
        delta=budget.delta,
        claimed=claimed,
        how=how,
        scores=scores,
        exact=curve(zero, one),
    )


def worlds(width: float, trials: int) -> tuple[Array, Array]:
    """The laws of floor(u + U) + Bin(trials, 1/2) at u = 0 and u = width."""
    k = np.arange(trials + 1)
    coins = np.exp(gammaln(trials + 1) - gammaln(k + 1) - gammaln(trials - k + 1) - trials * math.log(2))
    length = trials + math.ceil(width) + 2
    zero, one = np.zeros(length), np.zeros(length)
    zero[: trials + 1] = coins
    low, share = math.floor(width), width - math.floor(width)
    one[low : low + trials + 1] += (1 - share) * coins
    one[low + 1 : low + trials + 2] += share * coins
    return zero / zero.sum(), one / one.sum()


def curve(zero: Array, one: Array) -> Callable[[float], float]:
    """delta(epsilon) of the pair: the worse of both directions."""

    def delta(epsilon: float) -> float:
        factor = math.exp(epsilon)
        there, back = np.maximum(one - factor * zero, 0.0).sum(), np.maximum(zero - factor * one, 0.0).sum()
        return float(max(there, back))

    return delta
