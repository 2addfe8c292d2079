"""`reticent bench`: its options. The benches are in `tools/bench` of a checkout, and in no wheel."""

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.cli.options import Json, flag
from reticent.cli.output import progress, write_json
from reticent.cli.parse import check_name, parse_bandit, parse_epsilon
from reticent_lab.cli.places import check_folder

BENCHES = ("speed", "noise", "shuffle", "local", "serve", "roles", "blocks", "dimension", "worlds")


def bench_command(
    what: Annotated[str, typer.Argument(help=", ".join(BENCHES))] = "speed",
    as_json: Json = False,
    bandit: Annotated[
        list[str] | None,
        typer.Option(help="worlds: BANDIT[:key=value,...]. Default: joint-glm and joint-glm:link=identity."),
    ] = None,
    numbers: Annotated[
        str | None, typer.Option(help="worlds: tuning, validation (the default) or reporting: look there once.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="worlds: privacy budget, 1 by default; delta is 1e-6.")] = None,
    runs: Annotated[int | None, typer.Option(help="worlds: runs of each bandit in each world.")] = None,
    quick: Annotated[bool, flag("--quick", help="worlds: ten of them, and few rounds.")] = False,
    postgres: Annotated[
        bool, flag("--postgres", help="serve: on a PostgreSQL of the development tools, instead of SQLite.")
    ] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="serve --postgres: so many, 1 by default.")] = None,
    network_delay: Annotated[
        float | None, typer.Option(min=0.0, help="serve --postgres: milliseconds that a trip to it takes longer.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="worlds: keep every run here, so that an interrupted command goes on.")
    ] = None,
) -> None:
    """Compare with peers and with limits, side by side. Microseconds a round (speed), noise of each mechanism (noise),
    noise, bits and time of the shuffled sum (shuffle), noise and time of devices' reports (local), database choices a
    second over HTTP (serve), reports a second at a shuffler (roles), releases of disjoint arms (blocks),
    cost in the number of dimensions (dimension), regret in random worlds as users have them (worlds)."""
    check_name("a bench", what, BENCHES)
    given: dict[str, Any] = {"numbers": numbers, "runs": runs, "quick": quick or None, "out": out}
    options = {key: value for key, value in given.items() if value is not None}
    served = {
        key: value for key, value in (("workers", workers), ("network_delay", network_delay)) if value is not None
    }
    if (postgres and what != "serve") or (served and not postgres):
        raise ValueError("Expected --postgres with bench serve, and --workers and --network-delay with it, got others.")
    if what != "worlds" and (options or bandit or epsilon):
        raise ValueError(f"Expected no other option with bench {what}, got an option of bench worlds.")
    if what == "worlds":
        options |= _of_worlds(bandit, epsilon, out)
    if postgres:
        options |= {"postgres": True} | served
    bench = _benches()
    with progress(f"bench {what}") as report:
        rows, text = bench.run(what, report, **options)
    if as_json:
        write_json({"rows": rows} | bench.beside(what, rows))
    else:
        sys.stdout.write(text + "\n")


def _of_worlds(bandit: list[str] | None, epsilon: str | None, out: Path | None) -> dict[str, Any]:
    from reticent.privacy.budget import Budget

    if out is not None:
        check_folder(out)
    budget = Budget(parse_epsilon(epsilon or "1"), 1e-6)
    tried = [spec for text in bandit or [] for spec in parse_bandit(text, [budget.epsilon], budget.delta)]
    return {"budget": budget} | ({"bandits": tried} if tried else {})


def _benches() -> Any:
    """The package tools.bench of the checkout that this is part of."""
    checkout = Path(__file__).parents[5]
    if not (checkout / "tools" / "bench").is_dir():
        raise ValueError(
            "Expected a checkout of reticent's sources, with its folder tools/bench, got an installed package."
        )
    sys.path.insert(0, str(checkout))
    return importlib.import_module("tools.bench")
