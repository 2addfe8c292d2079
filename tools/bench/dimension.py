"""Cost in the number of dimensions: a served round, a release, its secure noise, and what is kept."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from reticent import Bandit, JointGLM, Reward, Variant
from reticent.data import Array
from reticent.experiments.table import to_text
from reticent.mechanisms.opening import opened
from reticent.mechanisms.saving import arrays
from reticent.privacy import exact
from reticent.privacy.budget import Budget

DIMS = (50, 500)
ARMS = 10
RELEASES, ROUNDS = 6, 8  # and rounds between two of them
FORMS = {"dense": "curvature", "scores": "scores"}  # models


def measure(progress: Callable[[float], None]) -> list[dict[str, Any]]:
    made = [(dim, form) for dim in DIMS for form in FORMS]
    rows = []
    for i, (dim, form) in enumerate(made):
        rows.append(_measured(dim, form))
        progress((i + 1) / len(made))
    return rows


def _measured(dim: int, form: str) -> dict[str, Any]:
    """Of JointGLM with secure noise, where all its steps are full: the shortest time of a choice and its reward between
    two releases, and of its propensity; processor time of this thread in a release and in drawing its noise, the
    shortest; bytes of all arrays that are kept."""
    model = Variant(FORMS[form], first=ROUNDS)
    bandit = Bandit(JointGLM(dim, Budget(1.0, 1e-6), Reward(radius=3.0), model=model), pending=100)
    rng = np.random.default_rng(0)
    rounds: list[float] = []
    releases: list[float] = []
    sums = opened(bandit.sums.state.prefix)
    sums.closed[:], sums.noise.table[:] = 1, 1.0
    sums.noise.step[0] = before = bandit.plan.mechanism.leaves - 2 * RELEASES
    while bandit.sums.steps <= before + RELEASES:
        offered, due = _offered(rng, dim), bandit.sums.due
        clock = time.thread_time if due else time.perf_counter
        began = clock()
        choice = bandit.choose(offered)
        bandit.observe(choice, 1.0)
        (releases if due else rounds).append(clock() - began)
        if bandit.sums.steps == before:
            rounds.clear()  # nothing is drawn before the first release
    chances = []
    for _ in range(ROUNDS):
        choice = bandit.choose(_offered(rng, dim))
        began = time.perf_counter()
        assert choice.propensity > 0
        chances.append(time.perf_counter() - began)
    grid: Any = bandit.plan.mechanism
    noise = []
    for _ in range(RELEASES):
        began = time.thread_time()
        exact.draw(grid.size, grid.cells)
        noise.append(time.thread_time() - began)
    return {
        "dim": dim,
        "arms": form,
        "numbers": grid.size,
        "sigma": grid.sigma,
        "round_us": 1e6 * min(rounds),
        "propensity_us": 1e6 * min(chances),
        "release_ms": 1e3 * min(releases[1:]),
        "noise_ms": 1e3 * min(noise),
        "draws_per_second": grid.size / min(noise),
        "state_mb": sum(part.nbytes for part in arrays(bandit.sums.state)) / 1e6,
    }


def _offered(rng: np.random.Generator, dim: int) -> Array:
    """Arms of norm 1."""
    x = rng.standard_normal((ARMS, dim))
    x /= np.linalg.norm(x, axis=1)[:, None]
    return x


def render(rows: Sequence[dict[str, Any]]) -> str:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("dim")
    table.add_column("arms", no_wrap=True)
    for name in (
        "numbers",
        "sigma",
        "choose +\nobserve, µs",
        "propensity\nµs",
        "release\nms",
        "its noise\nms",
        "state\nMB",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            str(row["dim"]),
            row["arms"],
            f"{row['numbers']:,}",
            f"{row['sigma']:.2f}",
            f"{row['round_us']:.0f}",
            f"{row['propensity_us']:.0f}",
            f"{row['release_ms']:.1f}",
            f"{row['noise_ms']:.1f}",
            f"{row['state_mb']:.1f}",
            end_section=row["arms"] == list(FORMS)[-1],
        )
    head = f"JointGLM with secure noise at epsilon 1, delta 1e-6, {ARMS} arms. Noise is drawn ahead, by a thread.\n"
    return head + to_text(table)
