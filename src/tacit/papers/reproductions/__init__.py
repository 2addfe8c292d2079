"""Papers' tables and figures, one folder each: what to run, how to draw it, and what the paper says in words, checked
against what we see. claims.json: what is printed, and how far off we call the same; expected.json: what the smallest
version finds, written by `make expected`."""

from pathlib import Path

from tacit import __version__, registry
from tacit.experiments import kept, sweeps
from tacit.experiments.sweeps import Progress
from tacit.papers.reproductions.outcome import Outcome


def run(
    name: str,
    *,
    quick: bool,
    runs: int | None,
    out: Path,
    progress: Progress | None = None,
    engine: str = "local",
) -> Outcome:
    """Run, or go on with, a reproduction; its figure and rows go to `out`."""
    reproduce = registry.load(*registry.REPRODUCTIONS[name])
    with sweeps.using(engine):
        outcome: Outcome = reproduce(quick=quick, runs=runs, out=out, progress=progress)
    more = "".join([" --quick" * quick, f" --runs {runs}" if runs else ""])
    outcome.made = f"tacit reproduce {name}{more} (tacit {__version__}, code {kept.code()[:12]})"
    outcome.write(out)
    return outcome
