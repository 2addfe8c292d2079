"""What the published timing of Algorithm 2 leaks: an attack by later users on the first one, and the same on the
repaired one, with constants chosen for it (docs/proofs/what-algorithm-2-leaks.md has one at the paper's own).

The first user's arms either ask for exploration (world A) or not (world B): the two worlds differ in nothing else. The
attackers are the next users. Each offers itself two tiny arms, +v and -v, and looks at which one it gets. Claimed is
epsilon = 1 at delta = .02: for every event P_A <= e P_B + .02, and the other way round. `python examples/leak.py 5000`
makes 5000 runs of each world; `reticent audit joint-glm-rare-published-timing` has this attack too."""

import sys

import numpy as np

from reticent_lab.audit.bound import CONFIDENCE, ratio_bound
from reticent_papers.attacks.rare import BUDGET, noticed


def attack(timing: str, runs: int) -> tuple[int, int, float]:
    """How often each world was noticed, and what follows for epsilon: "noticed" was settled on beforehand as the event
    that betrays world A."""
    a, b = (int(noticed(timing, explores, runs, np.random.default_rng(explores)).sum()) for explores in (True, False))
    return a, b, float(ratio_bound(np.array([a]), np.array([b]), runs, BUDGET.delta)[0])


def main(runs: int = 3000) -> None:
    print(f"claimed: epsilon = {BUDGET.epsilon:g} at delta = {BUDGET.delta:g}; {runs} runs of each world\n")
    for timing in ("published", "strict"):
        a, b, epsilon = attack(timing, runs)
        print(f"{timing:<10} noticed in world A {a:5d}, in world B {b:5d}: epsilon >= {epsilon:.2f} ({CONFIDENCE:.1%})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
