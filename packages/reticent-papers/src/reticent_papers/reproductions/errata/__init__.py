"""What the papers print and what a computation gives: each erratum of docs/papers/errata.md, with its number."""

from collections.abc import Sequence
from pathlib import Path

from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.reproductions.errata import joint, lower, others, shuffled
from reticent_papers.reproductions.errata.erratum import KINDS, Erratum, Found

EVERY = sorted([*joint.ROWS, *others.ROWS, *lower.ROWS, *shuffled.ROWS], key=lambda e: KINDS.index(e.kind))


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    """Seeds and numbers of runs are fixed: `quick` and `runs` change nothing."""
    found = checked()
    if progress is not None:
        progress(1.0)
    findings = [
        Finding(
            f"{e.kind}: {e.where}: {e.said}",
            f"printed {f.printed}, computed {f.computed}: {f.at}. True is: {e.true}",
            f.holds,
        )
        for e, f in found
    ]
    rows = [("where", "printed", "computed"), *((e.where, f.printed, f.computed) for e, f in found)]
    where, printed, computed = (max(map(len, column)) for column in zip(*rows, strict=True))
    table = "\n".join(f"{a:<{where}}  {b:>{printed}}  {c:>{computed}}" for a, b, c in rows)
    title = "Errata: what is printed, and what a computation gives ([confirmed]: what is printed does not hold)"
    return Outcome(title, Result([]), findings, table, errata=True)


def checked() -> list[tuple[Erratum, Found]]:
    return [(erratum, erratum.check()) for erratum in EVERY]


def page(found: Sequence[tuple[Erratum, Found]]) -> str:
    """The tables of docs/papers/errata.md."""
    lines = []
    for kind in KINDS:
        lines += [f"## {kind.capitalize()}", "", "| where | printed | true | numbers: printed, computed | here |"]
        lines += ["|---|---|---|---|---|"]
        for e, f in found:
            if e.kind == kind:
                cells = (e.where, e.said, e.true, f"{f.printed}; **{f.computed}**: {f.at}", e.here)
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)
