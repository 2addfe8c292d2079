"""Papers' tables and figures, one folder each: what to run, how to draw it, and what the paper says in words, checked
against what we see (tolerances in expected.json)."""

from pathlib import Path

from tacit import registry
from tacit.experiments.runner import Progress
from tacit.reproductions.outcome import Outcome


def run(name: str, *, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    """Run, or go on with, a reproduction; its figure and rows go to `out`."""
    reproduce = registry.load(*registry.REPRODUCTIONS[name])
    outcome: Outcome = reproduce(quick=quick, runs=runs, out=out, progress=progress)
    outcome.write(out)
    return outcome
