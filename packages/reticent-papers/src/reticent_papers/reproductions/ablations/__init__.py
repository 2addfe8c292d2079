"""What the main paper's experiments leave out: experiments for the shuffle model, ablations, running time, sensitivity
to kappa, the cost of privacy as the horizon grows, and contexts without diversity."""

from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent.experiments.table import number, to_text
from reticent.model.links import named
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.reproductions.ablations.parts import EPSILONS, PARTS
from reticent_papers.reproductions.ablations.picture import draw
from reticent_papers.reproductions.findings import above_plain, anchored, below, mean, part, regret, spread, together

Rows = list[dict[str, Any]]
HEADINGS = {
    "kappa": "Sensitivity to κ: regret, d = 3, logistic, |θ*| = S",
    "shuffle": "Experiments for shuffle privacy: regret, d = 5, logistic, S = 3 (more: `reticent reproduce shuffle`)",
    "ablation": "Ablations at ε = 4: regret, d = 3, probit, S = 3",
    "dimension": "Running time: µs a round, d = 3 to 20",
    "horizon": "The cost of privacy as the horizon grows: regret, d = 5, logistic, S = 3",
    "contexts": "Contexts without spectral assumptions: regret as a share of uniform play's",
}


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    results = {}
    for i, (name, each) in enumerate(PARTS.items()):
        report = part(progress, i / len(PARTS), (i + 1) / len(PARTS))
        results[name] = each.play(quick, runs, out, report)
    draw(results, out / "figure.png")
    tables = [f"{HEADINGS[name]}\n{_table(name, result)}" for name, result in results.items()]
    findings = [
        *_kappa(results["kappa"]),
        *_shuffle(results["shuffle"]),
        *_ablation(results["ablation"]),
        *_time(results["dimension"], results["horizon"]),
        *_horizon(results["horizon"]),
        *_contexts(results["contexts"]),
    ]
    title = "What the main paper's experiments leave out"
    result = together(list(results.values()))
    return Outcome(title, result, [*findings, above_plain(result)], "\n\n".join(tables))


def columns(name: str, row: dict[str, Any]) -> str:
    """The heading under which a row of that part stands."""
    setting = row["setting"]
    if name == "kappa":
        slope = named("logistic").slope(setting["radius"])
        return f"S={setting['radius']:g}\nκ={1 / float(slope):.0f}"
    if name == "dimension":
        return f"d={setting['dim']}"
    if name == "horizon":
        return f"T={row['horizon']:,}"
    return row["env"].replace("-", "-\n") if name == "contexts" else "regret"


