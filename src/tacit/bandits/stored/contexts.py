"""Public contexts (onepass.public) on a database: what those of each step's choices sum to, without noise.

A step's row changes in the transaction that counts a choice, while the bandit's row is locked: so each choice is in it
once, whichever worker made it, and is there if it was ever answered. Numbers are added in the order of choices, which
is public, so that not even their last bits tell how requests were grouped, as they are while rewards are written. When
the step closes its row is done. It is read with the step's noisy leaf, which is made later, and stays with that.

Rows are not sealed: they are as public as the contexts were declared, and estimates are made from them when all keys
are destroyed. Who sees a row before and after a choice can read its features. Nothing shows rows but estimates."""

import itertools

import numpy as np

from tacit.bandits.joint.continual import SummedBandit
from tacit.data import Array
from tacit.errors import BadState
from tacit.kernels.continual import join
from tacit.store import context_sums
from tacit.store.database import Run
from tacit.store.leaf_rows import Leaf


def begin(run: Run, uid: str, bandit: SummedBandit, step: int) -> None:
    """The open step's sums, as they are before the choices of this transaction."""
    opened = bandit._also().open
    found = context_sums.get(run, uid, step) if opened.size else None
    opened[:] = 0.0 if found is None else _read(found, opened.size)


def end(run: Run, uid: str, bandit: SummedBandit, step: int) -> None:
    """With the choices that were made."""
    opened = bandit._also().open
    if opened.size:
        context_sums.put(run, uid, step, opened.tobytes())


def after(leaf: Leaf, fading: float, closed: Array) -> None:
    """closed <- fading * closed + what the contexts of that leaf's step sum to. Nothing where they are private."""
    if closed.size:
        join(_read(leaf.contexts, closed.size), closed, fading)


def complete(found: list[Leaf], size: int) -> list[Leaf]:
    """Leaves up to the first without its step's sums: estimates need both. All of them where contexts are private."""
    return list(itertools.takewhile(lambda leaf: not size or _whole(leaf.contexts, size), found))


def of_prior(prior: bytes | None, size: int) -> Array:
    """The last `size` numbers of a prior: what the contexts summed to that its released numbers are of."""
    return np.zeros(size) if prior is None or not size else _read(prior[-8 * size :], size)


def _read(row: bytes | None, size: int) -> Array:
    if row is None or not _whole(row, size):
        raise BadState("Expected what a step's contexts sum to, got a database without it: recover.")
    return np.frombuffer(row, np.float64).copy()


def _whole(row: bytes | None, size: int) -> bool:
    return row is not None and len(row) == 8 * size
