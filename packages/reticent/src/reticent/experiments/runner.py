"""The runner: every (bandit, environment, run) is a task. Threads do them, because kernels release Python's lock."""

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import SeedSequence, default_rng

from reticent import checks
from reticent.environments.base import Environment
from reticent.environments.delay import GRAMMAR, Delay
from reticent.errors import Interrupted
from reticent.experiments.result import Result, SimulatedRun
from reticent.experiments.spec import Spec
from reticent.kernels.block import Block
from reticent.model.links import named

CURVE = 200  # points of a regret curve
BLOCK = 1 << 15  # features in a block: it stays in the cache
LOOK = 0.2  # seconds from one look at what is done to the next

Progress = Callable[[float], None]  # called with the share of the work that is done
Finished = Callable[[int, SimulatedRun], None]  # called with the number of a run, here, as soon as it is done


class Play(Protocol):
    def __call__(self, number: int, report: Progress) -> SimulatedRun:
        """The run of that number. report: called with the share of it that is done; may raise, to stop it."""
        ...


def simulate(
    bandits: Sequence[Spec],
    environment: Environment | Sequence[Environment],
    *,
    horizon: int,
    runs: int,
    seed: int,
    progress: Progress | None = None,
    workers: int | None = None,
    delay: Delay | str | None = None,
) -> Result:
    """Play every bandit in every environment, `runs` times. Run i has the same world for every bandit.

    delay: when rewards come, e.g. "exponential:100" (`environments.Delay`); by default as the environment says, which
    for most is at once. The same rewards come at the same times for every bandit that makes the same choices.

    workers: threads.

    Privacy noise is simulated: the rows say what a bandit would do, not what may be shown of people's data."""
    sweep = planned(bandits, environment, horizon=horizon, runs=runs, seed=seed, delay=delay)
    done: dict[int, SimulatedRun] = {}

    def report(runs: float) -> None:
        if progress is not None:
            progress(runs / len(sweep.tasks))

    report(0.0)
    try:
        on_threads(sweep.play, range(len(sweep.tasks)), done.__setitem__, report, workers=workers)
    except KeyboardInterrupt:
        raise Interrupted("Stopped; nothing is kept.") from None
    return Result([done[i] for i in range(len(sweep.tasks))])


class Task(NamedTuple):
    """run: its number. delay: when rewards come."""

    spec: Spec
    world: Environment
    run: int
    delay: Delay | None


class Sweep(NamedTuple):
    """What is to be played, checked: each task can be done anywhere, and is the same wherever it is done."""

    tasks: list[Task]
    horizon: int
    seed: int

    def play(self, number: int, report: Progress) -> SimulatedRun:
        spec, world, run, delay = self.tasks[number]
        return run_once(spec, world, self.horizon, self.seed, run, report, delay)


def planned(
    bandits: Sequence[Spec],
    environment: Environment | Sequence[Environment],
    *,
    horizon: int,
    runs: int,
    seed: int,
    delay: Delay | str | None,
) -> Sweep:
    """The tasks of `simulate`; ValueError for what cannot be played."""
    environments = [environment] if isinstance(environment, Environment) else list(environment)
    if not isinstance(bandits, Sequence) or not all(isinstance(spec, Spec) for spec in bandits):
        raise ValueError("Expected a sequence of Specs, e.g. [Spec(JointGLM, budget=...)], got something else.")
    if not all(isinstance(world, Environment) for world in environments):
        raise ValueError("Expected environments, e.g. environments.ball(), got something else.")
    checks.positive_int(horizon=horizon, runs=runs)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"Expected seed to be a whole number of at least 0, got {seed!r}.")
    if not bandits or not environments:
        raise ValueError("Expected at least one bandit and one environment, got none.")
    delays = [_delay(world, delay) for world in environments]
    for world, late in zip(environments, delays, strict=True):
        for spec in bandits:
            _try_out(spec, world, _rounds(world, horizon), late)
    pairs = list(zip(environments, delays, strict=True))
    tasks = [Task(spec, world, run, late) for world, late in pairs for run in range(runs) for spec in bandits]
    return Sweep(tasks, horizon, seed)


