"""`reticent arena`: every private bandit in the same worlds, and strangers' submissions."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli.output import tell

if TYPE_CHECKING:
    from reticent_lab.arena.entries import Player
    from reticent_lab.arena.table import Played

GROUPS = ("small", "random", "page", "real")


def arena_command(
    names: Annotated[list[str] | None, typer.Argument(help="Which entries, by name. Default: all.")] = None,
    submit: Annotated[
        Path | None, typer.Option(help="A TOML file of submissions, one line each (docs/arena.md): these alone play.")
    ] = None,
    worlds: Annotated[list[str], typer.Option(help="small, random, page, real, or names of worlds.")] = list(GROUPS),  # noqa: B006
    runs: Annotated[int | None, typer.Option(help="Runs of each row, instead of the benchmark's own.")] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after so many: the same command goes on where this one stopped.")
    ] = None,
    results: Annotated[Path, typer.Option(help="The rows, one a line, kept and taken up again.")] = Path("arena.jsonl"),
    out: Annotated[Path, typer.Option(help="Where single runs are kept.")] = Path("out/arena"),
    page: Annotated[
        Path | None, typer.Option(help="Write tables into this page and pictures into images/ beside it; play nothing.")
    ] = None,
) -> None:
    """Play one benchmark of all private bandits. Worlds and seeds are frozen, each bandit is at the epsilon that its
    noise has. A row says the regret (mean, 95th percentile, runs), the certificate, what an audit found, and the
    cost."""
    from reticent_lab.arena import entries as players
    from reticent_lab.arena import page as pages
    from reticent_lab.arena import submission, table
    from reticent_lab.arena.worlds import VERSION, arenas

    if page is not None:
        pages.write(page, list(table.read(results).values()), page.parent / "images")
        tell(f"Written: {page}, and pictures in {page.parent / 'images'}.")
        return
    known = arenas()
    for given in worlds:
        if given not in GROUPS and given not in [arena.name for arena in known]:
            raise ValueError(f"Expected small, random, page, real or a world of the arena, got {given!r}.")
    chosen = [arena for arena in known if {arena.group, arena.name} & set(worlds)]
    listed = list(players.entries()) if submit is None else list(submission.submitted(submit))
    for name in names or []:
        if name not in {entry.name for entry in listed}:
            raise ValueError(f"Expected an entry of the arena, got {name!r}. There are: {_names(listed)}.")
    playing = [entry for entry in listed if not names or entry.name in names]
    limit = math.inf if minutes is None else minutes
    mine = {entry.name for entry in playing}
    rows = table.fill(results, playing, chosen, out=out, runs=runs, minutes=limit, tell=tell)
    for row in rows.values():
        if row.version == VERSION and row.name in mine and row.world in {arena.name for arena in chosen}:
            sys.stdout.write(_line(row) + "\n")


def _names(entries: list["Player"]) -> str:
    return ", ".join(dict.fromkeys(entry.name for entry in entries))


def _line(row: "Played") -> str:
    head = f"{row.name} · {row.trust} · ε={row.epsilon or '–'} · {row.world}: "
    if row.mean is None:
        return head + f"not played ({row.why})"
    true = "none" if row.true is None else f"{row.true:.3g}" + " (stated)" * row.stated
    audit = "" if row.audit is None else f", audit ≥ {row.audit:.2g}"
    return head + f"{row.mean:.1f} / {row.p95:.1f} in {row.runs} runs, true ε {true}{audit}, {row.us:.1f} μs"