def _table(name: str, result: Result) -> str:
    rows = result.rows
    heads = list(dict.fromkeys(columns(name, row) for row in rows))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("bandit", no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for label in dict.fromkeys(row["label"] for row in rows):
        cells = {columns(name, row): row for row in rows if row["label"] == label}
        table.add_row(label, *(_cell(name, cells.get(head)) for head in heads))
    return to_text(table)


def _cell(name: str, row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    if name == "dimension":
        return f"{row['us_per_round']:.1f}"
    if name == "contexts":
        return f"{row['regret_mean'] / row['uniform']['regret_mean']:.2f}"
    error = f" ± {number(row['regret_se'])}" if name in ("shuffle", "ablation") and row["regret_se"] is not None else ""
    return number(row["regret_mean"]) + error


def _kappa(result: Result) -> list[Finding]:
    """The regret of kappa-free algorithms does not grow with kappa, beyond what rewards' spread does."""
    out = []
    shares: dict[str, list[float]] = {}
    radii = {row["setting"]["radius"] for row in result.rows}
    for row in result.rows:
        shares.setdefault(row["label"], []).append(row["regret_mean"] / row["uniform"]["regret_mean"])
    for label in ("rs-glin-ucb", "joint-glm-rare ε=4", "joint-glm ε=1", "joint-glm ε=4", "shuffle-newton ε=4"):
        first, last = shares[label][0], shares[label][-1]
        text = f"{first:.3f} of uniform play's at S = {min(radii):g}, {last:.3f} at S = {max(radii):g}"
        found = Finding(f"{label}: its share of uniform play's regret does not grow with κ", text, last <= first)
        out.append(anchored(found, [regret(row) for row in result.rows if row["label"] == label]))
    return out


def _shuffle(result: Result) -> list[Finding]:
    uniform, plain = mean(result, "uniform"), mean(result, "b-glin-cb, not private")
    out = []
    for epsilon in (1.0, 4.0):
        ours, central = mean(result, f"shuffle-newton ε={epsilon:g}"), mean(result, f"joint-glm ε={epsilon:g}")
        published = mean(result, f"shuffle-glm ε={epsilon:g}")
        text = f"{spread(ours)} against half of {spread(uniform)}"
        seen = ours.mean + 2 * ours.error < uniform.mean / 2
        out.append(Finding(f"shuffle, ε = {epsilon:g}: below half of uniform play", text, seen))
        out.append(below(f"shuffle, ε = {epsilon:g}: shuffle-newton below shuffle-glm", ours, published))
        text = f"{ours.mean / central.mean:.2f} times joint-glm, {ours.mean / plain.mean:.2f} times plain b-glin-cb"
        name = f"shuffle, ε = {epsilon:g}: at most twice the regret of a trusted curator"
        out.append(anchored(Finding(name, text, ours.mean <= 2 * central.mean), [ours]))
    measured = [mean(result, f"shuffle-newton ε={epsilon:g}") for epsilon in EPSILONS]
    falls = [each.mean for each in measured]
    text = ", ".join(f"{value:.0f}" for value in falls)
    falling = Finding("shuffle: regret falls as ε grows", text, falls == sorted(falls, reverse=True))
    return [*out, anchored(falling, measured)]


def _ablation(result: Result) -> list[Finding]:
    """Which changes matter: by two standard errors of the difference."""
    out = []
    for name in ("joint-glm-rare", "joint-glm"):
        base = mean(result, name)
        changes = [row for row in result.rows if row["label"].startswith(f"{name}: ")]
        best = min(changes, key=lambda row: row["regret_mean"])
        worst = max(changes, key=lambda row: row["regret_mean"])
        text = (
            f"{base.mean:.0f} as it is; {best['regret_mean']:.0f} with {best['label'].partition(': ')[2]!r}, "
            f"{worst['regret_mean']:.0f} with {worst['label'].partition(': ')[2]!r}"
        )
        name = f"{name}: no single change is better than the default (by two standard errors)"
        out.append(anchored(Finding(name, text, not below("", regret(best), base).seen), [base]))
    return out


def _time(dimension: Result, horizon: Result) -> list[Finding]:
    out = []
    for label in ("rs-glin-ucb", "ecolog", "gloc", "joint-glm-rare ε=4", "joint-glm ε=1", "shuffle-newton ε=4"):
        took = {row["horizon"]: row["us_per_round"] for row in horizon.rows if row["label"] == label}
        text = ", ".join(f"{us:.1f} µs at T = {t:,}" for t, us in took.items())
        name = f"{label}: time Õ(T) (a round at most twice as long at the longest T)"
        out.append(Finding(name, text, took[max(took)] <= 2 * took[min(took)], timed=True))
    for label in ("joint-glm ε=1", "joint-glm-rare ε=4"):
        took = {row["setting"]["dim"]: row["us_per_round"] for row in dimension.rows if row["label"] == label}
        text = ", ".join(f"{us:.1f} µs at d = {d}" for d, us in took.items())
        out.append(
            Finding(f"{label}: a round takes less than a millisecond", text, max(took.values()) < 1000, timed=True)
        )
    return out


def _horizon(result: Result) -> list[Finding]:
    """Privacy is an additive term for Algorithm 2: relative to the non-private regret it shrinks."""
    measured = {(row["label"], row["horizon"]): regret(row) for row in result.rows}
    horizons = sorted({row["horizon"] for row in result.rows})
    out = []
    for private, plain in (
        ("joint-glm-rare ε=4", "rs-glin-ucb"),
        ("joint-glm ε=1", "mle-ucb"),
        ("joint-glm ε=4", "mle-ucb"),
    ):
        ratios = [measured[private, t].mean / measured[plain, t].mean for t in horizons]
        text = ", ".join(f"{ratio:.2f} at T = {t:,}" for ratio, t in zip(ratios, horizons, strict=True))
        shrinks = Finding(f"{private} over {plain} shrinks as T grows", text, ratios[-1] < ratios[0])
        out.append(anchored(shrinks, [measured[name, t] for name in (private, plain) for t in horizons]))
    return out


def _contexts(result: Result) -> list[Finding]:
    """No distribution of contexts that the private estimate breaks down on."""
    out = []
    for label in ("joint-glm-rare ε=4", "joint-glm ε=4"):
        rows = [row for row in result.rows if row["label"] == label]
        shares = {row["env"]: row["regret_mean"] / row["uniform"]["regret_mean"] for row in rows}
        worst = max(shares, key=lambda env: shares[env])
        text = f"at most {shares[worst]:.2f} ({worst}), at least {min(shares.values()):.2f}"
        out.append(
            Finding(f"{label}: less than half of uniform play's regret in every world", text, shares[worst] < 0.5)
        )
    return out
