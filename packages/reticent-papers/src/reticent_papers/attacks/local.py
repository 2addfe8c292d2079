"""An attack on a published algorithm of the local model, by the devices' own integers."""

import json

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.local import BUDGET
from reticent_papers.local.device import PublishedClient
from reticent_papers.local.square_cb import LocalSquareCB


def attacks() -> list[Attack]:
    return [residual_attack()]


def residual_attack() -> Attack:
    """A whole report of LocalSquareCB, at an iterate of a hostile server's choice: nearly equal arms on its two sides,
    with rewards that make both residuals as large as they can be."""
    server = LocalSquareCB(2, BUDGET, horizon=10_000)
    board = json.loads(server.billboard()) | {"theta": [0.0, 1e9]}
    client = PublishedClient(json.dumps(board).encode(), epsilon=BUDGET.epsilon, delta=BUDGET.delta)
    arms, rewards = np.array([[1.0, 1e-6], [1.0, -1e-6]]), (-1.0, 1.0)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.empty(runs)
        for i in range(runs):
            choice = client.choose(arms[1 - world : 2 - world])
            out[i] = server._decode(client.randomize(choice, rewards[1 - world]))[0]
        return out

    return Attack(
        name="local-square-cb-report",
        view="one report",
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        how="The report of LocalSquareCB for nearly equal arms that its iterate sets apart, with opposite rewards; the "
        "score is the first number.",
        scores=scores,
        family="gaussian",
        share=0.3,
    )
