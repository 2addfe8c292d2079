"""What liars cost people under two aggregators: `python -m reticent_two.lies`.

A share of people lies. Some send a false datum that anybody could send, the best arm with the lowest reward; others the
longest vector that the proof lets through, against theta*. From the beginning, or once much has been learnt."""

import argparse

import numpy as np
from numpy.random import SeedSequence, default_rng

from reticent import Budget, Spec, environments
from reticent.data import Array, Raw
from reticent.environments.base import Environment
from reticent.kernels.block import reward
from reticent_devices import Embedded
from reticent_two import TwoServerGLM

ROUNDS, RUNS, LAST = 12_000, 6, 4000
SHARES = 0.0, 0.05, 0.1
WORLDS: dict[str, Environment] = {
    "ball, d = 5, radius 1": environments.ball(dim=5, arms=20, radius=1.0, link="logistic"),
    "ball, d = 5, radius 3": environments.ball(dim=5, arms=20, radius=3.0, link="logistic"),
    "gap, d = 5, radius 3": environments.gap(dim=5, arms=20, radius=3.0, link="logistic"),
}


def regret(world: Environment, share: float, *, longest: bool, start: int, seed: int) -> float:
    """Of an honest person among the LAST of ROUNDS, on average."""
    bandit = Spec(TwoServerGLM, budget=Budget(1.0, 1e-6)).build(world, ROUNDS, SeedSequence(seed))
    assert isinstance(bandit, Embedded)
    block, rng, low = world.block(ROUNDS), default_rng([seed, 2]), bandit.rewards[0]
    world.start(default_rng([seed, 1]), ROUNDS).fill(block)
    against, missed = direction(block.arms, block.means), []
    for t in range(ROUNDS):
        choice = bandit.choose(block.arms[t])
        if t >= start and rng.random() < share:
            lie(bandit, against, low, longest=longest)
            continue
        mean = block.means[t, choice.index]
        bandit.observe(choice, reward(block.kind[0], block.scale[0], mean, block.noise[t]))
        if t >= ROUNDS - LAST:
            missed.append(block.means[t].max() - mean)
    return float(np.mean(missed))


def direction(arms: Array, means: Array) -> Array:
    """Of theta*, from what is best."""
    theta, *_ = np.linalg.lstsq(arms.reshape(-1, arms.shape[2]), np.log(means / (1 - means)).ravel(), rcond=None)
    out: Array = theta / np.linalg.norm(theta)
    return out


def lie(bandit: Embedded, theta: Array, low: float, *, longest: bool) -> None:
    server = bandit.server
    assert isinstance(server, TwoServerGLM)
    if not longest:
        server.hear(server.device(), theta, low, None)
        return
    task = server.task
    assert task.circuit.longest is not None
    vector = np.zeros(task.size)
    vector[-task.dim :] = -theta * task.grids[0].cell * task.circuit.longest**0.5
    server._state.prefix.absorb(lambda v, out: np.add(out, v, out=out), Raw(vector))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args().runs
    print(f"Regret of a choice among the last {LAST} of {ROUNDS}, epsilon = 1, delta = 1e-6, {runs} runs")
    for name, world in WORLDS.items():
        for start in (0, ROUNDS // 3):
            for longest in (False, True):
                found = [
                    np.mean([regret(world, share, longest=longest, start=start, seed=seed) for seed in range(runs)])
                    for share in SHARES
                ]
                kind = "longest" if longest else "false data"
                text = ", ".join(f"{100 * share:g} %: {one:.4f}" for share, one in zip(SHARES, found, strict=True))
                print(f"{name}, {kind}, from choice {start}: {text}", flush=True)


if __name__ == "__main__":
    main()
