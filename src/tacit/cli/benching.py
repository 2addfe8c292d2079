"""`tacit bench`: its options."""

import sys
from typing import Annotated

import typer

from tacit import registry
from tacit.cli.options import Json
from tacit.cli.output import progress, write_json
from tacit.cli.parse import check_name


def bench_command(
    what: Annotated[str, typer.Argument(help=", ".join(registry.BENCHES))] = "speed",
    as_json: Json = False,
) -> None:
    """Side by side with peers and limits: microseconds a round (speed), noise of each mechanism (noise),
    noise, bits and time of the shuffled sum (shuffle), noise and time of devices' reports (local), durable choices a
    second over HTTP (serve), reports a second at a shuffler (roles), releases of disjoint and hybrid arms (blocks),
    cost in the number of dimensions (dimension)."""
    check_name("a bench", what, registry.BENCHES)
    from tacit import bench

    with progress(f"bench {what}") as report:
        rows, text = bench.run(what, report)
    if as_json:
        write_json({"rows": rows})
    else:
        sys.stdout.write(text + "\n")
