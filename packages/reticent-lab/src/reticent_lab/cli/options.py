"""Options that several commands have."""

from typing import Annotated

import typer

Engine = Annotated[
    str,
    typer.Option(help="Who does the runs: local (this machine's cores) or ray (docs/cluster.md); the same results."),
]
