"""`reticent plan`: the table of what was simulated, what is said about it, and the picture."""

import json
import shutil
import sys
import textwrap
from typing import Any

from reticent import durations
from reticent.cli.output import progress, write_json
from reticent_serve.planning import counsel, crowd, trials
from reticent_serve.planning.counsel import USEFUL, count, percent
from reticent_serve.planning.trials import ORDINARY, PEOPLE, TASTES, Case, Forecast, Found, Question

SHOWN = [n for n in PEOPLE if n != 300_000]  # the table fits a terminal
UNKNOWN = "?"
MEANING = (
    "Per cent of what personalising can bring: what those get who come between n/2 and n, for n people. 0 is as good "
    "as random actions, 100 as good as knowing what everybody likes."
)


def show(question: Question, notes: list[str], *, quick: bool, as_json: bool) -> None:
    size = trials.QUICK if quick else trials.full(question.dim)
    with progress("plan") as report:
        plan = trials.run(question, size, report)
    if as_json:
        write_json(document(plan, notes))
    else:
        sys.stdout.write(text(plan, notes) + "\n")


def text(plan: Forecast, notes: list[str]) -> str:
    from reticent.experiments.table import WIDTH, to_text

    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns)
    before, after = [heading(plan.question), *([" ".join(notes)] if notes else [])], [meaning(plan)]
    if plan.question.schema is not None:
        before.append(counsel.numbers(plan))
        after += [counsel.tastes(plan), error()]
    before, after = [*before, MEANING], [*after, *counsel.words(plan)]
    wrapped = [[textwrap.fill(paragraph, width) for paragraph in part] for part in (before, after)]
    return "\n\n".join([*wrapped[0], to_text(table(plan)), *wrapped[1]])


def table(plan: Forecast) -> Any:
    """A row for each epsilon, and at the one that is asked for: worlds, tastes and fields."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    question = plan.question
    out = Table(box=SIMPLE_HEAD, pad_edge=False)
    out.add_column("")
    for people in SHOWN:
        out.add_column(f"{people:,}", justify="right", no_wrap=True)
    out.add_column(f"{percent(USEFUL)} after", justify="right", no_wrap=True)
    for epsilon in question.epsilons:
        own = epsilon == question.epsilon
        _add(out, f"ε = {epsilon:g}{'*' * own}", plan.of(Case(epsilon)))
        if own:
            out.add_row("  worst world", *_cells(plan.asked.low), "")
            out.add_row("  best world", *_cells(plan.asked.high), "")
    if question.schema is not None:
        out.add_row("best single action", *[short(plan.floor)] * len(SHOWN), "")
        out.add_row()
    for tastes in TASTES:
        if tastes != ORDINARY and question.schema is not None:
            _add(out, f"{tastes} tastes", plan.of(Case(question.epsilon, tastes=tastes)))
    out.add_row()
    for found in plan.found:
        label = _label(found.case)
        if label:
            _add(out, label, found)
    if question.per_day is not None:
        days = [question.days(people) or 0.0 for people in SHOWN]
        out.add_row()
        out.add_row("days", *(f"{d:,.1f}" if d < 10 else f"{d:,.0f}" for d in days), "")
    return out


def _label(case: Case) -> str:
    """Of a row of fields."""
    if case.left_out:
        return f"without {case.left_out}"
    if case.alone:
        return "the right one alone"
    return f"weight = {case.weight:g} for the right one" if case.weight != 1 else ""


def _add(out: Any, label: str, found: Found) -> None:
    need = found.after(USEFUL)
    after = f"> {found.most:,}" if need is None else ("≤ " if need <= PEOPLE[0] else "") + count(need)
    out.add_row(label, *_cells(found.mean), after)


def short(share: float) -> str:
    """Whole ones, with a digit more near the end: 99.5 is not 100."""
    return f"{100 * share:.1f}" if 0.99 <= share < 0.9995 else f"{round(100 * share)}"


def _cells(shares: list[float | None]) -> list[str]:
    by = dict(zip(PEOPLE, shares, strict=True))
    return [UNKNOWN if share is None else short(share) for share in (by[people] for people in SHOWN)]


def heading(question: Question) -> str:
    k = question.rounds_per_person
    rewards = "declared" if question.base_rate is not None else "assumed"
    schema = question.schema
    parts = [
        f"d = {question.dim}, radius = {question.radius:g}" if schema is None else f"{len(schema.context)} fields",
        f"K = {question.arms}",
        f"ε = {question.epsilon:g} (*)",
        f"δ = {question.delta:g}",
        f"{k} round{'s' * (k > 1)} learnt from each person",
        f"{counsel.rate(question.rate)} rewards ({rewards})",
    ]
    if question.per_day is not None:
        parts.append(f"{question.per_day:,g} requests a day")
    if question.window is not None:
        parts.append(f"a window of {durations.words(question.window)} ({question.later:,} choices)")
    return f"plan: {', '.join(parts)}"


def meaning(plan: Forecast) -> str:
    size = plan.size
    kind = "of vectors" if plan.question.schema is None else "of your schema"
    long = f", of {size.longer} beyond {size.most:,}" * (size.longer > 0)
    said = f"Simulated with JointGLM itself: means of {size.worlds} made-up worlds {kind}{long}; ? was not simulated. "
    if plan.question.schema is None:
        return said + (
            "Arms are drawn anew for everybody, uniform in the unit ball. Worlds of other kinds differ: simulate yours "
            "(docs/product.md). If people have fields, ask with --schema instead."
        )
    return said + (
        "Fields are independent and their values equally likely. In each world another field matters most, "
        f'each of the others {percent(crowd.DECAY)} as much as the one before. "The right one" is the field that '
        "matters most, which you may know."
    )


def error() -> str:
    off = json.loads(trials.JUDGED.read_text())
    return (
        f"How sure that is: in {off['worlds']} worlds of other kinds, whose tastes the plan could not know, it was off "
        f"by {100 * off['median']:.0f} points in the middle, and by up to {100 * off['most']:.0f} in 19 of 20 numbers. "
        f"Where it said {100 * off['high']:.0f} or more, people had {-100 * off['high_bias']:.0f} less in the middle "
        "(docs/measurements/plan.md)."
    )


def document(plan: Forecast, notes: list[str]) -> dict[str, Any]:
    """See docs/plan.md for what is in it."""
    question = plan.question
    own = None if question.schema is None else question.schema.own
    setting = {name: value for name, value in vars(question).items() if name != "schema"}
    return {
        "setting": setting | {"rate": question.rate, "window_choices": question.later},
        "notes": notes,
        "numbers": {} if own is None else {" x ".join(part.names) or "constant": part.size for part in own},
        "people": list(PEOPLE),
        "days": None if question.per_day is None else [question.days(people) for people in PEOPLE],
        "rows": [_row(plan, found) for found in plan.found],
        "single_action": None if own is None else round(plan.floor, 4),
        "earned": {
            tastes: dict(zip(("random", "single", "best"), means, strict=True)) for tastes, means in plan.rates.items()
        },
        "error": None if own is None else json.loads(trials.JUDGED.read_text()),
        "recommendation": counsel.words(plan),
    }


def _row(plan: Forecast, found: Found) -> dict[str, Any]:
    need = found.after(USEFUL)
    shares = {"share": found.mean, "worst": found.low, "best": found.high}
    return {
        "model": "joint",
        "bandit": "JointGLM",
        **found.case._asdict(),
        **{name: [None if s is None else round(s, 4) for s in values] for name, values in shares.items()},
        "useful_after": need,
        "days": None if need is None else plan.question.days(need),
        "worlds": len(found.share),
    }
