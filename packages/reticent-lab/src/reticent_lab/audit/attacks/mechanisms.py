"""Attacks on the mechanisms of continual release: everything released, the canary at the leaf that is seen best."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.recursive import Recursive
from reticent.privacy import gaussian, ledger
from reticent.privacy.budget import Budget
from reticent.privacy.ledger import GaussianRelease
from reticent.privacy.noise import Simulated, Source
from reticent.privacy.relations import REPLACE
from reticent.testing.canary import worst_canary
from reticent_lab.audit.attack import Attack
from reticent_lab.mechanisms.buffered import Buffered
from reticent_lab.mechanisms.toeplitz import Toeplitz
from reticent_lab.mechanisms.tree import Tree

BUDGET = Budget(epsilon=1.0, delta=0.02)
SMALL = Budget(epsilon=1.0, delta=1e-6)
LEAVES = 12
HOW = (
    "One user's vector is +D/2 or -D/2 in the leaf that the {leaves} releases tell most about (leaf {leaf}); score: "
    "the releases, whitened (S^-1 times the difference of their means)."
)


def attacks() -> Sequence[Attack]:
    """One for each mechanism and for two deltas; the smaller one takes ten times the runs."""
    return [*attacks_at(BUDGET), *attacks_at(SMALL, suffix="-1e-6", share=10.0)]


def attacks_at(budget: Budget, *, suffix: str = "", share: float = 1.0) -> Sequence[Attack]:
    """Calibrated as the bandits do it: sigma = D (column norm) / mu."""
    kinds: dict[str, Callable[[float], Continual]] = {
        "tree": lambda sigma: Tree(leaves=LEAVES, size=1, sigma=sigma),
        "consistent-tree": lambda sigma: Tree(leaves=4, size=1, sigma=sigma, consistent=True),
        "toeplitz": lambda sigma: Toeplitz(leaves=LEAVES, size=1, sigma=sigma),
        "buffered": lambda sigma: Buffered(leaves=LEAVES, size=1, sigma=sigma),
        "discounted": lambda sigma: Discounted(leaves=LEAVES, size=1, sigma=sigma, discount=0.9),
        "forgetting": lambda sigma: Discounted(leaves=3 * LEAVES, size=1, sigma=sigma, discount=0.4),  # three windows
        "recursive": lambda sigma: Recursive(leaves=LEAVES, size=1, sigma=sigma, discount=0.9),
    }
    kinds["batched-toeplitz"] = kinds["toeplitz"]
    return [
        mechanism_attack(
            name + suffix, calibrated(make, budget), budget.delta, others=4 * (name == "batched-toeplitz"), share=share
        )
        for name, make in kinds.items()
    ]


def calibrated(make: Callable[[float], Continual], budget: Budget) -> Continual:
    """The mechanism with the noise that a vector of sensitivity 1 needs."""
    return make(make(0.0).column_norm / gaussian.mu(budget))


def mechanism_attack(
    name: str,
    mechanism: Continual,
    delta: float,
    *,
    claimed: bool = True,
    others: int = 0,
    share: float = 1.0,
    source: Callable[[int], Source] = Simulated,
    bug: str = "",
) -> Attack:
    """Runs are coordinates: one state of the real mechanism with as many coordinates as runs. `others` users with known
    vectors share the canary's step."""
    canary = worst_canary(mechanism)
    claim = GaussianRelease(name, "one number", 1.0, mechanism.column_norm, mechanism.sigma, relation=REPLACE)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        noise = source(int(rng.integers(2**63)))
        many = dataclasses.replace(mechanism, size=runs)
        state = many.init(noise)
        out = np.zeros(runs)
        for t in range(many.leaves):
            for _ in range(others):
                state.open[:] += 0.5
            if t == canary.leaf:
                state.open[:] += world - 0.5
            out += canary.weights[t] * many.release(state, noise)
        return out

    return Attack(
        name=name,
        view="all releases",
        epsilon=ledger.epsilon_of((claim,), delta),
        delta=delta,
        claimed=claimed,
        how=bug + HOW.format(leaves=mechanism.leaves, leaf=canary.leaf + 1),
        scores=scores,
        family="gaussian",
        share=share,
    )
