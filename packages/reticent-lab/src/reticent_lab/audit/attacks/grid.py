"""Attacks on the noise that protects people's data: integers, from the secure source, through the real mechanisms."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.recursive import Recursive
from reticent.mechanisms.recursive_grid import on_integers
from reticent.privacy import gaussian, ledger
from reticent.privacy.noise import Secure, Source
from reticent.privacy.relations import REPLACE
from reticent.testing.canary import with_size, worst_canary
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import GLM_PAIR, glm, white_box
from reticent_lab.audit.attacks.discrete import integer_attack
from reticent_lab.audit.attacks.mechanisms import BUDGET, HOW
from reticent_lab.mechanisms.toeplitz import Toeplitz
from reticent_lab.mechanisms.tree import Tree

LEAVES = 4


def attacks() -> Sequence[Attack]:
    """The secure path as it is, with noise that is too quiet, and with none."""
    tree = Tree(leaves=LEAVES, size=1, sigma=0.0)
    return [
        grid_attack("tree-on-a-grid", tree),
        grid_attack("toeplitz-on-a-grid", Toeplitz(leaves=LEAVES, size=1, sigma=0.0)),
        grid_attack("recursive-on-a-grid", Recursive(leaves=LEAVES, size=1, sigma=0.0, discount=0.9)),
        one_release(),
        white_box("joint-glm-secure", glm(features=2), GLM_PAIR, source=secure, stepwise=True, share=0.1),
        grid_attack("quiet-integers", tree, factor=0.6, bug="Integer noise of 0.6 sigma. "),
        grid_attack("silent-integers", tree, factor=0.0, share=0.1, bug="No integer noise. "),
    ]


class Scaled(Secure):
    """A secure source whose integers are `factor` times what was asked for, rounded."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        super().__init__()

    def integers(self, count: int, size: int, cells: float) -> Integers:
        out: Integers = np.rint(self.factor * super().integers(count, size, cells)).astype(np.int64)
        return out


def secure(_seed: int) -> Source:
    """The seed is ignored: there is none to give."""
    return Secure()


def grid_attack(name: str, mechanism: Continual, *, factor: float = 1.0, share: float = 1.0, bug: str = "") -> Attack:
    """As `mechanism_attack`, on integers: the noise has no seed, so the attack is not repeated by a seed."""
    grid = on_integers(mechanism, sensitivity=1.0, mu=gaussian.mu(BUDGET))
    canary = worst_canary(dataclasses.replace(mechanism, sigma=grid.sigma))

    def scores(world: int, runs: int, rng: Generator) -> Array:
        source = secure(0) if factor == 1 else Scaled(factor)
        many = with_size(grid, runs)
        state = many.init(source)
        out = np.zeros(runs)

        def add(v: Array) -> None:
            v += world - 0.5

        for t in range(LEAVES):
            if t == canary.leaf:
                many.absorb(state, add)
            out += canary.weights[t] * many.release(state, source)
        return out

    return Attack(
        name=name,
        view="all releases",
        epsilon=ledger.epsilon_of((grid.entry(name, "one number", 1.0, LEAVES, 1, relation=REPLACE),), BUDGET.delta),
        delta=BUDGET.delta,
        claimed=factor == 1,
        how=f"{bug}Integers with discrete Gaussian noise from the secure source. "
        + HOW.format(leaves=LEAVES, leaf=canary.leaf + 1),
        scores=scores,
        family="gaussian",
        share=share,
    )


def one_release() -> Attack:
    """One leaf of one number, enumerated: the ledger's epsilon is an upper bound of the exact one."""
    grid = on_integers(Tree(leaves=1, size=1, sigma=0.0), sensitivity=1.0, mu=gaussian.mu(BUDGET))
    high, low = (int(grid.encode(np.array([v]))[0]) for v in (0.5, -0.5))

    def draw(count: int, _rng: Generator) -> Array:
        source: Any = secure(0)
        out: Array = source.integers(1, count, grid.cells)[0].astype(np.float64)
        return out

    return integer_attack(
        "one-number-on-a-grid",
        cells=grid.cells,
        shifts=[high - low],
        epsilon=ledger.epsilon_of((grid.entry("one", "one number", 1.0, 1, 1, relation=REPLACE),), BUDGET.delta),
        delta=BUDGET.delta,
        draw=draw,
    )
