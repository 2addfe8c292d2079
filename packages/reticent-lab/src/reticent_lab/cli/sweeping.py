"""`reticent sweep`: simulations that are kept, drawn, and done on many machines."""

from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.cli.options import (
    Arms,
    Bandits,
    Delayed,
    Delta,
    Dim,
    Epsilon,
    Horizon,
    Json,
    Link,
    Radius,
    Runs,
    Seed,
    Worlds,
)
from reticent.cli.output import progress, show, tell
from reticent.cli.parse import parse_bandit, parse_environment, parse_epsilon
from reticent_lab.cli.options import Engine
from reticent_lab.cli.places import check_figure, check_folder


def sweep_command(
    bandits: Bandits,
    env: Worlds,
    link: Link = None,
    dim: Dim = None,
    arms: Arms = None,
    radius: Radius = None,
    horizon: Horizon = 10_000,
    delay: Delayed = None,
    epsilon: Epsilon = ["1"],  # noqa: B006
    delta: Delta = 1e-6,
    runs: Runs = 20,
    seed: Seed = 0,
    as_json: Json = False,
    plot: Annotated[Path | None, typer.Option(help="Regret curves: a .png, .svg or .pdf file.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Keep every run here, so that an interrupted command goes on; result.parquet has this command's rows."
        ),
    ] = None,
    engine: Engine = "local",
) -> None:
    """Simulate with a picture, kept runs and many machines."""
    check_figure(plot)
    check_folder(out)
    given = {"link": link, "dim": dim, "arms": arms, "radius": radius}
    worlds = [parse_environment(text, given) for text in env]
    if plot is not None and all(world.rounds is not None for world in worlds):
        raise ValueError("Expected an environment with regret to --plot, got logs only: nobody knows what they missed.")
    epsilons = [parse_epsilon(e) for e in epsilon]
    specs = [spec for text in bandits for spec in parse_bandit(text, epsilons, delta)]
    from reticent_lab.experiments import figure, rows
    from reticent_lab.experiments.sweeps import simulate

    how: dict[str, Any] = {"horizon": horizon, "runs": runs, "seed": seed, "out": out, "engine": engine, "delay": delay}
    with progress("simulating") as report:
        result = simulate(specs, worlds, progress=report, **how)
    if plot is not None:
        figure.regret_curves(result.groups(), plot)
        tell(f"Figure: {plot}")
    if out is not None:
        tell(f"Rows: {rows.write(result, out)}")
    show(result, as_json=as_json)
