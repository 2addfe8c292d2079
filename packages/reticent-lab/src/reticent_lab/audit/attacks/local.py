"""Attacks on the randomisers of the local model, by the devices' own integers, and on bugs that were found in the wild.

One report is all there is to see, and the worst pair of data is known: opposite vectors."""

import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from reticent.core.reward import Reward
from reticent.data import Array, Exact
from reticent.privacy import gaussian
from reticent.privacy.budget import Budget
from reticent_devices.bandits.local.irls import LocalIRLS
from reticent_devices.mechanisms import local
from reticent_devices.mechanisms.randomizers import EDGE, FINE, SHARE, UNIT, Cap, tables
from reticent_devices.roles.local import LocalClient
from reticent_lab.audit.attack import Attack

BUDGET = Budget(1.0, 0.02)


def attacks() -> list[Attack]:
    return [
        *(cap_attack(epsilon) for epsilon in (1.0, 4.0, 8.0)),
        lattice_attack(),
        coin_attack(),
        report_attack("local-irls-report", curvature="released"),
        report_attack("local-score-report", curvature="none"),
        tiny_attack(),
        *planted(),
    ]


def cap_attack(epsilon: float) -> Attack:
    """Exact along an axis: the share of candidates beyond the threshold is counted in the sampler's own tables."""
    made = local.cap(epsilon, 1.0, 20)
    q = axis_probability(made)
    p = made.chance / SHARE * (1 - (1 - 2 * q) ** made.rows)
    forward = np.eye(20)[0]

    def scores(world: int, runs: int, rng: Generator) -> Array:
        vector = Exact(forward if world else -forward)
        return np.array([made.decode(made.encode(vector))[0] for _ in range(runs)])

    def curve(at: float) -> float:
        """Opposite vectors: beyond one's threshold chance against (1 - chance) q / (1 - q), between them the same in
        both worlds; the two directions are mirror images."""
        return max(0.0, p - math.exp(at) * (1 - p) * q / (1 - q)) if at > 0 else p - (1 - p) * q / (1 - q)

    return Attack(
        name=f"local-cap-{epsilon:g}",
        view="one report",
        epsilon=epsilon,
        delta=0.0,
        how="Opposite unit vectors of 20 numbers by the pure randomiser; the event is its cap, counted exactly in the "
        "tables that devices draw from.",
        scores=scores,
        exact=curve,
        share=0.05,
    )


def axis_probability(made: Cap) -> float:
    """P(<z, x> >= threshold) for x along an axis: the number of table cells beyond it."""
    first, outer = tables()
    least = made.threshold / FINE
    inner = np.count_nonzero(first[EDGE:-EDGE] >= least) / 2**16
    beyond = np.count_nonzero(outer >= least) + np.count_nonzero(-outer >= least)
    return inner + beyond / 2**16 * (EDGE / 2**16)


def lattice_attack() -> Attack:
    made = local.lattice(BUDGET, 2.0, 3)
    forward = np.array([1.0, 0.0, 0.0])

    def scores(world: int, runs: int, rng: Generator) -> Array:
        sent = [made.decode(made.encode(Exact(forward if world else -forward)))[0] for _ in range(runs)]
        return np.array(sent)

    return Attack(
        name="local-gaussian",
        view="one report",
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        how="Opposite unit vectors with discrete Gaussian noise; the score is the first number.",
        scores=scores,
        family="gaussian",
    )


def coin_attack() -> Attack:
    made = local.coin(1.0)
    p = made.chance / SHARE

    def scores(world: int, runs: int, rng: Generator) -> Array:
        return np.array([float(made.encode(float(world))[0]) for _ in range(runs)])

    return Attack(
        name="local-coin",
        view="one report",
        epsilon=1.0,
        delta=0.0,
        how="Rewards 0 and 1 by randomised response, arm sets public; both outcomes are enumerated.",
        scores=scores,
        exact=lambda at: max(0.0, p - math.exp(at) * (1 - p)),
        share=0.1,
    )


