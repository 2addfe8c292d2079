"""The experiment that the shuffle paper did not run: its Algorithm 1 as printed, in parts, with tight noise, and ours,
beside non-private B-GLinCB.

As printed, all rounds are its warm-up: what its parameters would be is computed (`printed`). In parts: its noise and
its descent (P_GD, Algorithm 7) with our batches and widths, where a run is feasible; and its noise with a descent of 30
steps."""

import math
from pathlib import Path

from reticent import Reward, Uniform, environments
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent.experiments.spec import Spec
from reticent.experiments.table import render
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated
from reticent_devices import ShuffleNewton
from reticent_lab.experiments import figure
from reticent_lab.experiments.sweeps import simulate
from reticent_papers import BGLinCB, ShuffleGLM, ShuffleLinUCB
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.reproductions.findings import HALF, above_plain, anchored, part, regret
from reticent_papers.shuffle.published import calibrate_paper

DELTA = 0.01
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
HORIZONS = {20_000: 20, 100_000: 10, 1_000_000: 3}  # horizon -> runs
SEED = 7001
LINK = "logistic"
WORLD = environments.ball(link=LINK, dim=5, arms=20, radius=3.0)
FEASIBLE = 1e8  # gradients of one run: seconds of one core
NAMES = ("warm-up", "round trips", "bits a user", "half-width")
DESCENT, NOISE = "its P_GD, our batches", "its noise, our schedule"
PRINTED = f"Algorithm 1 as printed ε={EPSILONS[-1]:g}"


def specs(horizon: int) -> list[Spec]:
    """Widths of the published ones but the first are tuned on other seeds: with those of the theorems they play
    uniformly."""
    least = Budget(EPSILONS[-1], DELTA)  # noise; what is printed plays alike at every epsilon
    out = [Spec(Uniform), Spec(BGLinCB, width_scale=0.03, label="b-glin-cb, not private")]
    out += [Spec(ShuffleGLM, budget=least, calibration="paper", constants="paper", iterations=None, label=PRINTED)]
    for epsilon in EPSILONS:
        budget = Budget(epsilon, DELTA)
        descent = Spec(
            ShuffleGLM, budget=budget, calibration="paper", iterations=None, label=f"{DESCENT} ε={epsilon:g}"
        )
        out += [descent] if gradients(horizon, epsilon) <= FEASIBLE else []
        out += [
            Spec(ShuffleGLM, budget=budget, calibration="paper", label=f"{NOISE} ε={epsilon:g}"),
            Spec(ShuffleGLM, budget=budget, label=f"Algorithm 1, tight noise ε={epsilon:g}"),
            Spec(ShuffleLinUCB, budget=budget, width_scale=0.1, label=f"shuffle-lin-ucb ε={epsilon:g}"),
            Spec(ShuffleNewton, budget=budget, label=f"ours ε={epsilon:g}"),
            Spec(ShuffleNewton, budget=budget, explore="ucb", label=f"ours, diverse arms only ε={epsilon:g}"),
        ]
    return out


def planned(horizon: int, epsilon: float) -> ShuffleGLM:
    """Algorithm 1 with its own descent and noise and our batches."""
    return ShuffleGLM(
        WORLD.dim,
        Budget(epsilon, DELTA),
        Reward(LINK, WORLD.radius),
        horizon=horizon,
        calibration="paper",
        iterations=None,
        source=Simulated(0),
    )


def gradients(horizon: int, epsilon: float) -> float:
    """How many gradients the users send in all batches but the last, which nobody learns from in time."""
    return float(sum(plan.users * plan.fit.gradients for plan in planned(horizon, epsilon)._plans[:-1]))


