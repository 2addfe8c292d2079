"""Papers' tables and figures, one folder each: what to run, how to draw it, and what the paper says in words, checked
against what we see (tolerances in expected.json)."""

from collections.abc import Callable
from pathlib import Path

from tacit.experiments.runner import Progress
from tacit.reproductions import (
    figure1,
    ldp_figure1,
    ldp_table1,
    local_suite,
    reweighted,
    shariff_d1,
    shariff_d2,
    shariff_d3,
    shuffle,
    suite,
    table2,
)
from tacit.reproductions.outcome import Outcome

REPRODUCTIONS: dict[str, Callable[..., Outcome]] = {
    "shariff-d1": shariff_d1.reproduce,
    "shariff-d2": shariff_d2.reproduce,
    "shariff-d3": shariff_d3.reproduce,
    "table2": table2.reproduce,
    "figure1-logistic": figure1.logistic,
    "figure1-probit": figure1.probit,
    "ldp-figure1": ldp_figure1.reproduce,
    "ldp-table1": ldp_table1.reproduce,
    "local-suite": local_suite.reproduce,
    "suite": suite.reproduce,
    "shuffle": shuffle.reproduce,
    "reweighted": reweighted.reproduce,
}
NAMES = tuple(REPRODUCTIONS)


def run(name: str, *, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    """Run, or go on with, a reproduction; its figure and rows go to `out`."""
    outcome = REPRODUCTIONS[name](quick=quick, runs=runs, out=out, progress=progress)
    outcome.write(out)
    return outcome
