"""`tacit plan`: the table of shares, what is said about it, and the picture."""

import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.cli.output import tell, write_json
from tacit.planning import advice, surface
from tacit.planning.advice import PEOPLE, USEFUL, Question
from tacit.planning.players import possible
from tacit.planning.setting import MODELS

MANY = 50  # dimensions
SHUFFLED = (
    f"Shuffle was simulated with estimate='batches'. From {MANY} dimensions on the default learns faster: its rows are "
    "pessimistic."
)
MEANING = (
    "Per cent of what personalising can bring: what those get who come between n/2 and n, for n = 1,000 to 10,000,000 "
    "people. 0 is as good as random offers, 100 as good as knowing what everybody likes. Arms are vectors, drawn anew "
    "for everybody, and random ones are rewarded half of the time. If people have fields, ask with --schema instead."
)


def show(question: Question, *, as_json: bool, plot: Path | None) -> None:
    rows, said = advice.rows(question), advice.words(question)
    if plot is not None:
        draw(question, plot)
        tell(f"Figure: {plot}")
    if as_json:
        write_json(document(question, rows, said))
    else:
        sys.stdout.write(text(question, rows, said) + "\n")


def text(question: Question, rows: Sequence[Mapping[str, Any]], said: Sequence[str]) -> str:
    """Heading, table, error and recommendation. Prose is as wide as the terminal, and no wider than all tables."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from tacit.experiments.table import WIDTH, to_text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("trust", "ε"):
        table.add_column(name, justify="left" if name == "trust" else "right", no_wrap=True)
    for people in PEOPLE:
        table.add_column(f"{people:,}", justify="right", no_wrap=True)
    table.add_column(f"{advice.percent(USEFUL)} after", justify="right", no_wrap=True)
    for row in rows:
        here = row["epsilon"] == question.epsilon
        first = row["epsilon"] == question.epsilons[0]
        if first and row["model"] != MODELS[0]:
            table.add_row()
        name = row["model"] if first else ""
        table.add_row(name, f"{row['epsilon']:g}{'*' if here else ' '}", *cells(row), after(question, row))
    if question.per_day is not None:
        days = [question.days(people) or 0.0 for people in PEOPLE]
        table.add_row()
        table.add_row("days", "", *(f"{d:,.1f} " if d < 10 else f"{d:,.0f} " for d in days), "")
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns)
    parts = [
        textwrap.fill(heading(question), width, subsequent_indent="  "),
        textwrap.fill(MEANING, width),
        to_text(table),
        *(textwrap.fill(paragraph, width) for paragraph in (notes(), *warnings(question), *said)),
    ]
    return "\n\n".join(parts)


def heading(question: Question) -> str:
    parts = [
        f"d = {question.dim}",
        f"K = {question.arms}",
        f"radius = {question.radius:g}",
        f"ε = {question.epsilon:g} (*)",
        f"δ = {question.delta:g}",
        f"{question.rounds_per_person} round{'s' * (question.rounds_per_person > 1)} learnt from each person",
    ]
    if question.base_rate is not None:
        parts.append(f"{100 * question.base_rate:g} % rewards")
    if question.per_day is not None:
        parts.append(f"{question.per_day:,g} requests a day")
    return f"plan: {', '.join(parts)}"


def cells(row: Mapping[str, Any]) -> list[str]:
    """Per cent; ~ where no simulation reaches, ? where nothing is known, – where no noise would do."""
    if not row["known"]:
        return ["?" for _ in PEOPLE]
    if row["share"] is None:
        return ["–" for _ in PEOPLE]
    return [short(s) + ("~" if beyond else " ") for s, beyond in zip(row["share"], row["computed"], strict=True)]


def short(share: float) -> str:
    """Whole ones, with a digit more near the end: 99.5 is not 100."""
    return f"{100 * share:.1f}" if 0.99 <= share < 0.9995 else f"{round(100 * share)}"


def after(question: Question, row: Mapping[str, Any]) -> str:
    need, k = row["useful_after"], question.rounds_per_person
    if not row["known"]:
        return "?"
    if need is None:
        return "never"
    return ("≤ " if need * k <= surface.LEAST + k else "") + advice.count(need)


def notes() -> str:
    error = surface.ERROR
    return (
        "~ computed, beyond what was simulated. All from a formula that was fitted to simulations: it is within "
        f"{100 * error['tolerance']:.0f} per cent for {100 * error['within']:.1f} % of {error['points']} numbers from "
        f"{error['settings']} settings that it was not fitted to; the worst is {100 * error['worst']:.0f} off. "
        "Worlds of other kinds differ more: docs/plan.md. Two servers learn as joint does with the noise of both."
    )


def warnings(question: Question) -> list[str]:
    return [SHUFFLED] * (question.dim >= MANY)


def document(question: Question, rows: Sequence[Mapping[str, Any]], said: Sequence[str]) -> dict[str, Any]:
    return {
        "setting": vars(question),
        "people": list(PEOPLE),
        "days": None if question.per_day is None else [question.days(people) for people in PEOPLE],
        "rows": list(rows),
        "error": surface.ERROR,
        "outside": advice.outside(question),
        "recommendation": list(said),
    }


def draw(question: Question, path: Path) -> None:
    """A panel for each model: the share against the number of people, a line for each epsilon."""
    import numpy as np

    from tacit.experiments import figure

    at = np.unique(np.logspace(3, 7, 81).astype(int)).tolist()
    canvas, axes = figure.subplots(1, len(MODELS), width=4.2, height=3.8)
    for axis, model in zip(axes.flat, MODELS, strict=True):
        for index, epsilon in enumerate(question.epsilons):
            setting = question.setting(model, epsilon=epsilon)
            if possible(setting) and not advice.outside(replace(question, epsilon=epsilon)):
                shares = np.array(surface.shares(setting, at))
                beyond = np.array([surface.computed(setting, n) for n in at])
                look = {"color": figure.COLOURS[index]}
                axis.plot(at, np.where(beyond, np.nan, shares), label=f"ε = {epsilon:g}", **look)
                axis.plot(at, np.where(beyond, shares, np.nan), linestyle=":", **look)
        axis.axhline(USEFUL, color="#444444", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xlim(at[0], at[-1])
        axis.set_ylim(0, 1)
        axis.set_title(f"{model} ({surface.BANDITS[model]})", loc="left")
        axis.set_xlabel("people")
    axes.flat[0].set_ylabel("share of the attainable reward")
    axes.flat[0].legend(loc="lower right", fontsize=8.5)
    canvas.suptitle(heading(question).replace(" (*)", "") + "; dotted: computed", x=0.01, ha="left", fontsize=10)
    figure.save(canvas, path)
