"""Table 1 (appendix G) of "Improved rate for Locally Differentially Private Linear Bandits" (anonymous, under review):
in which share of the rounds the arms that LinUCB plays have a second moment whose smallest eigenvalue is O(1).

The paper does not say which number O(1) stands for, over how many experiments M it averages, or whether they share
theta*. Its Corollary 3.6 is about one theta*: with another one in each experiment the average is taken over worlds and
says nothing of any. Nor does it say which arms it means: those of its section 5 have a constant last entry (`tail`),
appendix G calls them uniform on a sphere, and Remark 3.1 has Gaussian ones. We show them all, with M = 50 and
eigenvalues of at least `FLOOR`."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from reticent import LinUCB
from reticent.data import Array
from reticent.environments import Environment, World, sphere, tail
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent.experiments.spec import Spec
from reticent.kernels.block import Block
from reticent_lab.experiments import figure
from reticent_lab.experiments.sweeps import simulate
from reticent_papers.outcome import Finding, Outcome

ARMS = (5, 25, 100)
ROUNDS = (200, 2000, 20_000)
PAPER = {
    (5, 200): 99.5, (5, 2000): 100.0, (5, 20_000): 100.0,
    (25, 200): 97.0, (25, 2000): 97.7, (25, 20_000): 99.9,
    (100, 200): 88.0, (100, 2000): 89.1, (100, 20_000): 99.8,
}  # fmt: skip
DIM = 5
FLOOR = 0.01
NEAR = 5.0  # percentage points below the paper's share that count as the same
QUICK = 2000  # rounds of the small version
SEED = 2026


@dataclass(frozen=True, kw_only=True)
class gaussian(Environment):
    """Remark 3.1: arms N(0, I / d), of any length."""

    noise: str = "gaussian"

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)

        def fill(block: Block) -> None:
            block.arms[:] = rng.standard_normal(block.arms.shape) / math.sqrt(self.dim)
            block.means[:] = block.arms @ theta
            block.noise[:] = rng.standard_normal(block.noise.shape)

        return World(fill, theta)


READINGS: dict[str, tuple[type[Environment], bool]] = {  # what it is called: arms, and whether experiments share theta*
    "section 5, one θ*": (tail, True),
    "section 5, θ* drawn anew": (tail, False),
    "sphere, one θ*": (sphere, True),
    "Gaussian, one θ*": (gaussian, True),
}


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    count = runs or 50
    longest = QUICK if quick else 20_000
    found: dict[tuple[str, int], Array] = {}
    for reading, (kind, shared) in READINGS.items():
        for arms in ARMS:
            found[reading, arms] = eigenvalues(kind(dim=DIM, arms=arms, radius=1.0), longest, count, shared)
            if progress is not None:
                progress(len(found) / len(READINGS) / len(ARMS))
    lengths = [rounds for rounds in ROUNDS if rounds <= longest] or [longest]
    shares = {
        (reading, arms, rounds): 100 * float(np.mean(values[:rounds] >= FLOOR))
        for (reading, arms), values in found.items()
        for rounds in lengths
    }
    _draw(found, out / "figure.png")
    extra = {"shares": {f"{name}: K={k},T={t}": share for (name, k, t), share in shares.items()}}
    result: Result = simulate([Spec(LinUCB)], tail(dim=DIM, arms=5), horizon=200, runs=2, seed=3, out=out)
    title = f"LDP table 1: share of rounds whose smallest eigenvalue is at least {FLOOR:g}, {count} experiments"
    return Outcome(title, result, _findings(found, shares, lengths), _table(found, shares, lengths), extra)


def eigenvalues(world: Environment, rounds: int, count: int, shared: bool) -> Array:
    """For each round, the smallest eigenvalue of the mean over experiments of x x', x the arm LinUCB played; shared:
    all of them have the first one's theta*."""
    total = np.zeros((rounds, world.dim, world.dim))
    truth = None
    for i in range(count):
        one, two = SeedSequence([SEED, world.arms, i]).spawn(2)
        bandit = Spec(LinUCB).build(world, rounds, one)
        place, block = world.start(default_rng(two), rounds), world.block(500)
        assert place.theta is not None
        truth = place.theta.copy() if truth is None else truth
        if shared:
            place.theta[:] = truth
        for start in range(0, rounds, 500):
            place.fill(block)
            bandit.play(block)
            size = min(500, rounds - start)
            x = block.arms[np.arange(500), block.index][:size]
            total[start : start + size] += x[:, :, None] * x[:, None, :] / count
    return np.asarray(np.linalg.eigvalsh(total)[:, 0], np.float64)


