"""Findings that compare regrets.

Bandits that all choose the worst arm are alike, stable and in order, too. So a finding that compares regrets is seen
only if what it compares has learnt: each regret carries its share of uniform play's (`Regret`), `below` and `alike`
look at it, other findings are `anchored`, and `above_plain` holds private bandits above those without privacy."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any, NamedTuple

from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent_papers.outcome import Finding

LEARNT = 0.9  # of uniform play's regret: what has more is not said to have learnt
HALF = 0.5  # of it: where a direction that is taken at random and kept would have less than LEARNT


class Regret(NamedTuple):
    """Of a bandit in a world, over all runs."""

    mean: float
    error: float  # standard; nan from a single run
    share: float  # of what uniform play has in the same rounds


def claims(package: str) -> dict[str, Any]:
    """claims.json of a reproduction: what the paper prints, and how far off we call the same."""
    found: dict[str, Any] = json.loads(files(package).joinpath("claims.json").read_text())
    return found


def together(results: Sequence[Result]) -> Result:
    return Result([run for result in results for run in result.runs])


def part(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Progress of one part of the work."""
    return None if progress is None else (lambda share: progress(start + (end - start) * share))


def mean(result: Result, label: str, **setting: Any) -> Regret:
    """Regret of the row with that label and setting."""
    for row in result.rows:
        if row["label"] == label and all(row["setting"].get(k) == v for k, v in setting.items()):
            return regret(row)
    raise KeyError(label)


def regret(row: dict[str, Any]) -> Regret:
    error = row["regret_se"]
    share = row["regret_mean"] / row["uniform"]["regret_mean"]
    return Regret(row["regret_mean"], math.nan if error is None else error, share)


def anchored(finding: Finding, regrets: Iterable[Regret], limit: float = LEARNT) -> Finding:
    """The same finding, seen only if each of these regrets is below that share of uniform play's."""
    most = max(each.share for each in regrets)
    text = f"{finding.ours}; at most {most:.2f} of uniform play (learnt: below {limit:g})"
    return replace(finding, ours=text, seen=finding.seen and most < limit)


def below(expected: str, ours: Regret, other: Regret, limit: float = LEARNT) -> Finding:
    """One mean regret below another by two standard errors of the difference, or at all where there is one run."""
    seen = ours.mean < other.mean - _margin(ours, other)
    return anchored(Finding(expected, f"{spread(ours)} against {spread(other)}", seen), [ours], limit)


def alike(expected: str, ours: Regret, other: Regret, within: float, limit: float = LEARNT) -> Finding:
    """One mean regret within that share of another."""
    ratio = ours.mean / other.mean
    text = f"{spread(ours)} against {spread(other)}: {ratio:.2f} times (alike: within {within:.0%})"
    return anchored(Finding(expected, text, abs(ratio - 1) <= within), [ours, other], limit)


def above_plain(result: Result) -> Finding:
    """Whether each private bandit has at least the regret of the best one without privacy in the same world."""
    worlds: dict[str, list[dict[str, Any]]] = {}
    for row in result.rows:
        worlds.setdefault(json.dumps([row["env"], row["setting"], row["horizon"]]), []).append(row)
    count, less, bests = 0, [], []
    for rows in worlds.values():
        plain = [row for row in rows if row["epsilon"] is None and row["bandit"] != "uniform"]
        if not plain:
            continue
        best = min(plain, key=lambda row: float(row["regret_mean"]))
        bests.append(regret(best))
        private = [row for row in rows if row["epsilon"] is not None]
        count += len(private)
        for row in private:
            if regret(row).mean < regret(best).mean - _margin(regret(row), regret(best)):
                both = f"{row['regret_mean']:,.0f} to {best['regret_mean']:,.0f} of {best['label']}"
                less.append(f"{row['label']} on {row['env']} ({both})")
    text = f"{count - len(less)} of {count} rows; less: {', '.join(less[:3]) or 'none'}{' ...' * (len(less) > 3)}"
    name = "no private bandit has less regret than the best one without privacy (by two standard errors)"
    return anchored(Finding(name, text, not less), bests)


def _margin(one: Regret, other: Regret) -> float:
    """Two standard errors of the difference."""
    margin = 2 * math.hypot(one.error, other.error)
    return 0.0 if math.isnan(margin) else margin


def spread(one: Regret) -> str:
    return f"{one.mean:,.0f}" + ("" if math.isnan(one.error) else f" ± {one.error:,.0f}")
