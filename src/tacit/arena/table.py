"""Rows: who played where, at which true epsilon, what was regretted, what it cost. Kept in a file, one line a row."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
from numpy.random import SeedSequence

from tacit import __version__
from tacit.arena.audit import RUNS, WORLD, audited
from tacit.arena.entries import Player
from tacit.arena.submission import Submitted, loaded
from tacit.arena.worlds import DELTA, SEED, VERSION, Arena
from tacit.bandits.base import Bandit
from tacit.errors import Interrupted
from tacit.experiments import disk_cache
from tacit.experiments.result import Result
from tacit.experiments.runner import simulate

FEW = 60  # runs of an audit of a stranger's class that is closed, each of which may start a process: 1.7 at most


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """epsilon: as asked. true: computed from the noise in use, None where nothing is promised; stated: by a stranger.
    audit: a lower bound. audited: a digest of the code that was audited. mean: None where the world is not played, and
    why."""

    version: int
    name: str
    trust: str
    epsilon: float | None
    world: str
    code: str
    tacit: str
    why: str = ""
    true: float | None = None
    stated: bool = False
    relation: str = ""
    audit: float | None = None
    audited: str = ""
    runs: int = 0
    mean: float | None = None
    error: float | None = None
    p95: float | None = None
    worst: float | None = None
    uniform: float | None = None
    us: float | None = None

    @property
    def key(self) -> tuple[int, str, float | None, str]:
        return self.version, self.name, self.epsilon, self.world


def read(path: Path) -> dict[tuple[int, str, float | None, str], Played]:
    """Rows by what they are of."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return {row.key: row for row in (msgspec.json.decode(line, type=Played) for line in lines if line.strip())}


def write(path: Path, rows: Iterable[Played]) -> None:
    disk_cache.write(path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def fill(
    path: Path,
    entries: Sequence[Player],
    arenas: Sequence[Arena],
    *,
    out: Path,
    runs: int | None = None,
    minutes: float = math.inf,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[tuple[int, str, float | None, str], Played]:
    """Every entry in every world, as far as time allows: rows of the code as it is, with at least as many runs, are not
    played again. Each row is in the file as soon as it is done. Interrupted when the time is over."""
    stop = time.monotonic() + 60 * minutes
    rows = read(path)
    for arena in arenas:
        for entry in entries:
            if not entry.plays(arena):
                continue
            count = runs or min(entry.runs or arena.runs, arena.runs)
            code = entry.spec.options.get("digest") or disk_cache.code(entry.spec.kind, type(arena.world))[:12]
            epsilon = None if entry.epsilon == math.inf else entry.epsilon
            known = rows.get((VERSION, entry.name, epsilon, arena.name))
            if known is not None and known.code == code and (known.why or known.runs >= count):
                continue
            if time.monotonic() > stop:
                raise Interrupted(
                    f"The time is over: {len(rows)} rows are in {path}; the same command goes on from there."
                )
            row = played(entry, arena, count, code, out, rows)
            rows[row.key] = row
            write(path, rows.values())
            tell(
                f"{row.name} {row.epsilon or ''} {row.world}: {'not played' if row.mean is None else f'{row.mean:.1f}'}"
            )
    return rows


def played(
    entry: Player,
    arena: Arena,
    runs: int,
    code: str,
    out: Path,
    rows: dict[tuple[int, str, float | None, str], Played],
) -> Played:
    """One row. The audit is taken over from a row of the same entry, epsilon and code, if one has it."""
    epsilon = None if entry.epsilon == math.inf else entry.epsilon
    row = Played(
        version=VERSION,
        name=entry.name,
        trust=entry.trust,
        epsilon=epsilon,
        world=arena.name,
        code=code,
        tacit=__version__,
    )
    try:
        result = simulate([entry.spec], arena.world, horizon=arena.horizon, runs=runs, seed=SEED, out=out, workers=1)
        true, stated, relation = certified(entry, arena)
    except ValueError as error:
        return msgspec.structs.replace(row, why=str(error))
    row = msgspec.structs.replace(row, true=true, stated=stated, relation=relation)
    if epsilon is not None:
        now = entry.spec.options.get("digest") or disk_cache.code(entry.spec.kind, type(WORLD))[:12]
        mine = (each for each in rows.values() if (each.name, each.epsilon, each.audited) == (row.name, epsilon, now))
        known = next((each.audit for each in mine if each.audit is not None), None)
        if known is None:
            known = audited(entry, claim=true or epsilon, delta=DELTA, runs=FEW if started(entry) else RUNS)
        row = msgspec.structs.replace(row, audit=known, audited=now)
    return measured(row, result)


def started(entry: Player) -> bool:
    """Whether it is a stranger's class that has something to close, such as a process."""
    given = entry.spec.options
    return entry.spec.kind is Submitted and hasattr(loaded(Path(given["file"]), given["script"]), "close")


def measured(row: Played, result: Result) -> Played:
    (found,) = result.rows
    return msgspec.structs.replace(
        row,
        runs=found["runs"],
        mean=found["regret_mean"],
        error=found["regret_se"],
        p95=found["regret_p95"],
        worst=found["regret_max"],
        uniform=found["uniform"]["regret_mean"],
        us=found["us_per_round"],
    )


def certified(entry: Player, arena: Arena) -> tuple[float | None, bool, str]:
    """(true epsilon, whether it is only stated, the relation) of the bandit as it plays there."""
    bandit: Bandit = entry.spec.build(arena.world, arena.horizon, SeedSequence(0))
    if isinstance(bandit, Submitted):
        said = bandit.claimed()
        return float(said["epsilon"]), True, str(said.get("relation", ""))
    certificate = bandit.privacy
    return certificate.epsilon, False, certificate.neighbours
