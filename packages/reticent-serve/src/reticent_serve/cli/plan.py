"""`reticent plan`: its options. What it needs is in `planning`, loaded when it runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.cli.options import Json, flag


def plan_command(
    dim: Annotated[int | None, typer.Option(help="Numbers of a vector, not fields; it follows from a schema.")] = None,
    arms: Annotated[int | None, typer.Option(help="Arms per round; they may follow from a schema.")] = None,
    schema: Annotated[
        Path | None,
        typer.Option(help="JSON or TOML: a schema, or a configuration of `reticent serve` with its settings."),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="What a person is promised, 1 by default; the table has others beside it.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="What an event may have beyond e^epsilon times its probability; 1e-6 by default."),
    ] = None,
    rounds_per_person: Annotated[
        int | None, typer.Option(help="Rounds of a person that are learnt from, and protected together; 1 by default.")
    ] = None,
    radius: Annotated[
        float | None, typer.Option(help="Of vectors: norm of the true parameter, how much tastes differ; 3 by default.")
    ] = None,
    per_day: Annotated[float | None, typer.Option(help="Requests a day that are learnt from.")] = None,
    base_rate: Annotated[
        float | None,
        typer.Option(help="With --schema: mean reward of random actions, as you will declare it, such as .01."),
    ] = None,
    window: Annotated[str | None, typer.Option(help='Seconds, or "1 day", after which a choice counts.')] = None,
    holdout: Annotated[
        float | None,
        typer.Option(help="How long a trial takes: the share of people who are the holdout's, such as .1."),
    ] = None,
    effect: Annotated[
        float | None, typer.Option(help="With --holdout: what the bandit brings more, such as .05 for 5 points.")
    ] = None,
    quick: Annotated[bool, flag("--quick", help="Two worlds and 10,000 people, in a few seconds.")] = False,
    as_json: Json = False,
) -> None:
    """How many people it takes until it is useful. Shows the share of the attainable reward after so many people, and
    what to do about it. It is simulated, for people with fields (--schema) or for vectors (--dim, --arms). With
    --holdout: how many people until a holdout shows an effect."""
    from reticent_serve.cli import asked

    options: dict[str, Any] = {
        "dim": dim,
        "arms": arms,
        "window": window,
        "epsilon": epsilon,
        "delta": delta,
        "rounds_per_person": rounds_per_person,
        "radius": radius,
        "per_day": per_day,
        "base_rate": base_rate,
    }
    if holdout is not None or effect is not None:
        from reticent_serve.cli import planning_holdout

        own = ("epsilon", "delta", "per_day", "base_rate")
        others = {name.replace("_", "-"): value for name, value in options.items() if name not in own}
        others |= {"schema": schema, "quick": quick}
        question = planning_holdout.asked(holdout, effect, others=others, **{name: options[name] for name in own})
        planning_holdout.show(question, as_json=as_json)
    else:
        from reticent_serve.cli import planning

        found, notes = asked.of_vectors(**options) if schema is None else asked.of_schema(schema, **options)
        planning.show(found, notes, quick=quick, as_json=as_json)
