"""Expected values of every reproduction on a small scale: `make expected` writes them, a test compares them.

They are those of fixed seeds and locked versions, so that whatever moves a result shows, meant or not. If it was meant,
write them anew and look at the difference."""

import contextlib
import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import reticent_papers
from reticent import environments
from reticent.experiments.runner import Progress
from reticent_papers import outcome as reproductions
from reticent_papers.reproductions.ablations import parts

HEAD = 6  # digits that are compared
ROUGH = ("as compared", 0.1)  # L-BFGS with a gradient that is none: other processors find other digits
CLOCK = {"us_per_round", "seconds"}  # what differs from run to run
FEW = {name: parts.Part(it.worlds[:2], it.specs, it.horizons and (100, 200)) for name, it in parts.PARTS.items()}
# what is smaller than in `--quick`: attributes of the reproduction's module, or of one beside it
SMALL: dict[str, dict[str, Any]] = {
    "shariff-figure1": {"QUICK": 20},
    "shariff-d1": {"QUICK": 2000},
    "shariff-d2": {"QUICK": 2000},
    "shariff-d3": {"QUICK": 2000},
    "table2": {"ROUNDS": 400},
    "figure1-logistic": {"ROUNDS": {"logistic": 400}},
    "figure1-probit": {"ROUNDS": {"probit": 400}},
    "ldp-figure1": {"QUICK": 300},
    "ldp-table1": {"QUICK": 500},
    "local-suite": {"QUICK": 100, "worlds": lambda: [environments.ball(dim=3, link="logistic")]},
    "shuffle": {"HORIZONS": {1000: 1}},
    "reweighted": {
        "errors.COUNTS": (500, 1_000, 2_000),
        "regret.QUICK": 1_000,
        "dimensions.DIMENSIONS": (10, 50, 100),
        "dimensions.ROWS": 500,
        "widths.ROWS": (5_000,),
    },
    "oracles": {"ROUNDS": 300, "worlds": lambda: [environments.ball(dim=3, radius=3.0, link="probit")]},
    "optimiser": {
        "USERS": {"joint": (500, 2_000, 0), "shuffle": (200, 500, 0)},  # the last is left out
        "DIMS": (2, 3),
        "EPSILON": 8.0,
        "EPSILONS": (4.0, 8.0),
    },
    "errata": {},
    "ablations": {"parts.QUICK": 200, "PARTS": FEW},
}
RUNS = dict.fromkeys(SMALL, 2) | {
    "reweighted": 1,
    "shuffle": 1,
    "ldp-figure1": 3,  # in the first run alone OnlineUCB is near the best arms by chance
    "ldp-table1": 10,  # more than there are dimensions
    "shariff-figure1": 20,
    "optimiser": 1,
}
SLOW = {"shuffle", "ablations", "oracles", "errata", "reweighted"}  # three seconds and more, or run by another test


def measure(name: str, out: Path, progress: Progress | None = None) -> dict[str, Any]:
    """What the small version of a reproduction finds."""
    home = reticent_papers.REPRODUCTIONS[name][0]
    with contextlib.ExitStack() as stack:
        for attribute, value in SMALL[name].items():
            module, _, last = f"{home}.{attribute}".rpartition(".")
            stack.enter_context(patch.object(importlib.import_module(module), last, value))
        outcome = reproductions.run(name, quick=name != "shuffle", runs=RUNS[name], out=out, progress=progress)
    document = outcome.json()
    rows = [[row["env"], row["horizon"], row["label"], rounded(row["regret_mean"])] for row in document["rows"]]
    extra = {key: rounded(value) for key, value in document.items() if key not in ("title", "made", "rows", "findings")}
    findings = [[finding.expected, bool(finding.seen)] for finding in outcome.findings if not finding.timed]
    return {"rows": rows, "findings": findings} | extra


def rounded(value: Any) -> Any:
    """Numbers of HEAD digits, wherever they are; without times."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items() if key not in CLOCK}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.{HEAD}g}") if isinstance(value, float) else value


def moved(found: list[Any], wanted: list[Any]) -> list[Any]:
    """Rows that are not as they were."""
    label, share = ROUGH
    pairs = zip(found, wanted, strict=True)
    return [
        new
        for new, old in pairs
        if new[:-1] != old[:-1] or abs(new[-1] - old[-1]) > (share * old[-1] if new[2].endswith(label) else 0.0)
    ]


def place(name: str) -> Path:
    """Beside the reproduction; one file may hold two of them."""
    module = importlib.import_module(reticent_papers.REPRODUCTIONS[name][0])
    return Path(str(module.__file__)).parent / "expected.json"


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place(name).read_text())
    return found[name]


def write(name: str, values: dict[str, Any]) -> None:
    path = place(name)
    document = json.loads(path.read_text()) if path.exists() else {}
    document[name] = values
    path.write_text(dumped(document))


def dumped(document: dict[str, Any]) -> str:
    """JSON with one entry of a list a line, so that a difference can be read."""
    lines = ["{"]
    for name, values in document.items():
        lines.append(f" {json.dumps(name)}: {{")
        for key, value in values.items():
            if isinstance(value, list) and value:
                entries = ",\n".join(f"   {json.dumps(each, ensure_ascii=False)}" for each in value)
                lines.append(f"  {json.dumps(key)}: [\n{entries}\n  ],")
            else:
                lines.append(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},")
        lines[-1] = lines[-1].removesuffix(",")
        lines.append(" },")
    lines[-1] = lines[-1].removesuffix(",")
    return "\n".join([*lines, "}", ""])


def main(names: list[str]) -> None:
    for name in names or SMALL:
        with tempfile.TemporaryDirectory() as folder:
            values = measure(name, Path(folder))
        before = read(name) if place(name).exists() and name in json.loads(place(name).read_text()) else None
        write(name, values)
        sys.stdout.write(f"{name}: {'as before' if before == json.loads(json.dumps(values)) else 'WRITTEN ANEW'}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
