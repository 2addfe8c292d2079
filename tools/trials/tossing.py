"""python -m tools.trials.tossing [--runs 10000] [--people 100000]: whether intervals of groups by coins hold at every
look."""

import argparse
import math
from collections.abc import Callable

import numpy as np

from reticent_serve.trials import coins, looks
from reticent_serve.trials.bounds import CALIBRATED, PROVEN
from reticent_serve.trials.coins import Centres, Tossed
from tools.trials.noise import BANDIT, Noise

BLOCK, LEVEL = 10, 0.95
WORLDS: dict[str, Callable[[int], tuple[float, float]]] = {  # rates of holdout and bandit after so many people
    "p = .5": lambda people: (0.5, 0.5),
    "p = .02": lambda people: (0.02, 0.02),
    "p = .002": lambda people: (0.002, 0.002),
    "drift": lambda people: (0.5 + 0.45 * math.sin(6 * math.log1p(people)),) * 2,
    "learning": lambda people: (0.3, 0.3 + 0.2 * people / (people + 5000)),
}


def covered(rates: Callable[[int], tuple[float, float]], noise: Noise, *, runs: int, seed: int) -> dict[str, float]:
    """The share of runs in which the truth is outside at any look."""
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((2, runs, len(noise.ends)))
    error = (1 - LEVEL) / looks.most(1 / BLOCK, coins=True)
    at = set(looks.picked([end // BLOCK for end in noise.ends]))
    wrong = {rule: np.zeros(runs, bool) for rule in (CALIBRATED, PROVEN)}
    c, b, truth, own, others = (np.zeros(runs) for _ in range(5))
    people, counts, rest, centres, before, since = [], [], [], [np.full(runs, coins.HALF)], 0, 0
    for k, end in enumerate(noise.ends):
        of_control, of_bandit = rates(before)
        mine = rng.binomial(end - before, 1 / BLOCK, runs)
        yours = end - before - mine
        got, brought = rng.binomial(mine, of_control), rng.binomial(yours, of_bandit)
        c, b, own, others = c + got, b + brought, own + mine, others + yours
        truth = truth + brought + rng.binomial(mine, of_bandit) - got - rng.binomial(yours, of_control)
        before = end
        if k not in at:
            continue
        people.append(end - since)
        counts.append(own)
        rest.append(others)
        own, others, since = np.zeros(runs), np.zeros(runs), end
        std, share = float(noise.std[k]), math.sqrt(BANDIT)
        loud = draws @ noise.matrix[k]
        holdout = Tossed(1 / BLOCK, tuple(counts), c + loud[0], std)
        bandit = Tossed(1 - 1 / BLOCK, tuple(rest), b + loud[1] / share, std / share)
        for rule, found in wrong.items():
            interval = coins.difference(bandit, holdout, Centres(tuple(people), tuple(centres)), error, rule)
            found |= (truth / end < interval.low) | (truth / end > interval.high)
        centres.append(np.clip((holdout.total + bandit.total) / end, 0.0, 1.0))
    return {rule: float(found.mean()) for rule, found in wrong.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=25_000)
    given = parser.parse_args()
    noise = Noise(1.0, BLOCK, given.people)
    for name, rates in WORLDS.items():
        found = covered(rates, noise, runs=given.runs, seed=given.seed)
        print(name, ", ".join(f"{rule} {100 * rate:.2f}" for rule, rate in found.items()), flush=True)


if __name__ == "__main__":
    main()
