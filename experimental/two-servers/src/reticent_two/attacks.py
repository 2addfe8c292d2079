"""Attacks by one of two aggregators on what the other one releases: secure noise, on shares."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers, Words
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Secure
from reticent.testing.canary import with_size
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.mechanisms import BUDGET
from reticent_two.bandits.glm import TwoServerGLM
from reticent_two.noise import WholeNoise
from reticent_two.roles.task import HELPER, LEADER
from reticent_two.shares import SharedSteps, joined
from reticent_two.vdaf.field_kernel import P

LEAVES = 4
SIDES = "operator", "helper"


def attacks() -> Sequence[Attack]:
    """A step of one person, and one whose other reports are the attacker's own; against either aggregator. Planted: the
    other one leaves out its noise."""
    return [
        shares_attack("two-server-step-of-one", LEADER),
        shares_attack("two-server-flood", LEADER, others=50),
        shares_attack("two-server-helper", HELPER, others=50),
        shares_attack("aggregator-without-noise", LEADER, noise=NoNoise()),
    ]


class NoNoise:
    """No noise."""

    def integers(self, count: int, size: int, cells: float) -> Integers:
        return np.zeros((count, size), np.int64)


def shares_attack(name: str, attacker: int, *, others: int = 0, noise: WholeNoise | None = None) -> Attack:
    """One person's report of one number is in the first step. The attacker knows its own shares, and both shares of the
    others'; what it knows it takes from what is released. Runs are coordinates."""
    weaker = Budget(2 * BUDGET.epsilon, BUDGET.delta)
    server = TwoServerGLM(1, BUDGET, first=1, horizon=LEAVES, curvature="none", helper_budget=weaker)
    task, epsilon = server.task, server.against[f"the {SIDES[attacker]}"][0]
    grid, circuit = task.grids[1 - attacker], task.circuit

    def scores(world: int, runs: int, rng: Generator) -> Array:
        source, many = noise or Secure(), with_size(grid, runs)
        honest, known = SharedSteps(many), SharedSteps(many)
        cells = round((2 * world - 1) * task.norm / grid.cell)
        for value in (cells, *[0] * others):
            share = uniform(rng, runs)
            honest.add(share)
            known.add(rest(value + circuit.centre, share))
        weights, out = many.encoder_cells / float(many.encoder_cells[0]), np.zeros(runs)
        for leaf in range(LEAVES):
            both = [honest.release(source), known.release(NoNoise())]
            out += weights[leaf] * joined(many, circuit, [1 + others] + [0] * leaf, both)
        return out

    return Attack(
        name=name,
        view="one aggregator's",
        epsilon=epsilon,
        delta=BUDGET.delta,
        claimed=noise is None,
        how=f"{'' if noise is None else 'The other aggregator leaves out its noise. '}The first step has one person's "
        f"report, of -1 or 1, and {others} of the attacker's, who is the {SIDES[attacker]}; score: all {LEAVES} "
        "leaves less what the attacker knows, weighed by the encoder.",
        scores=scores,
        family="gaussian",
    )


def uniform(rng: Generator, count: int) -> Words:
    return rng.integers(P, size=count, dtype=np.uint64)


def rest(value: int, share: Words) -> Words:
    """The other share of a number."""
    return np.array([(value - int(one)) % P for one in share], np.uint64)
