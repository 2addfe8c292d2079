"""python -m tools.trials [--runs 10000] [--people 100000] [--epsilon 1] [--share .1]: the tables of
docs/measurements/trials.md."""

import argparse
import math
from typing import Any

import numpy as np

from reticent_serve.trials import bounds, coins, looks
from reticent_serve.trials.bounds import CALIBRATED, PROVEN, GroupSum
from reticent_serve.trials.coins import Centres, Tossed
from reticent_serve.trials.groups import Places
from tools.trials import reloads, worlds
from tools.trials.noise import BANDIT, Noise

LEVEL, WIDTHS = 0.95, (10_000, 100_000)
ORDINARY = 1.96
EARLY = 5  # looks at which noise is most of the error


def covered(world: worlds.World, groups: Places, noise: Noise, *, runs: int, seed: int) -> dict[str, Any]:
    """The share of runs in which the truth is outside at any look, by rule; mean half widths at the last look by
    1.1 of WIDTHS; and how often the error of one of the first looks is beyond 1.96 standard deviations (worst blocks: 5
    %), with noise as it is and as if it were 10 % less."""
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((2, runs, len(noise.ends)))
    shares = groups.holdout / groups.block
    error = (1 - LEVEL) / looks.most(shares)
    at = set(looks.picked([round(end * shares) for end in noise.ends]))
    c, b, truth, arm, arm_truth = (np.zeros(runs) for _ in range(5))
    wrong = {rule: np.zeros(runs, bool) for rule in (CALIBRATED, PROVEN, "ordinary", "at looks", "noiseless", "arm")}
    half: dict[str, dict[int, tuple[int, float]]] = {CALIBRATED: {}, PROVEN: {}}
    beyond: dict[str, list[float]] = {"noise": [], "less noise": []}
    seen, before = worlds.Seen(0, np.zeros(runs)), 0
    for k, end in enumerate(noise.ends):
        segment = world(rng, groups, (end - before) // groups.block, seen)
        c, b, truth = c + segment.holdout, b + segment.bandit, truth + segment.truth
        arm, arm_truth = arm + segment.arm, arm_truth + segment.arm_truth
        before, blocks, std = end, end // groups.block, float(noise.std[k])
        own, other = draws @ noise.matrix[k]
        holdout = GroupSum(groups.holdout, c + own, std)
        bandit = GroupSum(groups.bandit, b + other / math.sqrt(BANDIT), std / math.sqrt(BANDIT))
        true = truth / end
        value = bandit.total / (blocks * groups.bandit) - holdout.total / (blocks * groups.holdout)
        loud = math.hypot(bandit.noise / groups.bandit, holdout.noise / groups.holdout) / blocks
        chance = math.sqrt(groups.difference.whole / 4 / blocks)
        seen = worlds.Seen(end, (value - true) / math.hypot(loud, chance))
        rates = [np.clip(one.total / (blocks * one.places), 0, 1) for one in (holdout, bandit)]
        usual = np.sqrt(bounds.coin(groups, *rates) / blocks + loud**2)
        wrong["ordinary"] |= np.abs(value - true) > ORDINARY * usual
        if k not in at:
            continue
        for rule in (CALIBRATED, PROVEN):
            found = bounds.difference(bandit, holdout, groups, blocks, error, rule)
            wrong[rule] |= (true < found.low) | (true > found.high)
            for width in WIDTHS:
                if end <= 1.1 * width:
                    half[rule][width] = end, float(np.mean(found.high - found.low)) / 2
        wrong["at looks"] |= np.abs(value - true) > ORDINARY * usual
        wrong["noiseless"] |= np.abs(value - true) > bounds.quantile(error) * chance
        for name, factor in (("noise", 1.0), ("less noise", 0.9)):
            if len(beyond[name]) < EARLY:
                far = ORDINARY * math.hypot(factor * loud, chance)
                beyond[name].append(float(np.mean(np.abs(value - true) > far)))
        if groups.arms:
            places = groups.arms[0]
            group = GroupSum(places, arm + np.roll(own, 1), std)
            found = bounds.mean(group, groups, blocks, error, CALIBRATED)
            wrong["arm"] |= (arm_truth / end < found.low) | (arm_truth / end > found.high)
    single = {name: float(np.mean(rates)) for name, rates in beyond.items()}
    return {"wrong": {rule: float(found.mean()) for rule, found in wrong.items()}, "half": half, "single": single}


def reloaded(noise: Noise, block: int, *, runs: int, seed: int, by_coins: bool) -> dict[str, float]:
    """The share of runs in which the truth is outside at any look, where people reload; groups by coins or in
    blocks."""
    rng = np.random.default_rng(seed)
    error, ends = (1 - LEVEL) / (looks.most(1 / block, coins=by_coins)), np.array(noise.ends)
    wrong, share = {CALIBRATED: 0, PROVEN: 0}, math.sqrt(BANDIT)
    for _ in range(runs):
        played = reloads.play(rng, int(ends[-1]), 1, block, coins=by_coins)
        own = np.concatenate([[0], np.cumsum(played.holdout[:, 0])])[ends]
        sums = [np.concatenate([[0], np.cumsum(part[:, 0])])[ends] for part in (
            played.reward & played.holdout, played.reward & ~played.holdout, played.truth)]  # fmt: skip
        loud = noise.matrix @ rng.standard_normal((len(ends), 2))
        c, b = sums[0] + loud[:, 0], sums[1] + loud[:, 1] / share
        at, failed = looks.picked(own.tolist()), {CALIBRATED: False, PROVEN: False}
        people = np.diff([0, *ends[at]]).tolist()
        counts = np.diff([0, *own[at]]).tolist()
        rates = [0.5, *np.clip((c + b)[at] / ends[at], 0, 1).tolist()]
        for nth, k in enumerate(at):
            true, blocks, std = sums[2][k] / ends[k], int(ends[k]) // block, float(noise.std[k])
            for rule in failed:
                if by_coins:
                    centres = Centres(tuple(people[: nth + 1]), tuple(rates[: nth + 1]))
                    tossed = Tossed(1 / block, tuple(counts[: nth + 1]), c[k], std)
                    others = tuple(n - m for n, m in zip(people, counts, strict=True))[: nth + 1]
                    found = coins.difference(
                        Tossed(1 - 1 / block, others, b[k], std / share), tossed, centres, error, rule
                    )
                else:
                    groups = Places(block)
                    pair = GroupSum(groups.bandit, b[k], std / share), GroupSum(1, c[k], std)
                    found = bounds.difference(*pair, groups, blocks, error, rule)
                failed[rule] |= bool(true < found.low or true > found.high)
        for rule in wrong:
            wrong[rule] += failed[rule]
    return {rule: count / runs for rule, count in wrong.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--reloads", type=int, default=1_000, help="runs of the world with reloads")
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--arms", action="store_true", help="two arms of a fifth of the holdout's share each")
    parser.add_argument("--seed", type=int, default=20_000)
    given = parser.parse_args()
    block = round(1 / given.share)
    groups = Places(5 * block, 5, (1, 1)) if given.arms else Places(block)
    noise = Noise(given.epsilon, groups.block, given.people)
    print(f"epsilon {given.epsilon:g}, share {given.share:g}, {given.runs} runs, {len(noise.ends)} releases")
    print("world | calibrated | proven | ordinary, each release | ordinary, looks | no noise | arm | one look",
          "| half widths: calibrated, proven")  # fmt: skip
    for name, world in worlds.BLOCKS.items():
        found = covered(world, groups, noise, runs=given.runs, seed=given.seed)
        outside = " | ".join(f"{100 * rate:.2f}" for rate in found["wrong"].values())
        single = ", ".join(f"{100 * rate:.2f}" for rate in found["single"].values())
        widths = "; ".join(
            ", ".join(f"{100 * width:.2f} at {end}" for end, width in halves.values())
            for halves in found["half"].values()
        )
        print(f"{name} | {outside} | {single} | {widths}", flush=True)
    if given.reloads and not given.arms:
        for by_coins in (False, True):
            rates = reloaded(noise, block, runs=given.reloads, seed=given.seed, by_coins=by_coins)
            words = ", ".join(f"{rule} {100 * rate:.2f}" for rule, rate in rates.items())
            print(f"reloads, {'coins' if by_coins else 'blocks'}: ever outside {words}", flush=True)


if __name__ == "__main__":
    main()
