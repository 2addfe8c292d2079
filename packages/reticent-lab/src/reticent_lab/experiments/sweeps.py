"""Sweeps of simulations: each finished run kept on disk, and done by threads of this process or by processes of Ray on
many machines. Each run has its own seed, so both give the same bits."""

import contextlib
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

from reticent import checks
from reticent.environments import Delay, Environment
from reticent.errors import Interrupted
from reticent.experiments import runner
from reticent.experiments.result import Result, SimulatedRun
from reticent.experiments.runner import LOOK, Finished, Play, Progress, Task
from reticent.experiments.spec import Spec
from reticent_lab import cluster
from reticent_lab.experiments import disk_cache

AT_LEAST = (
    1.0  # seconds of work that Ray is handed at a time, where there is so much: to hand it out takes milliseconds
)

_engine: ContextVar[str] = ContextVar("engine", default="local")


@contextlib.contextmanager
def using(engine: str) -> Iterator[None]:
    """The engine of every `simulate` in this block that is not given one."""
    checks.one_of(cluster.ENGINES, engine=engine)
    before = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(before)


def simulate(
    bandits: Sequence[Spec],
    environment: Environment | Sequence[Environment],
    *,
    horizon: int,
    runs: int,
    seed: int,
    out: str | Path | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
    engine: str | None = None,
    delay: Delay | str | None = None,
) -> Result:
    """As `reticent.simulate`. With `out`, each finished run is a file there, and a second call with the same arguments
    and the same code takes up where the first one stopped.

    engine: "local", or "ray": the same bits from many machines (docs/cluster.md). workers: threads, or Ray's processes.
    """
    engine = engine or _engine.get()
    checks.one_of(cluster.ENGINES, engine=engine)
    sweep = runner.planned(bandits, environment, horizon=horizon, runs=runs, seed=seed, delay=delay)
    count = len(sweep.tasks)
    places: list[Path | None] = [None] * count
    if out is not None:
        found = [_place(Path(out) / "runs", task, horizon, seed) for task in sweep.tasks]
        disk_cache.tell(found)
        places = [*found]
    done: dict[int, SimulatedRun] = {}
    for number, place in enumerate(places):
        if place is not None and place.exists():
            done[number] = disk_cache.read(place, label=sweep.tasks[number].spec.label)
    todo = [number for number in range(count) if number not in done]
    before = len(done)

    def finished(number: int, run: SimulatedRun) -> None:
        place = places[number]
        if place is not None:
            disk_cache.keep(place, run)
        done[number] = run

    def report(runs: float) -> None:
        if progress is not None:
            progress((before + runs) / count)

    report(0.0)
    try:
        if engine == "ray" and todo:
            folder = None if out is None else Path(out)
            on_ray(sweep.play, todo, finished, report, folder=folder, workers=workers)
        else:
            runner.on_threads(sweep.play, todo, finished, report, workers=workers)
    except KeyboardInterrupt:
        safe = f"{len(done)} of {count} runs are kept in {out}; the same command goes on from there."
        raise Interrupted(safe if out is not None else "Stopped; nothing is kept without `out`.") from None
    return Result([done[i] for i in range(count)])


def _place(folder: Path, task: Task, horizon: int, seed: int) -> Path:
    """Where that run is kept."""
    spec, world, run, delay = task
    identity: dict[str, Any] = {
        "bandit": f"{spec.kind.__module__}.{spec.kind.__qualname__}",
        "options": spec.plain_options(),
        "budget": repr(spec.budget),
        "env": repr(world),
        "data": world.data,
        "delay": repr(delay),
        "horizon": horizon,
        "seed": seed,
        "run": run,
    }
    return disk_cache.place(folder, identity, spec.kind, type(world))


def on_ray(
    play: Play,
    numbers: Sequence[int],
    finished: Finished,
    report: Progress,
    *,
    folder: Path | None,
    workers: int | None,
) -> None:
    """Each worker is handed an equal share of what is left, does as much of it as takes AT_LEAST, and gives the rest
    back: nobody has to guess how long a run takes."""
    crew = cluster.Workers(partial(some, play, disk_cache.code()), folder, workers)
    left, done = deque(numbers), 0
    try:
        while left or crew.busy:
            while left and crew.busy < crew.count:
                crew.submit([left.popleft() for _ in range(ceil(len(left) / (crew.count - crew.busy)))])
            for handed, runs in crew.finished(LOOK):
                for number, run in zip(handed, runs, strict=False):
                    finished(number, run)
                left.extendleft(reversed(handed[len(runs) :]))
                done += len(runs)
            report(done)
    except BaseException:
        crew.stop()
        raise


def some(play: Play, code: str, numbers: Sequence[int]) -> list[SimulatedRun]:
    """On a worker: the first of those runs, as many as take AT_LEAST."""
    if disk_cache.code() != code:
        raise ValueError(
            f"Expected the code of the calling process on every machine, got other code on {os.uname()[1]}."
        )
    started, runs = time.monotonic(), []
    for number in numbers:
        runs.append(play(number, lambda _: None))
        if time.monotonic() - started >= AT_LEAST:
            break
    return runs
