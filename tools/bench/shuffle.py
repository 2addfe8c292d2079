"""The shuffled sum beside a trusted curator: noise, bits and time, with exact and with published constants."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from devices_tests.roles.fleet import Fleet
from reticent.core.reward import Reward
from reticent.experiments.table import to_text
from reticent.model.glm import GLMContribution, balanced_curvature
from reticent.model.links import logistic
from reticent.privacy import gaussian
from reticent.privacy.budget import Budget
from reticent_devices.bandits.shuffle.newton import ShuffleNewton
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan, calibrate
from reticent_devices.roles.shuffler import Shuffler
from reticent_papers.shuffle.published import calibrate_paper

USERS = (10**3, 10**4, 10**5, 10**6)
DIMS = (5, 20)
EPSILONS = (0.5, 1.0, 4.0)
DELTAS = (1e-2, 1e-6)
TIMED = 10**6


def measure(progress: Callable[[float], None]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cases = [(d, delta, e, n) for d in DIMS for delta in DELTAS for e in EPSILONS for n in USERS]
    for i, (dim, delta, epsilon, users) in enumerate(cases):
        budget = Budget(epsilon, delta)
        scale = balanced_curvature(logistic, 3.0)
        contribution = GLMContribution(dim=dim, link=logistic, scale=scale, low=0.0, high=1.0)
        size, sensitivity = contribution.size, contribution.sensitivity
        central = sensitivity / gaussian.mu(budget)
        started = time.process_time()
        plan = calibrate(budget, users=users, size=size, sensitivity=sensitivity, norm=contribution.norm)
        seconds = time.process_time() - started
        rows.append(_row("exact", dim, epsilon, delta, plan, plan.std / central, seconds))
        paper = calibrate_paper(budget, users=users, dim=dim, sensitivity=1.0, matrix=True)
        # its norm bound is 1 for x x', whose replacement moves it by sqrt 2: what a curator would calibrate to
        ratio = paper.std / (math.sqrt(2) / gaussian.mu(budget))
        rows.append(_row("paper", dim, epsilon, delta, paper, ratio, 0.0))
        progress(0.9 * (i + 1) / len(cases))
    rows.append(_timed(TIMED))
    progress(1.0)
    return rows


def _row(kind: str, dim: int, epsilon: float, delta: float, plan: Any, ratio: float, seconds: float) -> dict[str, Any]:
    return {
        "calibration": kind,
        "users": plan.users,
        "dim": dim,
        "epsilon": epsilon,
        "delta": delta,
        "noise_ratio": ratio,
        "trials": plan.trials,
        "reach": plan.reach,
        "bits_per_user": plan.bits,
        "calibration_seconds": seconds,
    }


def _timed(users: int) -> dict[str, Any]:
    """Rounding, coins and encoding of all devices, and the shuffler's sum, CPU time of one core."""
    server = ShuffleNewton(5, Budget(1.0, 1e-6), Reward(radius=3.0), first=users)
    plan: ShufflePlan = server.analyzer.plan(0)
    board = server.billboard()
    fleet = Fleet(board)
    vectors = np.random.default_rng(0).uniform(-0.2, 0.2, (50_000, plan.size))
    shuffler = Shuffler(board)
    encode = add = 0.0
    for start in range(0, users, len(vectors)):
        before = time.process_time()
        stream = fleet.reports(vectors[: users - start])
        middle = time.process_time()
        shuffler.add_many(stream)
        encode, add = encode + middle - before, add + time.process_time() - middle
    return {
        "timed_users": users,
        "dim": 5,
        "bytes_per_report": len(stream) // len(vectors[: users - start]),
        "encode_seconds": encode,
        "shuffle_seconds": add,
    }


def render(rows: Sequence[dict[str, Any]]) -> str:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    names = "d", "δ", "ε", "users", "noise /\ncurator's", "bits\na user", "coins", "reach"
    for name in (*names, "published:\nnoise", "bits\na user"):
        table.add_column(name, justify="right", no_wrap=True)
    ours = [r for r in rows if r.get("calibration") == "exact"]
    theirs = [r for r in rows if r.get("calibration") == "paper"]
    before: list[str] = []
    for a, b in zip(ours, theirs, strict=True):
        setting = [f"{a[name]:g}" for name in ("dim", "delta", "epsilon")]
        table.add_row(
            *(["", "", ""] if setting == before else setting),
            f"{a['users']:,}",
            f"{a['noise_ratio']:.3f}",
            f"{a['bits_per_user']:,}",
            f"{a['trials']:,}",
            f"{a['reach']:,}",
            f"{b['noise_ratio']:.0f}",
            f"{b['bits_per_user']:.1e}",
            end_section=a["users"] == USERS[-1],
        )
        before = setting
    worst = max(r["noise_ratio"] for r in ours)
    text = (
        "Noise: standard deviation of a coordinate of the shuffled sum, rounding included, over that of a\n"
        "trusted curator's Gaussian noise at the same budget. Bits: one user's report, sent bit by bit.\n"
        "Published: the same with the constants of eq. 122 of Sarmasarkar 2026.\n\n"
    )
    text += to_text(table) + f"\n\nLargest ratio to a curator's noise: {worst:.3f}"
    for row in rows:
        if "timed_users" in row:
            text += (
                f"\n{row['timed_users']:,} reports of {row['bytes_per_report']} bytes (d = {row['dim']}), CPU time: "
                f"{row['encode_seconds']:.2f} s to randomize and encode, {row['shuffle_seconds']:.2f} s to shuffle."
            )
    return text
