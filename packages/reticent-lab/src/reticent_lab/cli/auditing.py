"""`reticent audit`: attacks on this package's own code."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.options import Json
from reticent.cli.output import progress, tell, write_json
from reticent_lab.cli.places import check_figure


def audit_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Attacks, e.g. tree or joint-glm; or FILE.py:CLASS, an algorithm or model. Default: all."),
    ] = None,
    runs: Annotated[
        int, typer.Option(help="Runs of each of the two worlds; slow attacks take a share of them.")
    ] = 30_000,
    seed: Annotated[int, typer.Option(help="Of the attacks' random numbers.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="The two distributions of each score: .png, .svg or .pdf.")] = None,
    as_json: Json = False,
) -> None:
    """Try to break every claim, and find every planted bug. Exit code 0 only if claims hold and bugs are found. Of an
    algorithm or model of your own: its budget, its certificate, and what was proven against it."""
    from reticent_lab import audit
    from reticent_lab.audit import report

    check_figure(plot)
    own = [name for name in names or [] if ".py:" in name]
    if own:
        _audit_own(own, runs=runs, seed=seed)
        return
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


def _audit_own(names: list[str], *, runs: int, seed: int) -> None:
    from reticent_lab.audit.own import audited

    for name in names:
        path, _, kind = name.rpartition(":")
        with progress(f"attacking {kind}") as bar:
            found = audited(Path(path), kind, runs=runs, seed=seed, progress=bar)
        sys.stdout.write(f"{found.text}\n")
        if not found.holds:
            raise typer.Exit(1)