Found = dict[tuple[str, int], Array]
Shares = dict[tuple[str, int, int], float]


def _table(found: Found, shares: Shares, lengths: list[int]) -> str:
    lines = [f"{'':<34}" + "".join(f"{f'T={t}':>9}" for t in lengths) + f"{'median eigenvalue':>20}"]
    for arms in ARMS:
        paper = [f"{PAPER[arms, t]:g}%" if (arms, t) in PAPER else "" for t in lengths]
        lines.append(f"K = {arms:<4} {'the paper':<25}" + "".join(f"{cell:>9}" for cell in paper))
        for reading in READINGS:
            cells = [f"{shares[reading, arms, t]:.1f}%" for t in lengths]
            median = f"{np.median(found[reading, arms]):.4f}"
            lines.append(f"         {reading:<25}" + "".join(f"{cell:>9}" for cell in cells) + f"{median:>20}")
    return "\n".join(lines)


def _findings(found: Found, shares: Shares, lengths: list[int]) -> list[Finding]:
    end = lengths[-1]
    paper = [PAPER.get((arms, end), 100.0) for arms in ARMS]
    says = " / ".join(f"{share:g}" for share in paper)
    findings = []
    for reading, words in (
        ("section 5, one θ*", "one θ*, the arms of section 5: favourable"),
        (
            "section 5, θ* drawn anew",
            "a θ* of its own in each experiment, an average of worlds that is none: the table",
        ),
        ("sphere, one θ*", "one θ*, arms on the sphere as appendix G says: favourable"),
    ):
        ours = [shares[reading, arms, end] for arms in ARMS]
        medians = ", ".join(f"{np.median(found[reading, arms]):.4f}" for arms in ARMS)
        findings.append(
            Finding(
                f"{words}, in {says} % of {end} rounds or more for K = 5 / 25 / 100",
                f"{' / '.join(f'{share:.1f}' for share in ours)} %; median eigenvalues {medians}",
                all(o >= p - NEAR for o, p in zip(ours, paper, strict=True)),
            )
        )
    one = [shares["section 5, one θ*", arms, end] for arms in ARMS]
    findings.append(
        Finding(
            "section 5, one θ*: fewer rounds qualify with more arms",
            ", ".join(f"{share:.1f}%" for share in one),
            one[0] > one[1] >= one[2],
        )
    )
    for arms in ARMS:
        least = math.pi / (6 * DIM * arms**2)
        median = float(np.median(found["Gaussian, one θ*", arms]))
        findings.append(
            Finding(
                f"Remark 3.1, Gaussian arms, K = {arms}: the eigenvalue is at least π σ²/(6 K²) = {least:.2g}",
                f"median {median:.3f}; σ² = {1 / DIM:g} is what many experiments would show at any K",
                median >= least,
            )
        )
    return findings


def _draw(found: Found, path: Path) -> None:
    canvas, axes = figure.subplots(1, len(READINGS), width=4.0, height=3.6)
    for axis, reading in zip(axes[0], READINGS, strict=True):
        for arms in ARMS:
            values = found[reading, arms]
            axis.plot(np.arange(1, values.size + 1), values, label=f"K = {arms}", linewidth=0.8)
        axis.axhline(FLOOR, color="gray", linewidth=0.8, linestyle="--")
        axis.set(xscale="log", yscale="log", ylim=(1e-4, 1.0), xlabel="round", ylabel="smallest eigenvalue")
        axis.set_title(reading, loc="left")
        axis.legend()
    figure.save(canvas, path)
