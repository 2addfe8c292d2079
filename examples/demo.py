"""A private bandit beside a non-private one: a table, a picture and a certificate.

Run it with `make demo`, or `python examples/demo.py`."""

import time
from pathlib import Path

from reticent import Bandit, Budget, JointGLM, LinUCB, Reward, Spec, Uniform, environments, simulate
from reticent.cli.output import progress
from reticent_lab.experiments.figure import regret_curves

HORIZON = 50_000
USUAL = "some 12 seconds of CPU time, and 33 the first time, when kernels are compiled."


def main() -> None:
    budget = Budget(epsilon=1.0, delta=1e-6)
    print(f"25 offers to each of {HORIZON:,} people, one after the other; five features an offer; 20 runs.")
    print(f"This takes {USUAL}\n", flush=True)
    began = time.monotonic()
    specs = [
        Spec(LinUCB, label="no privacy (LinUCB)"),
        Spec(JointGLM, budget=budget, label="reticent, ε = 1 (JointGLM)"),
        Spec(JointGLM, budget=Budget(epsilon=0.2, delta=1e-6), label="reticent, ε = 0.2 (JointGLM)"),
        Spec(Uniform, label="nothing learned (Uniform)"),
    ]
    world = environments.gap(dim=5, arms=25, gap=0.1)
    with progress("80 simulations") as done:
        result = simulate(specs, world, horizon=HORIZON, runs=20, seed=0, progress=done)
    print(result.table())
    picture = Path("out/demo.png")
    regret_curves(result.groups(), picture, title="Regret of learning privately, δ = 10⁻⁶", log=True)
    bandit = Bandit(JointGLM(5, budget, Reward("identity", range=(-1.0, 1.0))))
    print("\nWhat a new bandit, JointGLM with secure noise, promises to people before its first choice:\n")
    print(f"{bandit.privacy}\n\nPicture: {picture}, after {time.monotonic() - began:.0f} seconds.")


if __name__ == "__main__":
    main()
