"""The commands of this package: `reticent reproduce`, one paper's table or figure, or all of them, and `reticent
bounds`."""

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

import reticent_papers
from reticent.cli.options import Arms, Delta, Dim, Epsilon, Json, Link, Radius, flag
from reticent.cli.output import progress, tell, write_json
from reticent.cli.parse import check_name, parse_bandit, parse_environment, parse_epsilon, parse_number, split
from reticent.errors import Interrupted
from reticent_lab.cli.options import Engine
from reticent_lab.cli.places import check_figure, check_folder

ALL = "all"


def reproduce_command(
    name: Annotated[str, typer.Argument(help=", ".join([*reticent_papers.REPRODUCTIONS, ALL]))],
    quick: Annotated[bool, flag("--quick", help="A small version, in a minute or two.")] = False,
    runs: Annotated[int | None, typer.Option(help="Runs of each bandit, instead of the reproduction's own.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where runs, tables and figures go. Default: out/NAME; of all of them, out.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after so many, with all finished runs kept: the same command goes on.")
    ] = None,
    engine: Engine = "local",
    as_json: Json = False,
) -> None:
    """Redo a paper's table or figure, beside the printed one. With a check of what the paper says in words; or all of
    them, one after the other. Runs are kept: the same command goes on where it stopped, and of `all`, what this code
    has finished is not done again."""
    known = list(reticent_papers.REPRODUCTIONS)
    check_name("a reproduction", name, [*known, ALL])
    from reticent_papers import outcome as reproductions

    names = known if name == ALL else [name]
    folders = {each: _folder(each, name, quick, out) for each in names}
    for folder in folders.values():
        check_folder(folder)
    documents: dict[str, Any] = {}
    summary = []
    stop = math.inf if minutes is None else time.monotonic() + 60 * minutes
    for each, folder in folders.items():
        found = reproductions.finished(each, quick=quick, runs=runs, out=folder) if name == ALL else None
        if found is not None and not as_json:
            summary.append(f"{each:<18} {'as before':<20} {folder}")
            continue
        with progress(each) as report:
            timed = _until(stop, report, folder)
            outcome = reproductions.run(each, quick=quick, runs=runs, out=folder, progress=timed, engine=engine)
        documents[each] = outcome.json()
        summary.append(f"{each:<18} {outcome.summary():<20} {folder}")
        if not as_json:
            sys.stdout.write(outcome.text() + "\n\n" * (name == ALL) + "\n")
        tell(f"In {folder}: {', '.join(sorted(path.name for path in folder.iterdir() if path.is_file()))}")
    if as_json:
        write_json(documents if name == ALL else documents[name])
    elif name == ALL:
        sys.stdout.write("\n".join(["What is expected, and seen:", *summary]) + "\n")


def bounds_command(
    bandits: Annotated[list[str], typer.Argument(help="BANDIT[:key=value,...], as of simulate.")],
    env: Annotated[str, typer.Option(help="ENV[:key=value,...], as of simulate.")],
    bound: Annotated[
        list[str], typer.Option(help="NAME[:constant=...,eigenvalue=...], at each epsilon (docs/papers/bounds.md).")
    ],
    plot: Annotated[Path, typer.Option(help="Regret curves and bounds: a .png, .svg or .pdf file.")],
    link: Link = None,
    dim: Dim = None,
    arms: Arms = None,
    radius: Radius = None,
    horizon: Annotated[int, typer.Option(help="Rounds.")] = 10_000,
    epsilon: Epsilon = ["1"],  # noqa: B006
    delta: Delta = 1e-6,
    runs: Annotated[int, typer.Option(help="Independent runs of each bandit.")] = 20,
    seed: Annotated[int, typer.Option(help="Run i of every bandit has the same world, from (seed, i).")] = 0,
) -> None:
    """Draw the papers' bounds beside simulated regret."""
    check_figure(plot)
    world = parse_environment(env, {"link": link, "dim": dim, "arms": arms, "radius": radius})
    if world.rounds is not None:
        raise ValueError("Expected an environment with regret, got a log: nobody knows what it missed.")
    epsilons = [parse_epsilon(e) for e in epsilon]
    specs = [spec for text in bandits for spec in parse_bandit(text, epsilons, delta)]
    from reticent.experiments.runner import simulate
    from reticent.model.links import named
    from reticent.privacy.budget import Budget
    from reticent_lab.experiments.figure import regret_curves
    from reticent_papers.bounds.drawn import BOUNDS, Problem, line

    lines = []
    for text in bound:
        name, options = split(text)
        check_name("a bound", name, BOUNDS)
        for key in options:
            check_name(f"an option of the bound {name}", key, ("constant", "eigenvalue"))
        numbers: dict[str, Any] = {key: parse_number(key, value) for key, value in options.items()}
        for e in epsilons:
            sizes = Problem(named(world.link), world.dim, world.arms, world.radius, Budget(e, delta))
            lines.append(line(name, sizes._replace(**numbers), horizon))
    with progress("simulating") as report:
        result = simulate(specs, world, horizon=horizon, runs=runs, seed=seed, progress=report)
    regret_curves(result.groups(), plot, bounds={world.name.replace("_", "-"): lines})
    tell(f"Figure: {plot}")
    sys.stdout.write(result.table() + "\n")


def _until(stop: float, report: Callable[[float], None], folder: Path) -> Callable[[float], None]:
    """The same, but for an end when the time is over."""

    def timed(share: float) -> None:
        report(share)
        if time.monotonic() > stop:
            raise Interrupted(
                f"The time is over: finished runs are kept in {folder}; the same command goes on from there."
            )

    return timed


def _folder(each: str, asked: str, quick: bool, out: Path | None) -> Path:
    if out is not None and asked != ALL:
        return out
    return (out or Path("out")) / (each + "-quick" * quick)
