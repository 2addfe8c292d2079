"""Who does the runs of a sweep: threads of this process, because kernels release Python's lock, or processes of Ray on
many machines. Each run has its own seed, so both give the same bits."""

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import ContextVar
from functools import partial
from math import ceil
from pathlib import Path
from typing import Protocol

from tacit import checks, cluster
from tacit.errors import Interrupted
from tacit.experiments import disk_cache
from tacit.experiments.result import SimulatedRun

AT_LEAST = (
    1.0  # seconds of work that Ray is handed at a time, where there is so much: to hand it out takes milliseconds
)
LOOK = 0.2  # seconds from one look at what is done to the next

Progress = Callable[[float], None]  # called with the share of the work that is done
Finished = Callable[[int, SimulatedRun], None]  # called with the number of a run, here, as soon as it is done
_engine: ContextVar[str] = ContextVar("engine", default="local")


class Play(Protocol):
    def __call__(self, number: int, report: Progress) -> SimulatedRun:
        """The run of that number. report: called with the share of it that is done; may raise, to stop it."""
        ...


@contextlib.contextmanager
def using(engine: str) -> Iterator[None]:
    """The engine of every `simulate` in this block that is not given one."""
    checks.one_of(cluster.ENGINES, engine=engine)
    before = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(before)


def sweep(
    engine: str | None,
    play: Play,
    numbers: Sequence[int],
    finished: Finished,
    report: Progress,
    *,
    folder: Path | None,
    workers: int | None,
) -> None:
    """Do those runs. report: called with how many of them are done, parts of runs included."""
    engine = engine or _engine.get()
    checks.one_of(cluster.ENGINES, engine=engine)
    if not numbers:
        return
    if engine == "ray":
        on_ray(play, numbers, finished, report, folder=folder, workers=workers)
    else:
        on_threads(play, numbers, finished, report, workers=workers)


def on_threads(
    play: Play, numbers: Sequence[int], finished: Finished, report: Progress, *, workers: int | None
) -> None:
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
