"""Options that several commands have."""

import functools
from typing import Annotated

import typer

from reticent import registry

flag = functools.partial(typer.Option, metavar="")  # of a bool, whose type says nothing
Yes = Annotated[bool, flag("--yes", help="Do not ask.")]
Json = Annotated[bool, flag("--json", help="One JSON document on standard output, nothing else there.")]
Epsilon = Annotated[list[str], typer.Option(help="Privacy budget; give it several times for several. inf: no noise.")]
Delta = Annotated[float, typer.Option(help="Privacy budget: how far an event may be above the bound e^epsilon.")]
Link = Annotated[str | None, typer.Option(help="identity, logistic or probit.")]
Dim = Annotated[int | None, typer.Option(help="Dimension of the features.")]
Arms = Annotated[int | None, typer.Option(help="Arms per round.")]
Radius = Annotated[float | None, typer.Option(help="Norm of the true parameter, known to the bandits as a bound.")]
Bandits = Annotated[list[str], typer.Argument(help="BANDIT[:key=value,...]: " + ", ".join(registry.bandits()))]
Worlds = Annotated[list[str], typer.Option(help="ENV[:key=value,...]: " + ", ".join(registry.table("ENVIRONMENTS")))]
Horizon = Annotated[int, typer.Option(help="Rounds.")]
Delayed = Annotated[
    str | None,
    typer.Option(
        help="Later choices after which a reward comes: fixed:50, exponential:100, lognormal:100/1.5, never:0.1 "
        "(a share that never comes), or two of them: exponential:100,never:0.1. Default: as ENV says, mostly 0."
    ),
]
Runs = Annotated[int, typer.Option(help="Independent runs of each bandit.")]
Seed = Annotated[int, typer.Option(help="Run i of every bandit has the same world, from (seed, i).")]
