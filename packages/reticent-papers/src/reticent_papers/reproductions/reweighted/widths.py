"""What the paper's own confidence bounds rule out after one epoch: Algorithm 12's b(phi) for linear rewards, Theorem
4.4's for logistic ones (schedule="paper", with the constants that are not given 1), beside ours."""

from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

from reticent import environments
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated
from reticent_papers.outcome import Finding
from reticent_papers.regression import ReweightedGLM, ReweightedLinear

BUDGET = Budget(1.0, 1e-6)
ROWS = 100_000, 1_000_000, 4_000_000  # users of an epoch; the first alone in a quick run
LINKS = ("identity", "logistic")
FRESH, WIDTHS = 200, 3.0  # rounds that are judged; of JointReweighted
WAYS = ("paper", "practical")
SEED = 3116


def measure(quick: bool) -> list[dict[str, Any]]:
    """One epoch of uniform play in the ball, d = 5, K = 20, S = 1, and what each regression says of fresh rounds."""
    return [_measure(link, rows, way) for link in LINKS for rows in ROWS[: 1 if quick else None] for way in WAYS]


def _measure(link: str, rows: int, schedule: str) -> dict[str, Any]:
    world = environments.ball(dim=5, arms=1, radius=1.0, link=link)
    offered = environments.ball(dim=5, arms=20, radius=1.0, link=link)
    one, two = SeedSequence([SEED, rows]).spawn(2)
    rng, block, fresh = default_rng(one), world.block(rows), offered.block(FRESH)
    started = world.start(rng, rows)
    started.fill(block)
    asked = offered.start(rng, FRESH)
    assert started.theta is not None and asked.theta is not None
    asked.theta[:] = started.theta
    asked.fill(fresh)
    low, high = world.rewards
    targets = np.where(block.noise < (block.means[:, 0] - low) / (high - low), high, low)
    kind: Any = ReweightedLinear if link == "identity" else ReweightedGLM
    options = {"budget": BUDGET, "radius": 1.0, "link": link, "targets": world.rewards, "schedule": schedule}
    fitted = kind(**options, source=Simulated(two)).fit(block.arms[:, 0], targets)
    arms = fresh.arms.reshape(-1, world.dim)
    middle, half = arms @ fitted.theta_, fitted._result.half_width(arms, WIDTHS) * fitted._unit
    covered = float(np.mean(np.abs(middle - arms @ started.theta) <= half))
    middle, half = middle.reshape(FRESH, -1), half.reshape(FRESH, -1)
    out = float(np.mean(middle + half < (middle - half).max(axis=1, keepdims=True)))
    found = {"half_width": float(np.median(half)), "covered": covered, "ruled_out": out}
    return {"link": link, "rows": rows, "schedule": schedule} | found


def table(found: list[dict[str, Any]]) -> str:
    lines = ["Half-widths after one epoch, ball, d = 5, K = 20, S = 1, ε = 1 (covered; arms ruled out)"]
    for row in found:
        name = f"{row['link']}, {'the paper' if row['schedule'] == 'paper' else 'ours'}, {row['rows']:,} users"
        lines.append(f"  {name:<40}{row['half_width']:.3g} ({row['covered']:.1%}; {row['ruled_out']:.1%})")
    return "\n".join(lines) + "\n"


def findings(found: list[dict[str, Any]]) -> list[Finding]:
    return [
        Finding(
            f"the paper's widths rule out arms after an epoch of {row['rows']:,} users, {row['link']}",
            f"{row['ruled_out']:.1%} of them; median half-width {row['half_width']:.3g}, {row['covered']:.1%} covered",
            row["ruled_out"] > 0,
        )
        for row in found
        if row["schedule"] == "paper"
    ]
