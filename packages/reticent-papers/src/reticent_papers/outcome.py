"""What a reproduction found, and how one is run."""

import importlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reticent_papers
from reticent import __version__, registry
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent_lab.experiments import disk_cache, rows, sweeps


@dataclass(frozen=True)
class Finding:
    """What the paper says (or what we aim at), what we see, and whether it is the same. timed: by the clock, so that it
    may come out differently next time."""

    expected: str
    ours: str
    seen: bool
    timed: bool = False


@dataclass
class Outcome:
    title: str
    result: Result
    findings: list[Finding]
    table: str
    extra: dict[str, Any] = field(default_factory=dict)
    made: str = ""  # the command, and the code that it ran
    errata: bool = False  # whether a finding is that what the paper says is not so

    def text(self) -> str:
        head = "What is printed, and what is computed:" if self.errata else "What is expected, and what we see:"
        lines = [self.title, "", self.table, "", head]
        for finding in self.findings:
            lines += [f"  [{self.mark(finding)}] {finding.expected}", f"      {finding.ours}"]
        return "\n".join([*lines, "", f"Made by {self.made}"] if self.made else lines)

    def mark(self, finding: Finding) -> str:
        if self.errata:
            return "NOT CONFIRMED" if finding.seen else "confirmed"
        return "seen" if finding.seen else "NOT SEEN"

    def summary(self) -> str:
        """How many findings are as they should be."""
        wanted = "confirmed" if self.errata else "seen"
        found = sum(self.mark(finding) == wanted for finding in self.findings)
        return f"{found:>3} of {len(self.findings):>3} {wanted}"

    def json(self) -> dict[str, Any]:
        findings = [
            {"expected": f.expected, "ours": f.ours, "seen": bool(f.seen), "mark": self.mark(f)} for f in self.findings
        ]
        return {"title": self.title, "made": self.made, "rows": self.result.rows, "findings": findings} | self.extra

    def write(self, folder: Path) -> None:
        if self.result.runs:
            rows.write(self.result, folder)
        (folder / "outcome.json").write_text(json.dumps(self.json(), indent=1))
        (folder / "outcome.txt").write_text(self.text() + "\n")


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
    reproduce = registry.load(*reticent_papers.REPRODUCTIONS[name])
    with sweeps.using(engine):
        outcome: Outcome = reproduce(quick=quick, runs=runs, out=out, progress=progress)
    outcome.made = made(name, quick=quick, runs=runs)
    outcome.write(out)
    return outcome


def made(name: str, *, quick: bool, runs: int | None) -> str:
    """How that is made now."""
    more = "".join([" --quick" * quick, f" --runs {runs}" if runs else ""])
    return f"reticent reproduce {name}{more} (reticent {__version__}, code {code(name)})"


def code(name: str) -> str:
    """A digest of what the reproduction imports, itself included: of other code, what it found may be older."""
    return disk_cache.code(importlib.import_module(reticent_papers.REPRODUCTIONS[name][0]), told=True)[:12]


def finished(name: str, *, quick: bool, runs: int | None, out: Path) -> str | None:
    """The text of what was found there before, if it was by this command and this code."""
    path = out / "outcome.txt"
    text = path.read_text() if path.exists() else ""
    return text if text.endswith(f"\nMade by {made(name, quick=quick, runs=runs)}\n") else None
