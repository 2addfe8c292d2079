"""Options that several commands have."""

from typing import Annotated

import typer

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, nothing else there.")]
Epsilon = Annotated[list[str], typer.Option(help="Privacy budget; give it several times for several. inf: no noise.")]
Delta = Annotated[float, typer.Option(help="Privacy budget: how far an event may be above the bound e^epsilon.")]
Link = Annotated[str | None, typer.Option(help="identity, logistic or probit.")]
Dim = Annotated[int | None, typer.Option(help="Dimension of the features.")]
Arms = Annotated[int | None, typer.Option(help="Arms per round.")]
Radius = Annotated[float | None, typer.Option(help="Norm of the true parameter, known to the bandits as a bound.")]
Engine = Annotated[
    str,
    typer.Option(help="Who does the runs: local (this machine's cores) or ray (docs/cluster.md); the same results."),
]
