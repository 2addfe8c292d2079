"""`reticent evaluate`: policies named on the command line, and the table of what they would have earned."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reticent.core import snapshot
from reticent.core.bandit import Bandit
from reticent.data import Array
from reticent.logs import contexts, read
from reticent_lab import evaluation, logs
from reticent_lab.logs import Rounds


def rows(log: Path, targets: Sequence[str]) -> list[dict[str, Any]]:
    """RAW. For each target each estimate, as JSON takes it; what the log's own policy earned comes first."""
    table = read(log)
    bandits = {name: _saved(Path(name)) for name in targets if not _is_rule(name)}
    schema = next((one.features for one in bandits.values() if one.features is not None), None)
    rounds = logs.rounds(table, features=schema)
    out: list[dict[str, Any]] = []
    for name in targets:
        if name in bandits:
            estimates = evaluation.evaluate(table, bandits[name])
        else:
            estimates = evaluation.evaluate(rounds, _rule(name, table, rounds))
        for estimate in estimates:
            row = {"target": name, **estimate._asdict()}
            if estimate.name == "log":
                row |= {"target": "the log's own", "name": "mean"}
            if row not in out:
                out.append(row)
    return out


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from reticent.experiments.table import to_text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("policy", overflow="fold")
    table.add_column("estimate")
    for name in ("reward", "± s.e.", "95 % interval", "effective rounds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        value, error = row["value"], row["error"]
        interval = f"{value - 1.96 * error:.4f} .. {value + 1.96 * error:.4f}"
        table.add_row(row["target"], row["name"], f"{value:.4f}", f"{error:.4f}", interval, f"{row['rounds']:,.0f}")
    return f"{evaluation.RAW}\n\n{to_text(table)}"


def _is_rule(name: str) -> bool:
    return name == "uniform" or name.startswith(("always:", "columns:"))


def _rule(name: str, table: Any, rounds: Rounds) -> Array:
    """A policy's chances, (n, K)."""
    n, count = len(rounds.action), len(rounds.names)
    kind, _, rest = name.partition(":")
    if kind == "uniform":
        return np.full((n, count), 1 / count)
    if kind == "always":
        called = [str(action) for action in rounds.names]
        if rest not in called:
            raise ValueError(f"Expected always:ACTION with an action of the log, got {name!r}.")
        return np.tile(np.eye(count)[called.index(rest)], (n, 1))
    chances: Array | None = contexts(table, rest)
    if chances is None:
        raise ValueError(f"Expected the columns {rest}0, {rest}1, ... in the log, got none.")
    return chances


def _saved(path: Path) -> Any:
    if not path.is_file():
        raise ValueError(f"Expected uniform, always:ACTION, columns:PREFIX or a saved bandit, got {str(path)!r}.")
    body, _ = snapshot.read(path, what="bandit", format=snapshot.FORMAT, version=snapshot.VERSION)
    if (name := body["bandit"]) != "Bandit":  # others do not state the chance of each arm
        raise ValueError(f"Expected a saved Bandit in {path.name}, got a {name}.")
    return Bandit.load(path)
