"""What the published Algorithm 2 leaks: an attack by later users on the first one, and the same on the repaired one.

The first user's arms either ask for exploration (world A) or not (world B): the two worlds differ in nothing else. The
attackers are the next users. Each offers itself two tiny arms, +v and -v, and looks at which one it gets. Claimed is
epsilon = 1 at delta = .02: for every event P_A <= e P_B + .02, and the other way round. `python examples/leak.py 5000`
makes 5000 runs of each world."""

import math
import sys
from typing import Any

import numpy as np
from scipy.stats import beta

from tacit import Budget, JointGLMRare, Simulated

BUDGET = Budget(epsilon=1.0, delta=0.02)
SETTINGS: dict[str, Any] = {"radius": 6.0, "ridge": 200.0, "shrink": 0.1, "iterations": 2}  # privacy holds for any
CONFIDENCE = 0.999
PROBES = [0.01 * sign * np.array([math.cos(a), math.sin(a)]) for a in np.arange(4) * math.pi / 4 for sign in (1, -1)]


def noticed(timing: str, explores: bool, seed: int) -> bool:
    """Whether some later user got its second arm."""
    bandit = JointGLMRare(
        dim=2, horizon=64, budget=BUDGET, timing=timing, source=Simulated(seed), pending=1, **SETTINGS
    )
    size = 1.0 if explores else 0.001
    bandit.observe(bandit.choose(size * np.eye(2)), 1.0)
    return any(bandit.choose(np.stack([v, -v])).index == 1 for v in PROBES)


def lower_bound(hits: int, others: int, runs: int) -> float:
    """epsilon is at least this, with the stated confidence: ln((P_low - delta) / Q_high), Clopper and Pearson."""
    miss = (1 - CONFIDENCE) / 2
    low = float(beta.ppf(miss, hits, runs - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - miss, others + 1, runs - others)) if others < runs else 1.0
    return max(0.0, math.log((low - BUDGET.delta) / high)) if low > BUDGET.delta else 0.0


def attack(timing: str, runs: int) -> tuple[int, int, float]:
    """How often each world was noticed, and what follows for epsilon (events and their complements, both ways)."""
    a = sum(noticed(timing, True, seed) for seed in range(runs))
    b = sum(noticed(timing, False, runs + seed) for seed in range(runs))
    pairs = ((a, b), (b, a), (runs - a, runs - b), (runs - b, runs - a))
    return a, b, max(lower_bound(p, q, runs) for p, q in pairs)


def main(runs: int = 3000) -> None:
    print(f"claimed: epsilon = {BUDGET.epsilon:g} at delta = {BUDGET.delta:g}; {runs} runs of each world\n")
    for timing in ("published", "strict"):
        a, b, epsilon = attack(timing, runs)
        print(f"{timing:<10} noticed in world A {a:5d}, in world B {b:5d}: epsilon >= {epsilon:.2f} ({CONFIDENCE:.1%})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
