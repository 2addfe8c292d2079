"""What a reproduction found."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from tacit import __version__, registry
from tacit.experiments import kept, sweeps
from tacit.experiments.result import Result
from tacit.experiments.runner import Progress


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
            self.result.write(folder)
        (folder / "outcome.json").write_text(json.dumps(self.json(), indent=1))
        (folder / "outcome.txt").write_text(self.text() + "\n")


def claims(package: str) -> dict[str, Any]:
    """claims.json of a reproduction: what the paper prints, and how far off we call the same."""
    found: dict[str, Any] = json.loads(files(package).joinpath("claims.json").read_text())
    return found


def together(results: Sequence[Result]) -> Result:
    return Result([run for result in results for run in result.runs])


def part(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Progress of one part of the work."""
    return None if progress is None else (lambda share: progress(start + (end - start) * share))


def mean(result: Result, label: str, **setting: Any) -> tuple[float, float]:
    """Mean regret and its standard error (nan from a single run) of the row with that label and setting."""
    for row in result.rows:
        if row["label"] == label and all(row["setting"].get(k) == v for k, v in setting.items()):
            error = row["regret_se"]
            return row["regret_mean"], float("nan") if error is None else error
    raise KeyError(label)


def below(expected: str, ours: tuple[float, float], other: tuple[float, float]) -> Finding:
    """One mean regret below another by two standard errors of the difference, or at all where there is one run."""
    margin = 2 * math.hypot(ours[1], other[1])
    seen = ours[0] < other[0] - (0.0 if math.isnan(margin) else margin)
    return Finding(expected, f"{spread(ours)} against {spread(other)}", seen)


def alike(expected: str, ours: tuple[float, float], other: tuple[float, float], within: float) -> Finding:
    """One mean regret within that share of another."""
    ratio = ours[0] / other[0]
    text = f"{spread(ours)} against {spread(other)}: {ratio:.2f} times (alike: within {within:.0%})"
    return Finding(expected, text, abs(ratio - 1) <= within)


def spread(one: tuple[float, float]) -> str:
    return f"{one[0]:,.0f}" + ("" if math.isnan(one[1]) else f" ± {one[1]:,.0f}")


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
    reproduce = registry.load(*registry.table("REPRODUCTIONS")[name])
    with sweeps.using(engine):
        outcome: Outcome = reproduce(quick=quick, runs=runs, out=out, progress=progress)
    more = "".join([" --quick" * quick, f" --runs {runs}" if runs else ""])
    outcome.made = f"tacit reproduce {name}{more} (tacit {__version__}, code {kept.code()[:12]})"
    outcome.write(out)
    return outcome
