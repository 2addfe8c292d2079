"""`reticent evaluate`: its options. What it needs is in `evaluating`, loaded when it runs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.options import Json
from reticent.cli.output import write_json


def evaluate_command(
    log: Annotated[
        Path, typer.Argument(help="Parquet or CSV with action, reward, propensity, and x0, x1, ..., arms or fields.")
    ],
    target: Annotated[
        list[str],
        typer.Option(help="uniform, always:ACTION, columns:PREFIX (chances PREFIX0, PREFIX1, ...), or a saved bandit."),
    ] = ["uniform"],  # noqa: B006
    as_json: Json = False,
) -> None:
    """What other policies would have earned on a log. RAW: for whoever holds the log, and nobody else."""
    from reticent_lab.cli import evaluating

    rows = evaluating.rows(log, target)
    if as_json:
        write_json({"raw": True, "rows": rows})
    else:
        sys.stdout.write(evaluating.text(rows) + "\n")
