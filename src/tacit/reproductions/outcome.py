"""What a reproduction found."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.experiments.result import Result
from tacit.experiments.runner import Progress


@dataclass(frozen=True)
class Finding:
    """What the paper says (or what we aim at), what we see, and whether it is the same."""

    expected: str
    ours: str
    seen: bool


@dataclass
class Outcome:
    title: str
    result: Result
    findings: list[Finding]
    table: str
    extra: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        lines = [self.title, "", self.table, "", "What is expected, and what we see:"]
        for finding in self.findings:
            lines += [
                f"  [{'seen' if finding.seen else 'NOT SEEN'}] {finding.expected}",
                f"      {finding.ours}",
            ]
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        findings = [{"expected": f.expected, "ours": f.ours, "seen": f.seen} for f in self.findings]
        return {"title": self.title, "rows": self.result.rows, "findings": findings} | self.extra

    def write(self, folder: Path) -> None:
        self.result.write(folder)
        (folder / "outcome.json").write_text(json.dumps(self.json(), indent=1))
        (folder / "outcome.txt").write_text(self.text() + "\n")


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
