"""Every statement on leaves. A leaf is drawn into a table of its own, sealed: no backup without keys holds a noise that
the witness does not know. Once the witness has it on disk, it moves, unsealed, to the leaves that stay. Callers hold a
transaction (`run`)."""

from typing import NamedTuple

from reticent_serve.holders.database import Rows, Run

ALL = (  # in one statement: a leaf that moves is in one of the two tables
    "(SELECT bandit, step, sums, noisy, visible_at, 0 AS sealed FROM leaf"
    " UNION ALL SELECT bandit, step, sums, noisy, visible_at, 1 AS sealed FROM drawn) AS one"
)


class Leaf(NamedTuple):
    step: int
    noisy: bytes
    visible_at: float
    sealed: bool = False  # whether `noisy` is


class SealedLeaf(NamedTuple):
    """A leaf, sealed, with the exact sums that it was drawn for, sealed as well."""

    step: int
    sums: bytes
    noisy: bytes
    visible_at: float


def draw(run: Run, uid: str, new: SealedLeaf) -> bool:
    """One for each step: False if it has one."""
    made = run(
        "INSERT INTO drawn (bandit, step, sums, noisy, visible_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        " RETURNING step",
        uid,
        *new,
    )
    return bool(made)


def drawn(run: Run, uid: str) -> list[SealedLeaf]:
    """Those that have not moved yet."""
    return _drawn(run("SELECT step, sums, noisy, visible_at FROM drawn WHERE bandit = ? ORDER BY step", uid))


def take(run: Run, uid: str, before: int) -> list[SealedLeaf]:
    """Those of steps below that one, which are gone from there."""
    return _drawn(
        run("DELETE FROM drawn WHERE bandit = ? AND step < ? RETURNING step, sums, noisy, visible_at", uid, before)
    )


def _drawn(found: Rows) -> list[SealedLeaf]:
    return [SealedLeaf(int(step), bytes(sums), bytes(noisy), float(at)) for step, sums, noisy, at in found]


def keep(run: Run, uid: str, step: int, sums: bytes, noisy: bytes, visible_at: float) -> None:
    """A leaf that the witness knows."""
    run(
        "INSERT INTO leaf (bandit, step, sums, noisy, visible_at) VALUES (?, ?, ?, ?, ?)",
        uid,
        step,
        sums,
        noisy,
        visible_at,
    )


def found(run: Run, uid: str, start: int) -> list[Leaf]:
    """From that step on, with those that are sealed still."""
    rows = run(
        f"SELECT step, noisy, visible_at, sealed FROM {ALL} WHERE bandit = ? AND step >= ? ORDER BY step", uid, start
    )
    return [Leaf(int(step), bytes(noisy), float(at), bool(sealed)) for step, noisy, at, sealed in rows]


def sums(run: Run, uid: str, start: int) -> list[tuple[int, bytes]]:
    """(step, sums) from that step on, of those that are kept."""
    rows = run(
        f"SELECT step, sums FROM {ALL} WHERE bandit = ? AND step >= ? AND length(sums) > 0 ORDER BY step", uid, start
    )
    return [(int(step), bytes(sums)) for step, sums in rows]


def put_sum(run: Run, uid: str, step: int, sums: bytes) -> None:
    for table in ("leaf", "drawn"):
        run(f"UPDATE {table} SET sums = ? WHERE bandit = ? AND step = ?", sums, uid, step)
