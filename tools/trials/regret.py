"""python -m tools.trials.regret [--people 20000] [--runs 12]: what a holdout costs the bandit's own people, and
those of the holdout, in the world `ball`; and how wide the interval is."""

import argparse
import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np

from reticent import Bandit, Budget, Holdout, JointGLM, Simulated, Spec, environments
from reticent.algorithms.schedules import steps_before
from reticent.experiments.runner import run_once
from reticent.flat import named
from reticent_serve.trials import looks, waits
from reticent_serve.trials.bounds import CALIBRATED, GroupSum, mean
from reticent_serve.trials.groups import Places

DIM, ARMS, RADIUS, EPSILON = 5, 10, 3.0, 1.0
BUDGET = Budget(EPSILON, 1e-6)
CASES: dict[str, Holdout | None] = {
    "no holdout": None,
    "5 % one arm": Holdout(share=0.05, action=0),
    "10 % one arm": Holdout(share=0.1, action=0),
    "10 % uniform": Holdout(share=0.1, policy="uniform"),
    "10 % uniform, silent": Holdout(share=0.1, policy="uniform", teach=0.0),
    "10 % uniform, 10 arms": Holdout(share=0.1, policy="uniform", actions=tuple(range(ARMS))),
    "10 % one arm, 2 arms of 2 %": Holdout(share=0.1, action=0, actions=(1, 2), min_share=0.02),
    "10 % one arm, 9 arms of 1 %": Holdout(share=0.1, action=0, actions=tuple(range(1, 10)), min_share=0.01),
}


def settings(holdout: Holdout | None) -> Mapping[str, Any]:
    return {} if holdout is None else {"holdout": holdout, "window": 1, "default": 0.0}


def widths(holdout: Holdout, people: int) -> tuple[float, float | None]:
    """Half widths to be expected for rewards of one half: of the comparison, and of an arm."""
    algorithm = named(features=DIM, budget=BUDGET, radius=RADIUS, **settings(holdout))
    bandit = Bandit(algorithm, source=Simulated(0))
    sums = bandit.trial_sums
    assert sums is not None
    releases = steps_before(people + 1, bandit.plan.schedule)
    loud = [scale * float(np.linalg.norm(sums.gains[:releases])) for scale in sums.scales]
    own = [sums.groups[i].places for i in sums.holdout_groups]
    others = [group.places for i, group in enumerate(sums.groups) if i and i not in sums.holdout_groups]
    groups = Places(holdout.block, sum(own), tuple(others), divided=holdout.divided)
    noise = sum(loud[i] ** 2 for i in sums.holdout_groups) ** 0.5, loud[0]
    half = waits.half(waits.Outlook(groups, 0.5, 0.5, lambda _: noise), people)
    arms = [i for i, group in enumerate(sums.groups) if group.name == "arm"]
    if not arms:
        return half, None
    blocks, error = people // holdout.block, 0.05 / looks.most(holdout.share) / len(arms)
    found = mean(GroupSum(1, blocks / 2, loud[arms[0]]), groups, blocks, error, CALIBRATED)
    return half, float(found.width) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=30_000)
    given = parser.parse_args()
    world = environments.ball(dim=DIM, arms=ARMS, link="logistic", radius=RADIUS)
    print("holdout | bandit's regret, for as many people as without | holdout's and arms' | half width | of an arm")
    for name, holdout in CASES.items():
        spec = Spec(JointGLM, budget=BUDGET, radius=RADIUS, **settings(holdout))
        found = [run_once(spec, world, given.people, given.seed, run, lambda _: None) for run in range(given.runs)]
        share = 0.0 if holdout is None else 1 - holdout.groups[0].chance
        others = [share * (run.uniform_regret or 0.0) for run in found]  # a fixed place is as good as a random one here
        own = [(run.regret or 0.0) - other for run, other in zip(found, others, strict=True)]
        scaled = [one / (1 - share) for one in own]  # for as many people as without a holdout
        error = statistics.stdev(scaled) / len(scaled) ** 0.5
        half = "" if holdout is None else " | ".join(
            "" if one is None else f"{100 * one:.1f}" for one in widths(holdout, given.people)
        )  # fmt: skip
        print(
            f"{name} | {statistics.mean(scaled):.1f} ± {error:.1f} | {statistics.mean(others):.0f} | {half}", flush=True
        )


if __name__ == "__main__":
    main()
