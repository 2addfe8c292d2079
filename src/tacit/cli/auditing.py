"""`tacit audit`: attacks on this package's own code, and with --url one on a running server."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Json
from tacit.cli.output import progress, tell, write_json
from tacit.cli.places import check_figure

KEYS = {"app": "TACIT_APP_KEY", "operator": "TACIT_OPERATOR_KEY"}  # variables of the environment


def audit_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Attacks, e.g. tree or joint-glm. Default: all. With --url: the scratch bandit's name."),
    ] = None,
    runs: Annotated[
        int, typer.Option(help="Runs of each of the two worlds; slow attacks take a share of them.")
    ] = 30_000,
    seed: Annotated[int, typer.Option(help="Of the attacks' random numbers.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="The two distributions of each score: .png, .svg or .pdf.")] = None,
    as_json: Json = False,
    url: Annotated[
        str | None,
        typer.Option(help="Attack a scratch bandit of the server there, once, with made-up people (docs/attack.md)."),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="--url: what is served there, a TOML file.")] = None,
    choices: Annotated[int, typer.Option(help="--url: made-up choices at most.")] = 20_000,
) -> None:
    """Try to break every claim, and find every planted bug. Exit code 0 only if claims hold and bugs are found. With
    --url: try to break the claim of a running server."""
    if url is not None or config is not None:
        _server(url, config, names or [], choices, as_json=as_json)
        return
    from tacit import audit
    from tacit.audit import report

    check_figure(plot)
    attacks = audit.named(names or [])
    with progress("attacking") as bar:
        rows = audit.carry_out_all(attacks, runs=runs, seed=seed, progress=bar)
    if plot is not None:
        report.plot(rows, plot)
        tell(f"Figure: {plot}")
    if as_json:
        write_json({"rows": [row.json() for row in rows]})
    else:
        sys.stdout.write(report.text(rows) + "\n")
    if not all(row.as_expected for row in rows):
        raise typer.Exit(1)


def _server(url: str | None, config: Path | None, names: list[str], choices: int, *, as_json: bool) -> None:
    if url is None or config is None or len(names) != 1:
        raise ValueError("Expected --url, --config and the name of one scratch bandit, got some of them.")
    from numpy.random import default_rng

    from tacit import checks
    from tacit.audit import running
    from tacit.audit.remote import Remote
    from tacit.service import config as configs

    checks.positive_int(choices=choices)
    bandits = configs.read(config).bandits
    checks.name("a bandit of this configuration", names[0], bandits)
    keys = {role: os.environ.get(variable) for role, variable in KEYS.items()}
    ask, bandit = Remote(url, names[0], **keys), configs.build(bandits[names[0]], names[0])
    tell(f"Attacking {names[0]} with up to {choices} made-up choices: a second or more for each step.")
    found = asyncio.run(running.audit(ask, bandit, default_rng(), choices))
    if as_json:
        write_json(found.json())
    else:
        sys.stdout.write(f"{found}\n")
    if found.convicted:
        raise typer.Exit(1)
