"""`python -m tools.deadlines [PART...]`: what a deadline costs, as the tables of docs/measurements/deadlines.md.

A bandit in memory whose window is the choices that come within so much time is a store with that window, if people come
evenly. A click that comes after its deadline is silence, so that for the bandit each click is there with the
probability that it is in time; for what is earned all clicks count."""

import dataclasses
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from reticent import Bandit, Budget, JointGLM, Reward, Simulated, durations, environments
from reticent.data import Array
from reticent.features import Category, Schema
from reticent_serve.service import config

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
SEED, RUNS, DAYS, PER_DAY = 2026, 30, 10, 500
WINDOWS = {"10 minutes": 10 * MINUTE, "1 hour": HOUR, "6 hours": 6 * HOUR, "1 day": DAY, "2 days": 2 * DAY}
DELAYS = {"10 min": 10 * MINUTE, "1 h": HOUR, "6 h": 6 * HOUR}  # means of exponential times from a choice to its click
EPSILONS = (1.0, 8.0)
CUTS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)  # shares of clicks
SEGMENTS, MESSAGES = tuple("abcd"), tuple(f"message {i}" for i in range(6))
TRAFFIC = (200, 1000)  # people a day
DEPLOYED = Path(__file__).parents[1] / "deploy" / "serve.toml"

Round = tuple[Any, Array]  # what is asked with, and the click rate of each arm


def people(seed: int) -> Iterator[Round]:
    """Four segments of people and six messages, whose click rates are logistic(-1.5 + a standard normal number)."""
    rng = default_rng([SEED, seed])
    rates = 1 / (1 + np.exp(1.5 - rng.standard_normal((len(SEGMENTS), len(MESSAGES)))))
    while True:
        segment = int(rng.integers(len(SEGMENTS)))
        yield {"segment": SEGMENTS[segment]}, rates[segment]


def messages(seed: int, epsilon: float, window: float) -> Bandit:
    schema = Schema(context={"segment": Category(*SEGMENTS)}, arms="disjoint", actions=MESSAGES)
    return made(seed, window, PER_DAY, JointGLM(schema, Budget(epsilon, 1e-6), Reward(default=0.0)))


def made(seed: int, window: float, per_day: int, algorithm: JointGLM) -> Bandit:
    """With a window of so many seconds, where so many people come in a day."""
    later = math.ceil(window / DAY * per_day)
    known = dataclasses.replace(algorithm, reward=dataclasses.replace(algorithm.reward, window=later))
    return Bandit(known, pending=later + 1, source=Simulated(seed), policy=default_rng([SEED, seed, 1]))


def shares(
    bandit: Bandit, world: Iterator[Round], rng: Generator, *, rounds: int, in_time: float, first: Array | None = None
) -> Array:
    """Of the gain over random arms that could be had, what each round has. first: a mask of what is offered before the
    first release."""
    gains, most = np.zeros(rounds), 0.0
    until = (bandit.memory.window or 0) + first_of(bandit)
    for t in range(rounds):
        asked, rates = next(world)
        named = {} if bandit.plan.limits.most is None else {"person": t}  # everybody is new
        choice = bandit.choose(asked, available=first if t < until else None, **named)
        if rng.random() < rates[choice.index] and rng.random() < in_time:
            bandit.observe(choice, 1.0)
        gains[t] = rates[choice.index] - rates.mean()
        most += (rates.max() - rates.mean()) / rounds
    return gains / most


def first_of(bandit: Bandit) -> int:
    """People of the first step."""
    return int(bandit.plan.schedule.first)


def several(one: Callable[[int], Array]) -> tuple[Array, Array]:
    """The mean of runs, and its standard error."""
    found = np.array([one(seed) for seed in range(RUNS)])
    return found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(RUNS)


def cost_of_a_deadline() -> Iterator[str]:
    """Of what could be had in DAYS days, by how long a choice waits and how late clicks are."""
    yield "| window | " + " | ".join(f"ε = {e:g}, clicks {d}" for e in EPSILONS for d in ("at once", *DELAYS)) + " |"
    yield "|---" * (1 + len(EPSILONS) * (1 + len(DELAYS))) + "|"
    for name, window in WINDOWS.items():
        cells = []
        for epsilon in EPSILONS:
            for mean in (0.0, *DELAYS.values()):
                in_time = 1 - math.exp(-window / mean) if mean else 1.0
                value, error = several(lambda seed: average(seed, epsilon, window, in_time))  # noqa: B023
                cells.append(f"{percent(value)} ± {percent(error)}")
        yield f"| {name} | " + " | ".join(cells) + " |"


