"""Figure 1 of "Improved rate for Locally Differentially Private Linear Bandits" (anonymous, under review): d = 5,
K = 100, T = 20000, epsilon .2, 1 and 10 (delta = .1), arms and parameter of Chowdhury & Zhou 2022.

Each algorithm runs twice: at equal true epsilon (exact calibration), and as published, where its noise gives another
epsilon than it says. SDP is the batched LinUCB with shuffled sums, calibrated exactly."""

from pathlib import Path

from reticent import LinUCB
from reticent.environments import tail
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent.experiments.spec import Spec
from reticent.experiments.table import render
from reticent.privacy.budget import Budget
from reticent_devices import LocalIRLS
from reticent_lab.experiments import figure
from reticent_lab.experiments.sweeps import simulate
from reticent_papers import LocalLinUCB, LocalOnlineUCB, ShariffLinUCB, ShuffleLinUCB
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.reproductions.findings import HALF, above_plain, alike, below, mean, part, together

DELTA = 0.1
EPSILONS = (0.2, 1.0, 10.0)
QUICK = 2000  # rounds of the small version
COMPARABLE, SAME = 0.25, 0.1  # shares within which regrets are "comparable", and "the same"
WORLD = tail(dim=5, arms=100, radius=1.0)


def specs(epsilon: float) -> list[Spec]:
    budget = Budget(epsilon, DELTA)
    return [
        Spec(LinUCB, label="LinUCB"),
        Spec(ShariffLinUCB, release="batched", budget=budget, label="JDP"),
        Spec(ShariffLinUCB, budget=budget, calibration="paper", label="JDP as published"),
        Spec(LocalLinUCB, budget=budget, label="LDP"),
        Spec(LocalLinUCB, budget=budget, calibration="paper", label="LDP as published"),
        Spec(LocalOnlineUCB, budget=budget, label="OnlineUCB"),
        Spec(LocalOnlineUCB, budget=budget, calibration="paper", label="OnlineUCB as published"),
        Spec(LocalOnlineUCB, budget=budget, learner="ogd", label="OnlineUCB, OGD"),
        Spec(LocalOnlineUCB, budget=budget, learner="ogd", calibration="paper", label="OnlineUCB, OGD as published"),
        Spec(ShuffleLinUCB, budget=budget, label="SDP"),
        Spec(LocalIRLS, budget=budget, label="LocalIRLS (ours)"),
    ]


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    count = runs or (2 if quick else 50)
    rounds = QUICK if quick else 20_000
    results = []
    for i, epsilon in enumerate(EPSILONS):
        report = part(progress, i / len(EPSILONS), (i + 1) / len(EPSILONS))
        results.append(simulate(specs(epsilon), WORLD, horizon=rounds, runs=count, seed=77, out=out, progress=report))
    canvas, axes = figure.subplots(1, len(EPSILONS), width=4.6, height=3.8)
    for axis, epsilon, result in zip(axes[0], EPSILONS, results, strict=True):
        figure.draw_panel(axis, [g for g in result.groups() if "published" not in g[0].label], log=True)
        figure.at_ends(axis)
        axis.set_title(f"ε = {epsilon:g}, δ = {DELTA:g}, equal true ε", loc="left")
    figure.save(canvas, out / "figure.png")
    findings = [finding for e, result in zip(EPSILONS, results, strict=True) for finding in said(e, result)]
    findings.append(above_plain(together(results)))
    title = f"LDP figure 1: regret over {rounds:,} rounds, tail, d = 5, K = 100, δ = {DELTA:g}, {count} runs"
    extra = {"true_epsilon": true_epsilons(rounds)}
    lines = [f"  {name}: {text}" for name, text in extra["true_epsilon"].items()]
    table = "\n\n".join(f"ε = {e:g}\n{render(r.rows)}" for e, r in zip(EPSILONS, results, strict=True))
    table += "\n\nWhat the published noise really gives, at δ = .1:\n" + "\n".join(lines)
    return Outcome(title, together(results), findings, table, extra)


def true_epsilons(rounds: int) -> dict[str, str]:
    """The epsilon that each published calibration gives where it says .2, 1 and 10."""
    out = {}
    for name, kind in (("LDP", LocalLinUCB), ("OnlineUCB", LocalOnlineUCB)):
        made = [kind(5, Budget(e, DELTA), horizon=rounds, calibration="paper") for e in EPSILONS]
        out[name] = ", ".join(f"{e:g} -> {one.privacy.epsilon:.3g}" for e, one in zip(EPSILONS, made, strict=True))
    return out


def said(epsilon: float, result: Result) -> list[Finding]:
    """What section 5 says of the figure, at equal true epsilon and as published; and ours."""
    found = []
    for suffix in ("", " as published"):
        online, ogd = f"OnlineUCB{suffix}", f"OnlineUCB, OGD{suffix}"
        at = f"ε = {epsilon:g}{',' * bool(suffix)}{suffix}: OnlineUCB"
        for other in ("LDP", "JDP", "SDP") if epsilon >= 1 else ("LDP",):
            label = other if other == "SDP" else other + suffix
            found.append(below(f"{at} below {other}", mean(result, online), mean(result, label), HALF))
        if epsilon < 1:
            found.append(alike(f"{at} comparable to SDP", mean(result, online), mean(result, "SDP"), COMPARABLE, HALF))
        found.append(alike(f"{at} the same with OGD", mean(result, ogd), mean(result, online), SAME, HALF))
        slow, fast = (next(r["us_per_round"] for r in result.rows if r["label"] == name) for name in (online, ogd))
        text = f"{fast:.1f} µs a round against {slow:.1f}"
        found.append(Finding(f"{at} a lot faster with OGD (half the time)", text, fast < slow / 2, timed=True))
    ours, online = mean(result, "LocalIRLS (ours)"), "OnlineUCB"
    found.append(below(f"ε = {epsilon:g}: LocalIRLS below OnlineUCB", ours, mean(result, online), HALF))
    return found
