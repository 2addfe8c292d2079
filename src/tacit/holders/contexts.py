"""Public contexts on a database: what those of each step's entries sum to, without noise.

A step's row changes in the transaction in which choices enter, so each choice is in it once. Numbers are added in the
order of choices, which is public. When the step closes its row is done; it is read with the step's noisy leaf.

Rows are not sealed: they are as public as the contexts were declared, and estimates are made from them when all keys
are destroyed. Who sees a row before and after a choice enters can read its features. Nothing shows rows but
estimates."""

import itertools

import numpy as np

from tacit.data import Array
from tacit.errors import BadState
from tacit.holders.database import Run
from tacit.holders.leaf_rows import Leaf
from tacit.kernels.continual import join


def opened(run: Run, uid: str, step: int, size: int) -> Array:
    """The open step's sums so far; of size 0 where contexts are private."""
    found = run("SELECT sums FROM context_sum WHERE bandit = ? AND step = ?", uid, step) if size else []
    return read(bytes(found[0][0]), size) if found else np.zeros(size)  # nobody has chosen in that step


def put(run: Run, uid: str, step: int, sums: Array) -> None:
    if sums.size:
        run(
            "INSERT INTO context_sum (bandit, step, sums) VALUES (?, ?, ?) ON CONFLICT (bandit, step) DO UPDATE"
            " SET sums = excluded.sums",
            uid,
            step,
            sums.tobytes(),
        )


def after(leaf: Leaf, fading: float, closed: Array) -> None:
    """closed <- fading * closed + what the contexts of that leaf's step sum to. Nothing where they are private."""
    if closed.size:
        join(read(leaf.contexts, closed.size), closed, fading)


def complete(found: list[Leaf], size: int) -> list[Leaf]:
    """Leaves up to the first without its step's sums: estimates need both. All of them where contexts are private."""
    return list(itertools.takewhile(lambda leaf: not size or _whole(leaf.contexts, size), found))


def of_prior(prior: bytes | None, size: int) -> Array:
    """The last `size` numbers of a prior: what the contexts summed to that its released numbers are of."""
    return np.zeros(size) if prior is None or not size else read(prior[-8 * size :], size)


def read(row: bytes | None, size: int) -> Array:
    if row is None or not _whole(row, size):
        raise BadState("Expected what a step's contexts sum to, got a database without it.")
    return np.frombuffer(row, np.float64).copy()


def _whole(row: bytes | None, size: int) -> bool:
    return row is not None and len(row) == 8 * size
