"""`reticent plan --holdout`: how many people until an effect is seen, for each epsilon and share."""

import shutil
import sys
import textwrap
from typing import Any

from reticent.cli.output import write_json
from reticent_serve.planning import holdout
from reticent_serve.planning.holdout import HoldoutQuestion

MEANING = (
    "People until the interval for bandit minus holdout leaves 0, in 4 of 5 trials, by the share of people who are the "
    "holdout's. One may look at any time: the interval holds at every look with 95 %. – takes more than a billion."
)


def asked(
    share: float | None, effect: float | None, *, base_rate: float | None, others: dict[str, Any], **options: Any
) -> HoldoutQuestion:
    """ValueError for one of the two without the other, and for options of other plans."""
    for name, value in others.items():
        if value:
            raise ValueError(f"Expected no --{name} with --holdout: its people are counted by a formula, got one.")
    if share is None or effect is None:
        raise ValueError("Expected --holdout and --effect together (--holdout .1 --effect .05), got one of them.")
    given = {name: value for name, value in options.items() if value is not None}
    return HoldoutQuestion(
        share=share, effect=effect, base_rate=holdout.RATE if base_rate is None else base_rate, **given
    )


def show(question: HoldoutQuestion, *, as_json: bool) -> None:
    cells = holdout.table(question)
    if as_json:
        said = holdout.words(question)
        write_json({"setting": vars(question), "cells": [one._asdict() for one in cells], "recommendation": said})
    else:
        sys.stdout.write(text(question, cells) + "\n")


def text(question: HoldoutQuestion, cells: list[holdout.Cell]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from reticent.experiments.table import WIDTH, to_text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("ε", justify="right", no_wrap=True)
    for share in question.shares:
        table.add_column(f"{100 * share:g} %{'*' if share == question.share else ''}", justify="right", no_wrap=True)
    for epsilon in question.epsilons:
        row = [one for one in cells if one.epsilon == epsilon]
        people = ["–" if one.people is None else f"{one.people:,}" for one in row]
        table.add_row(f"{epsilon:g}{'*' if epsilon == question.epsilon else ' '}", *people)
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns)
    heading = (
        f"plan: an effect of {100 * question.effect:g} points, {100 * question.base_rate:g} % rewards with the holdout,"
        f" ε = {question.epsilon:g} (*), δ = {question.delta:g}"
    )
    parts = [textwrap.fill(heading, width, subsequent_indent="  "), textwrap.fill(MEANING, width), to_text(table)]
    return "\n\n".join([*parts, *(textwrap.fill(said, width) for said in holdout.words(question))])
