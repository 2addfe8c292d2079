"""How long a release takes, measured before a worker serves, so that nobody's data and none of its requests are in it
(other workers of PostgreSQL may be at work meanwhile).

A release of nothing at the last step of the plan, which takes longest: zeros, sealed, opened and measured, with noise
that is drawn and thrown away. Its rows belong to no bandit; there is no leaf among them."""

import functools
import secrets
import statistics
import time
from collections.abc import Callable
from typing import Any

from tacit.holders import incarnation, rows
from tacit.holders.incarnation import Vault
from tacit.holders.terms import Agreed
from tacit.mechanisms import leaves
from tacit.mechanisms.grid import Grid
from tacit.protocols import Algorithm

MARGIN = 10  # the public delay is at least so many times as long, or an event says so
TIMES = 3
SHORT = f"delay short: less than {MARGIN} times as long as a release takes"


def check(algorithm: Algorithm[Any], source: Any, vault: Vault, agreed: Agreed, at: float) -> None:
    """An event, once for a bandit, if its delay is too short. 0 is for tests."""
    if not agreed.ended and agreed.now.delay > 0 and MARGIN * measured(algorithm, source, vault) > agreed.now.delay:
        with vault.database.transaction() as run:
            if all(what != SHORT for _, what in rows.events(run, vault.uid)):
                rows.event(run, vault.uid, at, SHORT)


def measured(algorithm: Algorithm[Any], source: Any, vault: Vault) -> float:
    """Seconds: the median of a few."""
    once = _release(algorithm, source, vault)
    once()  # compiled, and in memory
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        once()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _release(algorithm: Algorithm[Any], source: Any, vault: Vault) -> Callable[[], None]:
    grid, database, uid = algorithm.plan.mechanism, vault.database, f"rehearsal {secrets.token_hex(8)}"
    assert isinstance(grid, Grid)
    closed, step = leaves.ClosedSteps(grid, source), grid.leaves - 1
    closed.pretend(step)
    place = incarnation.place(uid, step, "open")

    def once() -> None:
        with database.transaction() as run:
            key = rows.head(run, vault.uid).sums_key
            rows.make_step(run, uid, incarnation.empty(vault.seal, uid, key, step, 0, algorithm))
        with database.transaction() as run:
            found = rows.open_step(run, uid)
        assert found is not None
        total = leaves.StepSums.unsealed(grid, found.sums, functools.partial(vault.seal.open, "sums", place))
        closed.measured(total, source)
        total.sealed(functools.partial(vault.seal.seal, "sums", key, place))
        with database.transaction() as run:
            rows.end_step(run, uid)

    return once
