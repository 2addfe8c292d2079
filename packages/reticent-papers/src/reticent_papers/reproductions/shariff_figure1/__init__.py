"""Shariff & Sheffet 2018, figure 1 and the setting of appendix D: an example decision set in three dimensions, and what
the text says of decision sets."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng
from scipy import stats

from reticent.data import Array
from reticent.environments import gap
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent_lab.experiments import figure
from reticent_papers.outcome import Finding, Outcome

SEED = 1
ARMS = 1000  # of the example
SETS, QUICK = 2000, 100  # decision sets that the mean gap is taken over
SLACK = 1e-9  # rounding


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    sets = runs or (QUICK if quick else SETS)
    arms, theta = draw(3, ARMS, 1, 0.1)
    _picture(arms[0], theta, out / "figure.png")
    findings = [*_example(arms[0], theta), *_gaps(sets)]
    title = f"Shariff & Sheffet 2018, figure 1: a decision set in three dimensions, K = {ARMS}"
    extra: dict[str, Any] = {"theta": theta.tolist()}
    if progress is not None:
        progress(1.0)
    return Outcome(
        title, Result([]), findings, f"{ARMS} arms of one round, gap 0.1; {sets} rounds for mean gaps", extra
    )


def draw(dim: int, arms: int, rounds: int, size: float) -> tuple[Array, Array]:
    """Decision sets of so many rounds, and theta*."""
    world = gap(dim=dim, arms=arms, gap=size, radius=1.0)
    place, block = world.start(default_rng(SEED), rounds), world.block(rounds)
    place.fill(block)
    assert place.theta is not None
    return block.arms, place.theta


def _example(arms: Array, theta: Array) -> list[Finding]:
    means = np.sort(arms @ theta)
    lengths = np.linalg.norm(arms, axis=1)
    others = means[:-1]
    # uniform on a zone of the sphere in three dimensions: heights are uniform (Archimedes)
    p = float(stats.kstest(others, stats.uniform(-0.75, 1.4).cdf).pvalue)
    return [
        Finding(
            "all actions and θ* have unit length",
            f"{lengths.min():.9f} to {lengths.max():.9f}; |θ*| = {np.linalg.norm(theta):.9f}",
            bool(np.all(np.abs(lengths - 1) <= SLACK)),
        ),
        Finding("one optimal action, of mean 0.75", f"{means[-1]:.9f}", abs(means[-1] - 0.75) <= SLACK),
        Finding(
            "the others uniform where the mean is in [-0.75, 0.65]: a gap of 0.1",
            f"means {others[0]:.3f} to {others[-1]:.3f}; uniform with p = {p:.2f}",
            bool(others[0] >= -0.75 - SLACK and others[-1] <= 0.65 + SLACK) and p > 1e-3,
        ),
    ]


def _gaps(sets: int) -> list[Finding]:
    """D.2, without a forced gap: "in expectation we should observe a gap of Theta(1 / K)"."""
    sizes = (25, 50, 100, 200)
    scaled = []
    for count in sizes:
        arms, theta = draw(5, count, sets, 0.0)
        best = np.sort(arms @ theta, axis=1)[:, -2:]
        scaled.append(count * float((best[:, 1] - best[:, 0]).mean()))
    text = ", ".join(f"{value:.2f} / K at K = {count}" for count, value in zip(sizes, scaled, strict=True))
    name = "without a forced gap its mean is Θ(1 / K), d = 5 (K times it within a factor 1.5)"
    return [Finding(name, text, max(scaled) <= 1.5 * min(scaled))]


def _picture(arms: Array, theta: Array, path: Path) -> None:
    """The sphere from the side: theta* points up, so that height is the mean reward."""
    side = np.linalg.svd(theta[None, :])[2][1:]
    x, depth, height = arms @ side[0], arms @ side[1], arms @ theta
    best = height.argmax()
    canvas, axes = figure.subplots(1, 2, width=5.0, height=4.8)
    angle = np.linspace(0, 2 * np.pi, 400)
    for axis, (front, title) in zip(axes[0], ((True, "the near side"), (False, "the far side")), strict=True):
        axis.plot(np.cos(angle), np.sin(angle), color="#999999", linewidth=1)
        for level, text in ((0.75, "0.75"), (0.65, "0.65"), (-0.75, "-0.75")):
            half = (1 - level**2) ** 0.5
            axis.plot([-half, half], [level, level], color="#999999", linewidth=0.8, linestyle=":")
            axis.annotate(text, (half, level), (4, -3), textcoords="offset points", fontsize=8.5)
        shown = (depth >= 0) == front
        axis.scatter(x[shown], height[shown], s=9, color=figure.COLOURS[0], alpha=0.7, linewidths=0)
        if shown[best]:
            axis.scatter(x[best], height[best], s=60, color=figure.COLOURS[1], marker="*", zorder=3)
            axis.annotate("the best", (x[best], height[best]), (6, 6), textcoords="offset points", fontsize=9)
        axis.set(aspect="equal", xlabel="across θ*", ylabel="mean reward: along θ*", xlim=(-1.2, 1.2), ylim=(-1.1, 1.1))
        axis.set_title(title, loc="left")
    figure.save(canvas, path)