def average(seed: int, epsilon: float, window: float, in_time: float, first: Array | None = None) -> Array:
    bandit, rng = messages(seed, epsilon, window), default_rng([SEED, seed, 2])
    found = shares(bandit, people(seed), rng, rounds=DAYS * PER_DAY, in_time=in_time, first=first)
    return np.array(found.mean())


def where_to_cut() -> Iterator[str]:
    """The same by the share of clicks that is in time: the window is the age by which so many have come."""
    yield "| clicks take, ε | " + " | ".join(f"{percent(share)} % in time" for share in CUTS) + " |"
    yield "|---" * (1 + len(CUTS)) + "|"
    for name, mean in {"1 h": HOUR, "6 h": 6 * HOUR, "1 day": DAY}.items():
        for epsilon in EPSILONS:
            cells = []
            for share in CUTS:
                window = -mean * math.log(1 - share)
                value, error = several(lambda seed: average(seed, epsilon, window, share))  # noqa: B023
                cells.append(f"{percent(value)} ± {percent(error)}")
            yield f"| {name}, {epsilon:g} | " + " | ".join(cells) + " |"


def lost_clicks() -> Iterator[str]:
    yield "| window | " + " | ".join(f"clicks after {name} on average" for name in DELAYS) + " |"
    yield "|---" * (1 + len(DELAYS)) + "|"
    for name, window in WINDOWS.items():
        yield f"| {name} | " + " | ".join(f"{percent(math.exp(-window / mean))} %" for mean in DELAYS.values()) + " |"


def one_message_at_first() -> Iterator[str]:
    """Random messages before the first release, or one that the operator has chosen."""
    names = ("random", "the best one", "the third best", "the fifth best")
    yield "| window, ε | " + " | ".join(names) + " |"
    yield "|---" * (1 + len(names)) + "|"
    for name in ("1 hour", "1 day", "2 days"):
        for epsilon in EPSILONS:
            cells = []
            for rank in (None, 1, 3, 5):
                found = several(lambda seed: average(seed, epsilon, WINDOWS[name], 1.0, only(seed, rank)))  # noqa: B023
                cells.append(" ± ".join(map(percent, found)))
            yield f"| {name}, {epsilon:g} | " + " | ".join(cells) + " |"


def only(seed: int, rank: int | None) -> Array | None:
    """A mask of the message of that rank, by what it earns if everybody gets it."""
    if rank is None:
        return None
    world = people(seed)
    total = sum(next(world)[1] for _ in range(1000))
    mask: Array = np.arange(len(MESSAGES)) == np.argsort(total)[-rank]
    return mask


def as_deployed() -> Iterator[str]:
    """The share that is had on single days, with deploy/serve.toml."""
    (given,) = config.toml(DEPLOYED)["bandits"].values()
    algorithm = config.build(config.taken(given, config.BanditSetting, DEPLOYED.name), DEPLOYED.name)
    assert isinstance(algorithm, JointGLM)
    window = durations.seconds(algorithm.reward.window or 0.0, "window")
    days = (1, 2, 3, 4, 5, 7, 10, 14, 21, 28)
    yield "| people a day | first release after | " + " | ".join(f"day {day}" for day in days) + " |"
    yield "|---" * (2 + len(days)) + "|"
    for per_day in TRAFFIC:
        world = environments.ball(dim=algorithm.dim, arms=6, radius=algorithm.reward.radius, link="logistic")

        def run(seed: int, per_day: int = per_day, world: Any = world) -> Array:
            bandit = made(seed, window, per_day, algorithm)
            rng = default_rng([SEED, seed, 2])
            rounds = days[-1] * per_day
            found = shares(bandit, asked(world, seed, rounds), rng, rounds=rounds, in_time=1.0)
            return np.asarray(found.reshape(-1, per_day).mean(axis=1))

        value, _ = several(run)
        bandit = made(0, window, per_day, algorithm)
        first = window / DAY + first_of(bandit) / per_day
        yield f"| {per_day} | {first:.1f} days | " + " | ".join(percent(value[day - 1]) for day in days) + " |"


def asked(world: environments.Environment, seed: int, rounds: int) -> Iterator[Round]:
    block = world.block(rounds)
    world.start(default_rng([SEED, seed]), rounds).fill(block)
    yield from zip(block.arms, block.means, strict=True)


def percent(share: Any) -> str:
    return f"{100 * float(share):.0f}"


PARTS = (lost_clicks, cost_of_a_deadline, where_to_cut, one_message_at_first, as_deployed)

if __name__ == "__main__":
    for part in PARTS:
        if len(sys.argv) == 1 or part.__name__ in sys.argv:
            for line in part():
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
            sys.stdout.write("\n")
