"""Chen, Li, Rakhlin & Simchi-Levi 2025 (arXiv:2502.13115), a paper without experiments: its first ones.

(i) L1 error against the number of rows, (ii) regret beside JointGLM and LocalIRLS, coverage of the intervals, and what
the paper's own would rule out, (iii) up to ten thousand dimensions."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from reticent.experiments.result import Result, SimulatedRun
from reticent.experiments.runner import Progress
from reticent.experiments.table import WIDTH, render, to_text
from reticent_lab.experiments import figure
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.reproductions.findings import claims, part
from reticent_papers.reproductions.reweighted import dimensions, errors, regret, widths

Rows = list[dict[str, Any]]
DOTS: dict[str, Any] = {"marker": "o", "markersize": 4, "clip_on": False}


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    expected = claims(__package__)
    found = errors.measure_all(quick, runs, out, part(progress, 0.0, 0.4))
    result = regret.play(quick, runs, out, part(progress, 0.4, 0.75))
    covered = regret.coverage(quick, part(progress, 0.75, 0.85))
    wide = dimensions.regression(quick, runs or (3 if quick else 8), part(progress, 0.85, 0.93))
    played = dimensions.regret(1_000 if quick else 10_000, runs or (1 if quick else 2), part(progress, 0.93, 1.0))
    _draw(found, wide, out / "figure.png")
    _draw_regret(result, out / "regret.png")
    epochs = widths.measure(quick)
    findings = _findings(found, result, wide, expected, quick) + widths.findings(epochs)
    tables = [_errors(found), _slopes(found), _wide(wide, played), _covered(covered), widths.table(epochs)]
    table = "\n".join([*tables, render(result.rows)])
    extra = {"errors": found, "coverage": covered, "dimensions": wide, "dimension-free regret": played}
    extra |= {"widths": epochs}
    title = "Private reweighted regression and dimension-free bandits: L1 errors, regret, dimensions"
    return Outcome(title, result, findings, table, extra)


def _findings(found: Rows, result: Result, wide: Rows, expected: dict[str, Any], quick: bool) -> list[Finding]:
    out = []
    names = list(expected)
    large = 100_000 if quick else 1_000_000

    def ratio(name: str, limit: float, **cell: Any) -> None:
        ours, best = errors.find(found, "reweighted", **cell), errors.find(found, "best", **cell)
        radial, free = errors.find(found, "best radial", **cell), errors.find(found, "no noise", **cell)
        nothing = errors.find(found, "constant", **cell)
        if ours and best and nothing and ours["runs"] > 3:  # fewer runs cannot tell a target from a miss
            value = ours["error"] / best["error"]
            text = f"{ours['error']:.5f} / {best['error']:.5f} ({best['estimator']}) = {value:.2f}, {ours['runs']} runs"
            if radial:
                text += f"; / {radial['error']:.5f} ({radial['estimator']}) = {ours['error'] / radial['error']:.2f}"
            if free:
                text += f"; without noise {free['error']:.5f} ({free['error'] / best['error']:.2f})"
            text += f"; the best constant {nothing['error']:.5f}"
            out.append(Finding(f"{name}: at most {limit:g}", text, value <= limit and ours["error"] < nothing["error"]))

    for epsilon, limit in expected[names[0]].items():
        cell = {"cloud": "ill", "link": "identity", "model": "joint", "epsilon": float(epsilon)}
        ratio(f"linear, ill, N = 1e5, ε = {epsilon}: reweighted / best ridge", limit, rows=100_000, **cell)
    for radius in (3.0, 1.0):
        for epsilon, limit in expected[names[1]].items():
            cell = {"cloud": "ill", "link": "logistic", "radius": radius, "model": "joint", "epsilon": float(epsilon)}
            name = f"logistic, ill, S = {radius:g}, N = {large:.0e}, ε = {epsilon}: reweighted / best Newton"
            ratio(name, limit, rows=large, **cell)
    for link in ("identity", "logistic"):
        for epsilon in (1.0, 0.1):
            cell = {"cloud": "well", "link": link, "model": "joint", "epsilon": epsilon, "rows": 100_000}
            ratio(f"well-conditioned, {link}, N = 1e5, ε = {epsilon:g}: reweighted / best", expected[names[2]], **cell)
    local = {"cloud": "ill", "link": "identity", "model": "local", "epsilon": 4.0}
    ratio(f"local, ill, ε = 4, N = {large:.0e}: reweighted / best ridge", expected[names[3]], rows=large, **local)
    for cloud in ("well", "ill"):
        cell = {"cloud": cloud, "link": "identity", "model": "joint", "epsilon": 1.0, "rows": 100_000}
        row = errors.find(found, "normalisation of reweighted", **cell)
        if row:
            reached = f"[{row['low']:.2f}, {row['high']:.2f}], λ ≤ {row['ridge']:.4f}"
            text = f"{row['good']:.0%} of {row['runs']} runs: {reached}"
            name = f"normalisation in [1/2, 2] with λ ≤ 0.1, {cloud}, N = 1e5, ε = 1: all runs"
            out.append(Finding(name, text, row["good"] == 1.0))
    flat = [row["error"] for row in _of(wide, "improper sgd, joint")]
    spread = max(flat) / min(flat)
    text = ", ".join(f"{value:.4f}" for value in flat) + f": {spread:.2f}"
    share = max(value / row["error"] for value, row in zip(flat, _of(wide, "zero"), strict=True))
    text += f"; at most {share:.2f} of the error of 0"
    name = "dimension-free error, d = 10 .. 10⁴, largest / smallest: at most 2, and below the error of 0"
    out.append(Finding(name, text, spread <= 2 and share < 1))
    ridge = [row["error"] for row in wide if row["dim"] == 1000 and row["estimator"].startswith("ridge")]
    if ridge:
        text = f"{flat[2]:.4f} against {min(ridge):.4f}"
        out.append(Finding("d = 1000: improper SGD below the best ridge", text, flat[2] < min(ridge)))
    for row in result.rows:
        plainly = row["bandit"] == "joint-reweighted" and "width" not in row["options"]
        if plainly and row["epsilon"] == 1.0 and not quick:
            plain = [r for r in result.rows if r["bandit"] == "uniform" and r["setting"] == row["setting"]]
            uniform = next(r for r in plain if r["env"] == row["env"])
            share = row["regret_mean"] / uniform["regret_mean"]
            name = f"JointReweighted / uniform, {row['env']} {row['setting']['link']}, ε = 1: at most 0.2"
            out.append(Finding(name, f"{share:.3f}, {row['runs']} runs", share <= expected[names[5]]))
    return out


def _of(wide: Rows, estimator: str) -> Rows:
    """One row a dimension."""
    return [row for row in wide if row["estimator"].startswith(estimator)]


def _errors(found: Rows) -> str:
    """A table for each setting: together they would be wider than a terminal."""
    tables = ["L1 error in thousandths ± its standard error (coverage of 90 % intervals, in per cent)"]
    counts = sorted({row["rows"] for row in found})
    keys = ("cloud", "link", "radius", "model", "epsilon")
    names = [
        "reweighted",
        "reweighted, paper",
        "best",
        "best radial",
        "improper sgd",
        "output perturbation",
        "no noise",
    ]
    for cell in dict.fromkeys(tuple(row[k] for k in keys) for row in found):
        cloud, link, radius, model, epsilon = cell
        table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
        table.add_column("", no_wrap=True)
        for count in counts:
            table.add_column(f"N = {count:,}", justify="right", no_wrap=True)
        for name in names:
            cells = [_error(errors.find(found, name, rows=n, **dict(zip(keys, cell, strict=True)))) for n in counts]
            if any(cells):
                shown = {"best": "best ridge or newton", "best radial": "best radial ridge"}.get(name, name)
                table.add_row(shown, *cells)
        tables.append(f"{cloud}, {link}, S = {radius:g}, {model}, ε = {epsilon:g}\n{to_text(table)}")
    return "\n\n".join(tables) + "\n"


def _error(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    spread = f" ± {1000 * row['error_se']:.3g}" if row["error_se"] is not None else ""
    return f"{1000 * row['error']:.3g}{spread} ({100 * row['coverage']:.0f})"


def _slopes(found: Rows) -> str:
    counts = sorted({row["rows"] for row in found})
    starts = sorted({counts[1], counts[-2]})
    shown = f"{' and '.join(f'{n:.0e}' for n in starts)} to {counts[-1]:.0e}"
    lines = [f"log-log slopes of the error, N = {shown} (theory: -1/2 for reweighted once N is large):"]
    keys = ("cloud", "link", "radius", "model", "epsilon")
    for cell in dict.fromkeys(tuple(row[k] for k in keys) for row in found):
        setting = dict(zip(keys, cell, strict=True))
        ours, best = (
            ", ".join(f"{errors.slope(found, name, fewest=n, **setting):.2f}" for n in starts)
            for name in ("reweighted", "best")
        )
        lines.append(f"  {' '.join(map(str, cell)):<34} reweighted {ours}; best ridge or newton {best}")
    return "\n".join(lines) + "\n"


def _wide(wide: Rows, played: Rows) -> str:
    lines = [f"d = 10 .. 10⁴ at N = {dimensions.ROWS} (texts): L1 error"]
    for name in dict.fromkeys(row["estimator"] for row in wide):
        parts = [
            f"d={row['dim']}: {row['error']:.4f}" + (f" ± {row['error_se']:.4f}" if row["error_se"] is not None else "")
            for row in wide
            if row["estimator"] == name
        ]
        lines.append(fill(f"{name:<28} {', '.join(parts)}", WIDTH, initial_indent="  ", subsequent_indent=" " * 31))
    lines.append(f"regret of SquareCB / uniform, T = {played[0]['horizon']}, {played[0]['runs']} runs")
    for name in dict.fromkeys(row["bandit"] for row in played):
        parts = [f"d={row['dim']}: {row['share']:.3f}" for row in played if row["bandit"] == name]
        lines.append(f"  {name:<28} {', '.join(parts)}")
    return "\n".join(lines) + "\n"


def _covered(rows: Rows) -> str:
    lines = ["coverage of JointReweighted's intervals, ε = 1 (share of epochs and arms; the worst epoch of a run):"]
    for row in rows:
        text = f"{row['coverage']:.3f}, worst {row['worst']:.3f}, {row['runs']} runs of {row['horizon']}"
        lines.append(f"  {row['world']:<18} width {row['width']:g}: {text}")
    return "\n".join(lines) + "\n"


def _draw(found: Rows, wide: Rows, path: Path) -> None:
    canvas, axes = figure.subplots(2, 2, width=5.6, height=4.0)
    panels: list[tuple[str, dict[str, Any]]] = [
        ("linear, ill-conditioned, joint", {"cloud": "ill", "link": "identity", "model": "joint"}),
        (
            "logistic, ill-conditioned, joint, S = 3",
            {"cloud": "ill", "link": "logistic", "model": "joint", "radius": 3.0},
        ),
        ("linear, ill-conditioned, local", {"cloud": "ill", "link": "identity", "model": "local"}),
    ]
    counts = sorted({row["rows"] for row in found})
    for axis, (title, cell) in zip(axes.flat, panels, strict=False):
        for i, (name, label) in enumerate((("reweighted", "reweighted"), ("best", "best ridge or Newton"))):
            for epsilon in sorted({row["epsilon"] for row in found if row["model"] == cell["model"]}, reverse=True):
                pairs = [(n, errors.find(found, name, rows=n, epsilon=epsilon, **cell)) for n in counts]
                points = [(n, row["error"]) for n, row in pairs if row]
                style = figure.style(i) | {"linestyle": "-" if epsilon >= 1 else "--"}
                axis.plot(*zip(*points, strict=True), label=f"{label}, ε={epsilon:g}", **style, **DOTS)
        rows = [errors.find(found, "no noise", rows=n, **cell) for n in counts]
        axis.plot(counts, [row["error"] for row in rows if row], ":", color="black", label="no noise")
        axis.set(xscale="log", yscale="log", xlabel="rows N", ylabel="L1 error")
        axis.set_title(title, loc="left")
        figure.at_ends(axis)
    axis = axes[1, 1]
    for i, name in enumerate(dict.fromkeys(row["estimator"] for row in wide)):
        points = [(row["dim"], row["error"]) for row in wide if row["estimator"] == name]
        axis.plot(*zip(*points, strict=True), label=name, **figure.style(i), **DOTS)
    axis.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="L1 error", ylim=(0.02, 0.5))
    axis.set_yticks((0.03, 0.1, 0.3), ("0.03", "0.1", "0.3"))
    axis.minorticks_off()
    axis.set_title(f"texts, N = {dimensions.ROWS}", loc="left")
    figure.at_ends(axis)
    figure.save(canvas, path)


def _draw_regret(result: Result, path: Path) -> None:
    """Against time, at epsilon 1 and 4, with the default widths."""
    worlds: dict[str, list[list[SimulatedRun]]] = {}
    for group in result.groups():
        first = group[0]
        if "width" not in first.options and first.epsilon != 0.1:
            worlds.setdefault(f"{first.env}, {first.setting['link']}", []).append(group)
    canvas, axes = figure.subplots(1, len(worlds), width=4.2, height=3.8)
    for axis, (name, groups) in zip(axes[0], worlds.items(), strict=True):
        figure.draw_panel(axis, groups, log=True)
        axis.set_title(name, loc="left")
    figure.save(canvas, path)
