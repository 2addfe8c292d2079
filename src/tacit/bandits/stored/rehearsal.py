"""How long a release takes, measured before a worker serves, so that nobody's data and none of its requests are in it
(other workers of PostgreSQL may be at work meanwhile).

A release of nothing at the last step of the plan, which takes longest: zeros in as many shards as ever, opened and
summed, with noise that is drawn and thrown away. Its rows belong to no bandit; there is no leaf among them. It has two
commits where one makes a leaf that can be used."""

import secrets
import statistics
import time
from collections.abc import Callable

import numpy as np

from tacit.bandits.joint.continual import SummedBandit
from tacit.bandits.stored.line import Line, place, zeros
from tacit.bandits.stored.terms import Agreed
from tacit.data import Raw
from tacit.mechanisms import leaves
from tacit.mechanisms.grid import Grid
from tacit.store import rows

MARGIN = 10  # the public delay is at least so many times as long, or an event says so
TIMES = 3
SHORT = f"delay short: less than {MARGIN} times as long as a release takes"


def check(bandit: SummedBandit, line: Line, agreed: Agreed, at: float) -> None:
    """An event, once for a bandit, if its delay is too short. 0 is for tests."""
    if not agreed.ended and agreed.now.delay > 0 and MARGIN * measured(bandit, line) > agreed.now.delay:
        with line.database.transaction() as run:
            if all(what != SHORT for _, what in rows.events(run, line.uid)):
                rows.event(run, line.uid, at, SHORT)


def measured(bandit: SummedBandit, line: Line) -> float:
    """Seconds: the median of a few."""
    once = _release(bandit, line)
    once()  # compiled, and in memory
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        once()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _release(bandit: SummedBandit, line: Line) -> Callable[[], None]:
    grid, database, uid = bandit.mechanism, line.database, f"rehearsal {secrets.token_hex(8)}"
    assert isinstance(grid, Grid)
    state = grid.init(bandit.source)
    state.noise.step[0] = step = grid.leaves - 1

    def once() -> None:
        with database.transaction() as run:
            key = rows.head(run, line.uid).sums_key
            rows.open_step(run, uid, step, zeros(line.seal, uid, key, step, grid.size, database.shards))
            rows.close_step(run, uid, step, 0.0)
        with database.transaction() as run:
            parts = rows.closed_sums(run, uid, step)
        opened = [line.seal.open("sums", place(uid, step, shard), sealed) or b"" for shard, sealed in parts]
        total = Raw(np.sum([leaves.exact(part, grid.size) for part in opened], axis=0))
        grid.measure(state, total, bandit.source)
        line.seal.seal("sums", key, place(uid, step, "leaf"), total.tobytes())
        with database.transaction() as run:
            rows.finish_step(run, uid, step)

    return once
