"""`tacit plan`: its options. What it needs is in `planning`, loaded when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Json
from tacit.cli.places import check_figure


def plan_command(
    dim: Annotated[int | None, typer.Option(help="Numbers of a vector, not fields; it follows from a schema.")] = None,
    arms: Annotated[int | None, typer.Option(help="Arms per round; they may follow from a schema.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="JSON or TOML: a schema, or a configuration of `tacit serve` with its settings.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="What a person is promised, 1 by default; the table has others beside it.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="How far an event may exceed e^epsilon; 1e-6 by default.")] = None,
    rounds_per_person: Annotated[
        int | None, typer.Option(help="Rounds of a person that are learnt from, and protected together; 1 by default.")
    ] = None,
    radius: Annotated[
        float | None, typer.Option(help="Norm of the true parameter: how much tastes differ; 3 by default.")
    ] = None,
    per_day: Annotated[float | None, typer.Option(help="Requests a day that are learnt from.")] = None,
    plot: Annotated[Path | None, typer.Option(help="The shares: a .png, .svg or .pdf file.")] = None,
    as_json: Json = False,
) -> None:
    """How many people until it is useful: the share of the attainable reward after 1,000 to 10,000,000 people, and what
    to do about it."""
    check_figure(plot)
    from tacit.cli import planning
    from tacit.cli.asked import asked

    question = asked(
        dim=dim,
        arms=arms,
        schema=schema,
        epsilon=epsilon,
        delta=delta,
        rounds_per_person=rounds_per_person,
        radius=radius,
        per_day=per_day,
    )
    planning.show(question, as_json=as_json, plot=plot)