def report_attack(name: str, *, curvature: str) -> Attack:
    """A whole report of LocalIRLS: opposite arms, the best reward in both worlds."""
    server = LocalIRLS(3, Budget(1.0, 1e-6), Reward("logistic", 0.01), curvature=curvature)
    client = LocalClient(server.billboard())
    arm = np.array([1.0, 0.0, 0.0])
    one, zero = client.contribution(arm, 1.0), client.contribution(-arm, 1.0)
    made = server._randomizer
    assert isinstance(made, Cap)
    gamma = made.threshold / (UNIT * FINE)
    ends = np.array([one, zero]) / np.linalg.norm(one)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.empty(runs)
        for i in range(runs):
            choice = client.choose([arm if world else -arm])
            z = server._decode(client.randomize(choice, 1.0)) / made.scale
            inside = ends @ z >= gamma
            out[i] = float(inside[0]) - float(inside[1])
        return out

    return Attack(
        name=name,
        view="one report",
        epsilon=1.0,
        delta=0.0,
        how=f"The report of LocalIRLS (curvature={curvature}) for opposite arms with reward 1; the score is the "
        "log-likelihood ratio, which has three values.",
        scores=scores,
        share=0.5,
    )


def tiny_attack() -> Attack:
    """Features whose squares lose their digits, so that x / |x| comes out longer than 1: devices must not send it."""
    server = LocalIRLS(20, BUDGET, Reward("logistic", 3.0), randomizer="gaussian")
    client = LocalClient(server.billboard(), epsilon=BUDGET.epsilon, delta=BUDGET.delta)
    arm = np.full(20, 1.57e-162)
    arm[0] = 2.23e-162

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.empty(runs)
        for i in range(runs):
            choice = client.choose([arm if world else -arm])
            out[i] = server._decode(client.randomize(choice, 1.0))[-20:].sum()
        return out

    return Attack(
        name="local-tiny-features",
        view="one report",
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        how="Opposite arms of norm 1e-161 through device and server; the score is the sum of the moment's numbers.",
        scores=scores,
        family="gaussian",
        share=0.1,
    )


def planted() -> list[Attack]:
    """Each was found in a published algorithm or in code; the claim is (1, .02) each time."""
    sigma = 2.0 / gaussian.mu(BUDGET)
    half = 2.0 / gaussian.mu(Budget(BUDGET.epsilon, BUDGET.delta / 2))

    def x_only(world: int, runs: int, rng: Generator) -> Array:
        return np.full(runs, float(world))  # y is in the clear

    def split(world: int, runs: int, rng: Generator) -> Array:
        sign = 2.0 * world - 1.0
        return np.asarray(2 * sign + half * (rng.standard_normal(runs) + rng.standard_normal(runs)))

    def unclipped(world: int, runs: int, rng: Generator) -> Array:
        theta = 4.0 * (2 * world - 1)  # an estimate of norm 4 within a report whose noise is for norm 1
        return np.asarray(theta + sigma * rng.standard_normal(runs))

    def residual(world: int, runs: int, rng: Generator) -> Array:
        x = (2 * world - 1) + sigma * rng.standard_normal(runs)
        exact = world - 0.25 * (2 * world - 1)  # y - <x, theta> of the datum itself, beside the noisy x
        return np.asarray(1e3 * exact + x)

    bugs: list[tuple[str, str, Callable[[int, int, Generator], Array], str]] = [
        ("local-bug-clear-reward", "Noise on x but not on y.", x_only, "general"),
        ("local-bug-split-delta", "x and y each with the whole epsilon and half of delta.", split, "gaussian"),
        ("local-bug-unclipped-theta", "An estimate that is not clipped goes into the report.", unclipped, "gaussian"),
        ("local-bug-raw-residual", "The residual of the raw datum goes beside the noisy x.", residual, "general"),
    ]
    return [
        Attack(
            name=name,
            view="one report",
            epsilon=BUDGET.epsilon,
            delta=BUDGET.delta,
            claimed=False,
            how=f"Planted: {how}",
            scores=scores,
            family=family,
            share=10.0 if scores is split else 1.0,  # the subtlest of them
        )
        for name, how, scores, family in bugs
    ]
