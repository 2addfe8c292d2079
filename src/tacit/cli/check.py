"""`tacit check`: its options. What it needs is in `checking`, loaded when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Json


def check_command(
    config: Annotated[Path, typer.Argument(help="What is to be served: a TOML file.")],
    sample: Annotated[Path, typer.Argument(help="Requests as JSON lines: contexts, or whole bodies of choose.")],
    bandit: Annotated[str | None, typer.Argument(help="Its name in the file, where there are several.")] = None,
    as_json: Json = False,
) -> None:
    """Look for mistakes in a sample of requests that is made up, public, or of people who will not be served: it shows
    values. Counts by field what is unknown, missing, out of bounds or of the wrong type, then says what `plan` says.
    Opens no database, writes nothing. Exit code 0 only if nothing is wrong."""
    from tacit.cli import checking

    if not checking.show(config, sample, bandit, as_json=as_json):
        raise typer.Exit(1)
