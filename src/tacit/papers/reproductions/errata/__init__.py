"""What the papers print and what a computation gives: each erratum of docs/errata.md, with its number."""

from pathlib import Path

from tacit.experiments.outcome import Finding, Outcome
from tacit.experiments.result import Result
from tacit.experiments.runner import Progress
from tacit.papers.reproductions.errata import joint, lower, others, shuffled
from tacit.papers.reproductions.errata.erratum import Erratum


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    """`runs`: of the two attacks on Algorithm 2; everything else is computed."""
    found = every(runs or (100 if quick else 2000))
    if progress is not None:
        progress(1.0)
    findings = [
        Finding(f"{e.where}: {e.said}", f"printed {e.printed}, computed {e.computed}: {e.at}", e.holds) for e in found
    ]
    rows = [("where", "printed", "computed"), *((e.where, e.printed, e.computed) for e in found)]
    table = "\n".join(f"{where:<52}{printed:>16}{computed:>18}" for where, printed, computed in rows)
    title = "Errata: what is printed, and what a computation gives ([confirmed]: what is printed does not hold)"
    return Outcome(title, Result([]), findings, table, errata=True)


def every(runs: int) -> list[Erratum]:
    return [*joint.errata(runs), *shuffled.errata(), *lower.errata(), *others.errata()]
