"""Arms with a part of their own: how many numbers a release has, and how long a release, a reward and a choice take."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from reticent import Bandit, JointGLM, Reward, Variant
from reticent.experiments.table import to_text
from reticent.features.columns import Number
from reticent.features.schema import Schema
from reticent.privacy.budget import Budget

CONTEXT = {f"number {i}": Number(-1, 1) for i in range(4)}
OWN = 9  # numbers of a person, in the part that an action has for itself: for none, and for a constant, too
ACTIONS = (6, 50)
RELEASES = 10
FORMS = ("disjoint", "dense")


def measure(progress: Callable[[float], None]) -> list[dict[str, Any]]:
    made = [(actions, form) for actions in ACTIONS for form in FORMS]
    rows = []
    for i, (actions, form) in enumerate(made):
        rows.append(_measured(actions, form))
        progress((i + 1) / len(made))
    return rows


def _measured(actions: int, form: str) -> dict[str, Any]:
    """Of JointGLM with secure noise: the processor time of a release after the first, on average (noise is drawn ahead,
    for several at once), and the shortest time of a choice and of a reward."""
    dim, dense = OWN * actions, form == "dense"
    schema = Schema(context=CONTEXT, arms="disjoint", actions=tuple(f"action {i}" for i in range(actions)))
    model = Variant("curvature", first=4)
    algorithm = JointGLM(dim if dense else schema, Budget(1.0, 1e-6), Reward(radius=3.0), model=model)
    bandit = Bandit(algorithm, pending=100)
    rng = np.random.default_rng(0)
    choice: list[float] = []
    reward: list[float] = []
    release: list[float] = []
    while bandit.sums.steps <= RELEASES:
        person = {name: float(rng.uniform(-1, 1)) for name in CONTEXT}
        offered: Any = schema.rows(person)[1] if dense else person
        due = bandit.sums.due
        clock = time.process_time if due else time.perf_counter
        began = clock()
        made = bandit.choose(offered)
        (release if due else choice).append(clock() - began)
        began = time.perf_counter()
        bandit.observe(made, 1.0)
        reward.append(time.perf_counter() - began)
        if bandit.sums.steps == 0:
            choice.clear()  # arms are random before the first release
    return {
        "arms": form,
        "actions": actions,
        "dim": dim,
        "numbers": bandit.plan.mechanism.size,
        "sigma": bandit.plan.mechanism.sigma,
        "release_ms": 1e3 * float(np.mean(release[1:])),
        "choice_us": 1e6 * min(choice),
        "reward_us": 1e6 * min(reward),
    }


def render(rows: Sequence[dict[str, Any]]) -> str:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in ("actions", "arms"):
        table.add_column(name)
    for name in ("dim", "numbers", "sigma", "release\nms", "choice\nµs", "reward\nµs"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            str(row["actions"]),
            row["arms"],
            str(row["dim"]),
            f"{row['numbers']:,}",
            f"{row['sigma']:.2f}",
            f"{row['release_ms']:.1f}",
            f"{row['choice_us']:.0f}",
            f"{row['reward_us']:.0f}",
            end_section=row["arms"] == FORMS[-1],
        )
    head = f"JointGLM, {OWN} numbers of each action's own, secure noise at epsilon 1.\n"
    return head + to_text(table)
