"""Attacks on the rounds of a shuffled batch together (ShuffleGLM), by a server that asks where a gradient tells most.

The worst pair of users has arms at cos = 1/4 (shuffle.apart), here placed so that each round tells them apart in
one number: the law of all rounds is then a product of laws that can be enumerated."""

import copy
import json
import math
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from reticent.data import Array, Coded, Exact
from reticent.privacy.budget import Budget
from reticent_devices.mechanisms.shuffle.encoding import coded
from reticent_devices.roles import wire
from reticent_devices.roles.device import DeviceChoice
from reticent_devices.roles.shuffler import Shuffler
from reticent_devices.roles.wire import Parameters
from reticent_lab.audit.attack import Attack
from reticent_papers.shuffle import round_boards as boards
from reticent_papers.shuffle.glm import ShuffleGLM
from reticent_papers.shuffle.rounds import RoundsClient

BUDGET = Budget(1.0, 0.02)
VIEW: dict[str, Any] = {"view": "shuffled counts of all rounds", "epsilon": BUDGET.epsilon, "delta": BUDGET.delta}
GRADIENTS = 3
HALF = math.acos(0.25) / 2
ARMS = np.array([[math.cos(HALF), math.sin(HALF)], [math.cos(HALF), -math.sin(HALF)]])  # of the two users
REWARDS = 0.0, 1.0
ASKED = [0.0, 1e6]  # theta: the mean reward of one of them is 1 there, of the other 0
FEW = 2  # users of the batches that are sampled
CELL = 1e-4  # of the logarithms that are added up
FAR = 2000  # cells beyond which nothing is rounded


def attacks() -> list[Attack]:
    how = "One of 200 users has another arm and reward; all rounds together, the law of each enumerated."
    out = [_exact("shuffle-rounds", GRADIENTS, True, how)]
    how = "Planted: devices that answer each round twice, with fresh coins."
    out.append(_exact("shuffle-rounds-asked-twice", 2 * GRADIENTS, False, how))
    how = "Devices, shufflers and server as they ship, in all rounds; the others send coins alone."
    out.append(_protocol("shuffle-rounds-protocol", RoundsClient, True, how))
    how = "Planted: the same with devices without coins."
    out.append(_protocol("shuffle-rounds-coinless", Coinless, False, how))
    return out


class Coinless(RoundsClient):
    """A bug: rounds and forgets its coins."""

    def counts(self, vector: Exact, of: Parameters, board: dict[str, Any]) -> Coded:
        return coded(vector, self._noise, grid=board["plan"]["grid"], reach=of.reach, trials=0)


def _questions(server: ShuffleGLM) -> list[bytes]:
    """What a hostile server publishes on the terms of its first billboard."""
    board = json.loads(server.billboard())
    later = [board | {"round": k, "batch": k, "theta": ASKED} for k in range(1, 1 + board["gradients"])]
    return [json.dumps(each, sort_keys=True).encode() for each in (board, *later)]


def _vectors(client: RoundsClient, questions: list[bytes]) -> Array:
    """(2 users, rounds): in cells, the one number of each round in which they differ."""
    parsed = [boards.read(each)[1] for each in questions]
    rows = [
        [np.asarray(client.contribution(x, r, board)) * board["plan"]["grid"] for board in parsed]
        for x, r in zip(ARMS, REWARDS, strict=True)
    ]
    return np.array([[vector[1 if k == 0 else 0] for k, vector in enumerate(row)] for row in rows])