def on_threads(
    play: Play, numbers: Sequence[int], finished: Finished, report: Progress, *, workers: int | None
) -> None:
    """Do those runs. report: called with how many of them are done, parts of runs included."""
    shares = dict.fromkeys(numbers, 0.0)
    stop = threading.Event()

    def work(number: int) -> SimulatedRun:
        def progress(share: float) -> None:
            shares[number] = share
            if stop.is_set():
                raise Interrupted("stopped")

        run = play(number, progress)
        finished(number, run)
        return run

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        waiting: set[Future[SimulatedRun]] = {pool.submit(work, number) for number in numbers}
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=LOOK, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                report(sum(shares.values()))
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def run_once(
    spec: Spec,
    world: Environment,
    horizon: int,
    seed: int,
    run: int,
    report: Progress,
    delay: Delay | None = None,
    at: Sequence[int] | None = None,
) -> SimulatedRun:
    """One bandit in one world. Streams are named by what they are for: world, policy, privacy, delays. at: the rounds
    that the regret curve has points at, in order; by default CURVE of them, evenly."""
    rounds = _rounds(world, horizon)
    world_seed, bandit_seed, delay_seed = SeedSequence([seed, run]).spawn(3)
    bandit = spec.build(world, rounds, bandit_seed, delay)
    delays = default_rng(delay_seed)
    played_in = spec.suited(world)
    fill = played_in.start(default_rng(world_seed), rounds).fill
    size = max(1, min(1024, rounds, BLOCK // (world.arms * played_in.width)))
    block = played_in.block(size)
    even = np.linspace(0, rounds, min(rounds, CURVE) + 1).astype(np.int64)[1:]
    checkpoints = np.unique(even if at is None else np.array(at, np.int64))
    curve = np.empty(len(checkpoints))
    regret = reward = 0.0
    uniform, places, best = np.zeros(3), np.zeros(world.arms), 0.0
    played = used = mark = 0
    started = time.thread_time()
    while played < rounds:
        if rounds - played < size:
            block = played_in.block(rounds - played)
        fill(block)
        count = len(block.noise)
        if delay is not None:
            block = block._replace(delay=delay.draw(delays, count))
        bandit.play(block)
        upto = int(np.searchsorted(checkpoints, played + count, side="right"))
        if upto > mark:
            sums = regret + np.cumsum(block.regret)
            curve[mark:upto] = sums[checkpoints[mark:upto] - played - 1]
            mark = upto
        regret += float(block.regret.sum())
        reward += float(block.reward.sum())
        used += int(np.count_nonzero(block.index >= 0))
        played += count
        aside = time.thread_time()
        uniform += _uniform(block)
        places += block.means.sum(axis=0)
        best += float(block.means.max(axis=1).sum())
        started += time.thread_time() - aside  # no part of what a round takes
        report(played / rounds)
    seconds = time.thread_time() - started
    logged = world.rounds is not None
    budget = spec.budget
    return SimulatedRun(
        bandit=spec.name,
        label=spec.label,
        env=world.name.replace("_", "-"),
        options=spec.plain_options(),
        setting=dataclasses.asdict(world)
        | {"link": named(world.link).name}
        | ({} if delay is None else {"delay": str(delay)}),
        epsilon=budget.epsilon if budget is not None else None,
        delta=budget.delta if budget is not None else None,
        horizon=rounds,
        seed=seed,
        run=run,
        rounds=used,
        regret=None if logged else regret,
        reward_mean=reward / used if used else None,
        uniform_regret=None if logged else float(uniform[0]),
        uniform_reward=float(uniform[1] / uniform[2]) if uniform[2] else None,
        single_regret=None if logged else best - float(places.max()),
        us_per_round=1e6 * seconds / rounds,
        at=checkpoints.tolist(),
        curve=[] if logged else curve.tolist(),
    )


def _uniform(block: Block) -> tuple[float, float, int]:
    """Regret and reward to expect of uniform play in these rounds, and how many of them tell: all, or those of a log,
    which rejection has made uniform."""
    mean, tells = block.means.mean(axis=1), block.logged < block.means.shape[1]
    best = block.means.max(axis=1)
    return float((best - mean).sum()), float(mean[tells].sum()), int(tells.sum())


def _delay(world: Environment, given: Delay | str | None) -> Delay | None:
    if isinstance(given, str):
        return Delay.read(given)
    if not isinstance(given, Delay | None):
        raise ValueError(f"Expected delay to be a Delay or words as {GRAMMAR}, got {type(given).__name__}.")
    return world.delay if given is None else given


def _try_out(spec: Spec, world: Environment, rounds: int, delay: Delay | None) -> None:
    """Two rounds at most: a wrong setting fails before any work, and the kernels are compiled before any is timed."""
    bandit = spec.build(world, rounds, SeedSequence(0), delay)
    low, high = world.rewards
    accepted_low, accepted_high = bandit.memory.validator.rewards
    if low < accepted_low or high > accepted_high:
        raise ValueError(
            f"Expected rewards in [{accepted_low:g}, {accepted_high:g}] for {spec.label}, "
            f"got an environment with rewards in [{low:g}, {high:g}]."
        )
    world = spec.suited(world)
    block = world.block(min(2, rounds))
    world.start(default_rng(0), rounds).fill(block)
    bandit.play(block if delay is None else block._replace(delay=delay.draw(default_rng(0), len(block.noise))))


def _rounds(world: Environment, horizon: int) -> int:
    return min(horizon, world.rounds or horizon)
