"""Table 1 (appendix G) of "Improved rate for Locally Differentially Private Linear Bandits" (anonymous, under review):
in which share of the rounds the arms that LinUCB plays have a second moment whose smallest eigenvalue is O(1).

The paper does not say which number O(1) stands for, nor how many experiments M it averages over; with M experiments the
eigenvalue of (1 / M) sum x x' is 0 for M < d. We take M = 50 and count eigenvalues of at least `FLOOR`."""

from pathlib import Path

import numpy as np
from numpy.random import SeedSequence, default_rng

from tacit.bandits import LinUCB
from tacit.data import Array
from tacit.environments import tail
from tacit.experiments import figure
from tacit.experiments.result import Result
from tacit.experiments.runner import Progress, simulate
from tacit.experiments.spec import Spec
from tacit.reproductions.outcome import Finding, Outcome

ARMS = (5, 25, 100)
ROUNDS = (200, 2000, 20_000)
PAPER = {
    (5, 200): 99.5, (5, 2000): 100.0, (5, 20_000): 100.0,
    (25, 200): 97.0, (25, 2000): 97.7, (25, 20_000): 99.9,
    (100, 200): 88.0, (100, 2000): 89.1, (100, 20_000): 99.8,
}  # fmt: skip
FLOOR = 0.01
QUICK = 2000  # rounds of the small version


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    count = runs or (10 if quick else 50)
    longest = QUICK if quick else 20_000
    shares, findings, smallest = {}, [], {}
    for step, arms in enumerate(ARMS):
        values = eigenvalues(arms, longest, count)
        smallest[arms] = values
        for rounds in ROUNDS:
            if rounds <= longest:
                shares[arms, rounds] = 100 * float(np.mean(values[:rounds] >= FLOOR))
        if progress is not None:
            progress((step + 1) / len(ARMS))
    lines = ["K      " + "".join(f"{f'T={t}':>22}" for t in ROUNDS if t <= longest)]
    for arms in ARMS:
        cells = [f"{shares[arms, t]:.1f}% (paper {PAPER[arms, t]:g}%)" for t in ROUNDS if t <= longest]
        lines.append(f"{arms:<7}" + "".join(f"{cell:>22}" for cell in cells))
    end = max(rounds for rounds in ROUNDS if rounds <= longest)
    last = [shares[arms, end] for arms in ARMS]
    findings.append(
        Finding("fewer rounds qualify with more arms", ", ".join(f"{v:.1f}%" for v in last), last[0] > last[-1])
    )
    for arms in ARMS:
        median = float(np.median(smallest[arms]))
        findings.append(
            Finding(
                f"K = {arms}: the eigenvalue is O(1)", f"median {median:.3f} (1 / d = .2 is the most)", median >= FLOOR
            )
        )
    canvas, axes = figure.subplots(1, 1, width=7.0, height=4.2)
    for arms in ARMS:
        axes[0, 0].plot(np.arange(1, longest + 1), smallest[arms], label=f"K = {arms}", linewidth=0.8)
    axes[0, 0].set(xscale="log", xlabel="round", ylabel="smallest eigenvalue of the mean of x x'")
    axes[0, 0].legend()
    figure.save(canvas, out / "figure.png")
    extra = {"shares": {f"K={k},T={t}": v for (k, t), v in shares.items()}}
    world = tail(dim=5, arms=5, radius=1.0)
    result: Result = simulate([Spec(LinUCB)], world, horizon=200, runs=2, seed=3, out=out)
    title = f"LDP table 1: share of rounds whose smallest eigenvalue is at least {FLOOR:g}, {count} experiments"
    return Outcome(title, result, findings, "\n".join(lines), extra)


def eigenvalues(arms: int, rounds: int, count: int) -> Array:
    """For each round, the smallest eigenvalue of the mean over experiments of x x', x the arm LinUCB played."""
    world = tail(dim=5, arms=arms, radius=1.0)
    total = np.zeros((rounds, 5, 5))
    for i in range(count):
        one, two = SeedSequence([2026, arms, i]).spawn(2)
        bandit = Spec(LinUCB).build(world, rounds, one)
        place, block = world.start(default_rng(two), rounds), world.block(500)
        for start in range(0, rounds, 500):
            place.fill(block)
            bandit.play(block)
            size = min(500, rounds - start)
            x = block.arms[np.arange(500), block.index][:size]
            total[start : start + size] += x[:, :, None] * x[:, None, :] / count
    return np.asarray(np.linalg.eigvalsh(total)[:, 0], np.float64)