def _exact(name: str, gradients: int, claimed: bool, how: str) -> Attack:
    server = ShuffleGLM(2, BUDGET, horizon=400, first=200, iterations=GRADIENTS)
    client, questions = RoundsClient(server.billboard(), budget=BUDGET), _questions(server)
    cells = _vectors(client, questions)[:, [0] + [1] * gradients]
    coins = server._plans[0].users * server._plans[0].information.trials
    known = [_losses(cells[0, k], cells[1, k], coins) for k in (0, 1)]
    losses = [known[min(k, 1)] for k in range(1 + gradients)]
    forward, back = (_sum([each[way] for each in losses]) for way in (0, 1))

    def scores(world: int, runs: int, rng: Generator) -> Array:
        moved = np.floor(cells[world] + rng.random((runs, cells.shape[1])))
        return np.asarray((moved + rng.binomial(coins, 0.5, moved.shape)) @ (cells[1] - cells[0]))

    def exact(epsilon: float) -> float:
        """delta: the mass of losses above epsilon, less what e^epsilon times the other world has there."""
        return max(float(mass[at > epsilon] @ -np.expm1(epsilon - at[at > epsilon])) for mass, at in (forward, back))

    return Attack(name=name, claimed=claimed, how=how, scores=scores, exact=exact, **VIEW)


def _law(cells: float, coins: int) -> Array:
    """Of floor(cells + U) + Bin(coins, 1/2) from -FAR on: logarithms, -inf where it never is."""
    k = np.arange(coins + 1)
    tossed = gammaln(coins + 1) - gammaln(k + 1) - gammaln(coins - k + 1) - coins * math.log(2)
    low, share = math.floor(cells), cells - math.floor(cells)
    out = np.full((2, coins + 2 * FAR), -math.inf)
    out[0, FAR + low :][: coins + 1] = tossed + math.log1p(-share)
    if share:
        out[1, FAR + low + 1 :][: coins + 1] = tossed + math.log(share)
    return np.asarray(np.logaddexp(*out))


def _losses(zero: float, one: float, coins: int) -> tuple[tuple[Array, int], tuple[Array, int]]:
    """The law of ln(one / zero) where `one` is true, and of its opposite where `zero` is: masses on multiples of CELL,
    and the first multiple."""
    laws = _law(zero, coins), _law(one, coins)
    out = []
    for a, b in (laws[::-1], laws):
        sure = a > math.log(1e-16)  # what is left out has a mass far below any delta here
        at = np.rint((a[sure] - b[sure]) / CELL).astype(np.int64)
        out.append((np.asarray(np.bincount(at - at.min(), np.exp(a[sure])), np.float64), int(at.min())))
    return out[0], out[1]


def _sum(parts: list[tuple[Array, int]]) -> tuple[Array, Array]:
    """The law of a sum of independent losses: masses, and losses."""
    size = 1 + sum(mass.size - 1 for mass, _ in parts)
    product = np.prod([np.fft.rfft(mass, size) for mass, _ in parts], axis=0)
    start = sum(first for _, first in parts)
    return np.asarray(np.maximum(np.fft.irfft(product, size), 0.0)), np.asarray(CELL * (start + np.arange(size)))


def _protocol(name: str, kind: type[RoundsClient], claimed: bool, how: str) -> Attack:
    server = ShuffleGLM(2, BUDGET, horizon=2 * FEW, first=FEW, iterations=1)
    questions = _questions(server)
    parsed = [boards.read(each)[0] for each in questions]
    client = kind(questions[0], budget=BUDGET)
    Shuffler(questions[0], budget=BUDGET)  # the operator's own check
    cells = _vectors(client, questions)
    apart = cells[1] - cells[0]

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.zeros(runs)
        for i in range(runs):
            choices = [_played(client, ARMS[world], REWARDS[world])]
            choices += [_played(client, ARMS[0], None) for _ in range(FEW - 1)]
            for k, (of, question) in enumerate(zip(parsed, questions, strict=True)):
                shuffler = Shuffler(question)
                for choice in choices:
                    shuffler.add(client.answer(choice, question))
                _, sums = wire.decode_batch(shuffler.close(), of)
                out[i] += apart[k] * sums[1 if k == 0 else 0]
        return out

    return Attack(name=name, claimed=claimed, how=how, scores=scores, share=0.1, **VIEW)


def _played(client: RoundsClient, arm: Array, reward: float | None) -> DeviceChoice:
    client = copy.copy(client)  # each user has one
    choice = client.choose(arm[None])
    client.randomize(choice, reward)
    return choice
