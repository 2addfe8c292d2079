"""Rows: who played where, at which true epsilon, what was regretted, what it cost. Kept in a file, one line a row."""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
from numpy.random import SeedSequence

from reticent import __version__, checks
from reticent.errors import Interrupted
from reticent.experiments.result import Result
from reticent_lab.arena.audit import RUNS, WORLD, Audited, audited
from reticent_lab.arena.audit import VERSION as ATTACK
from reticent_lab.arena.entries import Player
from reticent_lab.arena.submission import Submitted, loaded
from reticent_lab.arena.worlds import SEED, VERSION, Arena
from reticent_lab.experiments import disk_cache
from reticent_lab.experiments.sweeps import simulate

FEW = 60  # runs of an audit of a stranger's class that is closed, each of which may start a process: 1.7 at most


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """epsilon: as asked. true: computed from the noise in use, None where nothing is promised; stated: by a stranger.
    audit: a lower bound, None where the attack would see nothing without noise, either; from so many runs of each
    world. audited: a digest of the code that was audited. mean: None where the world is not played, and why."""

    version: int
    name: str
    trust: str
    epsilon: float | None
    world: str
    code: str
    reticent: str
    why: str = ""
    true: float | None = None
    stated: bool = False
    relation: str = ""
    audit: float | None = None
    audit_runs: int = 0
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
    played again, nor those of ours that take no such world. Each row is in the file as soon as it is done, beside what
    others wrote there meanwhile. Interrupted when the time is over."""
    if runs is not None:
        checks.positive_int(runs=runs)
    stop = time.monotonic() + 60 * minutes
    rows = read(path)
    for arena in arenas:
        for entry in entries:
            if not entry.plays(arena):
                continue
            count = runs or min(entry.runs or arena.runs, arena.runs)
            row = empty(entry, arena)
            known = rows.get(row.key)
            if known is not None and known.code == row.code and done(known, entry, count):
                continue
            if time.monotonic() > stop:
                raise Interrupted(
                    f"The time is over: {len(rows)} rows are in {path}; the same command goes on from there."
                )
            row = played(entry, arena, count, out, rows)
            rows = read(path) | {row.key: row}
            write(path, rows.values())
            tell(
                f"{row.name} {row.epsilon or ''} {row.world}: {'not played' if row.mean is None else f'{row.mean:.1f}'}"
            )
    return rows


def done(row: Played, entry: Player, runs: int) -> bool:
    """A stranger's failure may be over by now."""
    return row.runs >= runs or bool(row.why and not strange(entry))


def empty(entry: Player, arena: Arena) -> Played:
    return Played(
        version=VERSION,
        name=entry.name,
        trust=entry.trust,
        epsilon=None if entry.epsilon == math.inf else entry.epsilon,
        world=arena.name,
        code=digest(entry, type(arena.world)),
        reticent=__version__,
    )


def digest(entry: Player, world: type, *more: str) -> str:
    """Of all that can change a row: code, a stranger's file, and options."""
    made = disk_cache.code(entry.spec.kind, world), entry.spec.plain_options(), more
    return hashlib.sha256(json.dumps(made, sort_keys=True, default=str).encode()).hexdigest()[:12]


def played(
    entry: Player, arena: Arena, runs: int, out: Path, rows: dict[tuple[int, str, float | None, str], Played]
) -> Played:
    """One row. The audit is taken over from a row of the same entry, epsilon, code and attack, if one has it. Whatever
    a stranger's class raises is why its world is not played."""
    row = empty(entry, arena)
    try:
        result = simulate([entry.spec], arena.world, horizon=arena.horizon, runs=runs, seed=SEED, out=out, workers=1)
        true, stated, relation = certified(entry, arena)
        row = msgspec.structs.replace(row, true=true, stated=stated, relation=relation)
        if row.epsilon is not None:
            row = with_audit(row, entry, rows.values())
    except Exception as error:
        if not strange(entry) and not isinstance(error, ValueError):
            raise
        return msgspec.structs.replace(empty(entry, arena), why=f"{error}" or type(error).__name__)
    return measured(row, result)


def with_audit(row: Played, entry: Player, rows: Iterable[Played]) -> Played:
    now = digest(entry, type(WORLD), ATTACK)
    for each in rows:
        if (each.name, each.epsilon, each.audited) == (row.name, row.epsilon, now):
            found = Audited(each.audit, each.audit_runs)
            break
    else:
        found = audited(entry, runs=FEW if started(entry) else RUNS, given=entry.spec.kind is Submitted)
    return msgspec.structs.replace(row, audit=found.at_least, audit_runs=found.runs, audited=now)


def strange(entry: Player) -> bool:
    """Whether its code is not reticent's."""
    return not entry.spec.kind.__module__.startswith("reticent.") or entry.spec.kind is Submitted


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
    """(true epsilon, whether it is only stated, the relation) of the bandit as it plays there. A stranger's class that
    inherits from one of ours may have changed what its certificate is computed from."""
    bandit = entry.spec.build(arena.world, arena.horizon, SeedSequence(0))
    if isinstance(bandit, Submitted):
        said = bandit.claimed(arena.world.arms)
        return float(said["epsilon"]), True, str(said.get("relation", ""))
    certificate = bandit.privacy
    return certificate.epsilon, strange(entry), certificate.neighbours
