"""Papers' tables and figures, one folder each: what to run (`sweep`), how to draw it (`figure`), and what the paper
says in words, checked against what we see (`findings`, with its tolerances in expected.json)."""

from pathlib import Path

from tacit.experiments.runner import Progress
from tacit.reproductions.outcome import Outcome

NAMES = ("shariff-d1", "shariff-d2", "shariff-d3")


def run(name: str, *, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    """Run, or go on with, a reproduction; its figure and rows go to `out`."""
    if name == "shariff-d1":
        from tacit.reproductions.shariff_d1 import reproduce
    elif name == "shariff-d2":
        from tacit.reproductions.shariff_d2 import reproduce
    else:
        from tacit.reproductions.shariff_d3 import reproduce
    outcome = reproduce(quick=quick, runs=runs, out=out, progress=progress)
    outcome.write(out)
    return outcome