def printed(horizon: int, epsilon: float) -> dict[str, float]:
    """Computed, not run: the warm-up's users (6), the round trips to each of them (Algorithm 7), the bits that each
    would send (eq. 122), and the least half-width of a confidence interval of an arm of length 1 after it."""
    bandit = planned(horizon, epsilon)
    theory = bandit.theory
    users = math.ceil(theory["warm_up"])
    trips = bandit.formula_iterations(users)
    half = Budget(epsilon / 2, DELTA / 2)
    each = half.epsilon / (2 * math.sqrt(2 * trips * math.log(1 / half.delta)))
    once = Budget(each, half.delta / (trips + 1))
    bits = calibrate_paper(once, users=users, dim=WORLD.dim, sensitivity=1.0).bits
    width = theory["gamma"] * math.sqrt(bandit.kappa * WORLD.dim / users)  # an optimal design has |x|^2 <= d / n
    return {"warm-up": users, "round trips": trips, "bits a user": float(bits) * trips, "half-width": width}


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    plan = {5_000: 2} if quick else HORIZONS
    results = []
    for i, (horizon, count) in enumerate(plan.items()):
        report = part(progress, i / len(plan), (i + 1) / len(plan))
        found = simulate(
            specs(horizon), WORLD, horizon=horizon, runs=runs or count, seed=SEED, out=out, progress=report
        )
        results.append(found)
    _draw(results[-1], out / "figure.png")
    findings = [
        finding for result, horizon in zip(results, plan, strict=True) for finding in _findings(result, horizon)
    ]
    result = Result([run for each in results for run in each.runs])
    tables = [f"T = {horizon:,}\n{render(found.rows)}" for found, horizon in zip(results, plan, strict=True)]
    computed = {f"T={t}, ε={e:g}": printed(t, e) for t in plan for e in EPSILONS}
    tables.append(_computed(computed, list(plan)))
    title = f"Shuffle privacy: logistic ball, d = 5, K = 20, S = 3, δ = {DELTA}"
    return Outcome(title, result, findings, "\n\n".join(tables), {"computed": computed})


def _computed(computed: dict[str, dict[str, float]], horizons: list[int]) -> str:
    lines = ["Computed, not run: Algorithm 1 as printed", f"{'':<20}" + "".join(f"{k:>14}" for k in NAMES)]
    lines += [f"{name:<20}" + "".join(f"{row[k]:>14.2g}" for k in NAMES) for name, row in computed.items()]
    skipped = [(t, e) for t in horizons for e in EPSILONS if gradients(t, e) > FEASIBLE]
    lines += [f"  T={t}, ε={e:g}: its P_GD would take {gradients(t, e):.1g} gradients: not run" for t, e in skipped]
    return "\n".join(lines)


def _draw(result: Result, path: Path) -> None:
    """At epsilon 1 or without noise; what plays at random would hide the rest."""
    canvas, axes = figure.subplots(1, 1, width=7.4)
    shown = [group for group in result.groups() if group[0].epsilon in (None, 1.0)]
    random = ("uniform", "its ", "Algorithm 1 as printed")
    shown = [group for group in shown if not group[0].label.startswith(random)]
    axis = axes[0, 0]
    figure.draw_panel(axis, shown, log=True)
    for line in axis.get_lines():
        line.set_label(line.get_label().removesuffix(" ε=1"))
    figure.at_ends(axis)
    axis.set_title(f"ball, logistic, ε = 1, δ = {DELTA}, mean of {len(shown[0])} runs", loc="left")
    figure.save(canvas, path)


def _findings(result: Result, horizon: int) -> list[Finding]:
    measured = {row["label"]: regret(row) for row in result.rows}
    mean = {label: each.mean for label, each in measured.items()}
    uniform = mean["uniform"]
    users = printed(horizon, EPSILONS[-1])["warm-up"]
    out = [
        Finding(
            f"T = {horizon:,}: Algorithm 1 as printed leaves its warm-up, and learns",
            f"its warm-up has {users:.1e} users; {mean[PRINTED]:.0f} against {uniform:.0f} for uniform play",
            users < horizon and mean[PRINTED] < HALF * uniform,
        )
    ]
    for epsilon in (1.0, 4.0):
        text = f"T = {horizon:,}, ε = {epsilon:g}: "
        theirs, tight, ours = (mean[f"{name} ε={epsilon:g}"] for name in (NOISE, "Algorithm 1, tight noise", "ours"))
        descent = mean.get(f"{DESCENT} ε={epsilon:g}")
        if descent is not None:
            out.append(
                Finding(
                    text + "with our batches and widths its own noise and descent learn",
                    f"{descent:.0f} against {uniform:.0f} for uniform play",
                    descent < HALF * uniform,
                )
            )
        out += [
            Finding(
                text + "its noise with 30 steps learns",
                f"{theirs:.0f} against {uniform:.0f} for uniform play",
                theirs < HALF * uniform,
            ),
            Finding(text + "tight noise makes it learn", f"{tight:.0f}", tight < HALF * uniform),
            anchored(
                Finding(
                    text + "one message and one round beat the optimiser", f"{ours:.0f} to {tight:.0f}", ours < tight
                ),
                [measured[f"ours ε={epsilon:g}"]],
            ),
        ]
    return [*out, above_plain(result)]
