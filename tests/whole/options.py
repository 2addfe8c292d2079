"""Every option of a JointGLM, of an experiment and of what runs them, with values that are not its default, and a game
that shows what each of them does.

A value is a mapping of settings by one name each (reticent.flat, Person, Bandit): the option's own, and those without
which it means nothing (`per` needs `rounds`). Noise and draws are seeded, so that two games differ only where an option
makes a difference."""

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from core_tests.made import algorithm
from reticent import Budget, Holdout, Secure, Simulated
from reticent.errors import UnknownChoice
from reticent.features import Category, Number, Schema
from reticent.flat import flat
from reticent.kernels.glm import Tuning
from reticent.mechanisms.saving import arrays
from serve_tests.store.places import Clock, Place

ARMS, OWN = 2, 7
DIM = ARMS * OWN  # vectors, or two actions with 7 numbers each
ROUNDS, LATE = 300, 7
EPSILON, DELTA = 2.0, 1e-3
LIMIT = {"rounds": 2}
NAMES = ("walk", "sleep")
SCHEMAS = {
    "disjoint": Schema(
        context={"age": Number(0, 1, bins=2), "home": Category("a", "b")}, arms="disjoint", actions=NAMES
    ),
    "shared": Schema(context={"age": Number(0, 1)}, action={"kind": Category(*"abcdefghij")}, arms="shared"),
}
BLOCKS = {"model": "curvature", "features": SCHEMAS["disjoint"]}


class Seeded(Secure):
    """Whole numbers on the grid, the same in every game."""

    def __init__(self) -> None:
        super().__init__()
        self._drawn = default_rng(1)

    def integers(self, count: int, size: int, cells: float) -> Any:
        return np.rint(self._drawn.normal(0.0, cells, (count, size))).astype(np.int64)

    def expect(self, need: int, cells: float) -> None:
        pass


def public_rows() -> tuple[Any, Any]:
    """Each of one action."""
    rows = np.zeros((6, DIM))
    rows[np.arange(6), [0, 1, 2, 7, 8, 9]] = 0.9
    return rows, np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.5])


Values = dict[str, dict[str, Any]]  # name -> settings
OPTIONS: dict[str, Values] = {
    "range": {"wide": {"range": (-0.5, 2.0)}},
    "pending": {"5": {"pending": 5}},
    "window": {"5": {"window": 5}},
    "default": {"0.5": {"window": 5, "default": 0.5}},
    "rounds": {"2": LIMIT},
    "per": {"100": LIMIT | {"per": 100.0}},
    "per_day": {"25": LIMIT | {"per_day": 25.0, "per": "3 days"}},
    "source": {"simulated": {"source": Simulated}},
    "features": {arms: {"features": schema} for arms, schema in SCHEMAS.items()},
    "radius": {"2": {"radius": 2.0}},
    "first": {"25": {"first": 25}},
    "growth": {"1.2": {"growth": 1.2}},
    "horizon": {"none": {"horizon": None}},
    "link": {"probit": {"link": "probit"}, "identity": {"link": "identity"}},
    "model": {"scores": {"model": "scores"}, "curvature": BLOCKS},
    "discount": {"0.9": {"discount": 0.9}},
    "forget": {"600": {"forget": 600.0}},
    "tuning": {"bold": {"tuning": Tuning(ridge=4.0, explore=1.0)}},
    "prior": {"some": {"prior": (np.full(DIM, 0.1), 50.0)}},
    "rows": {"some": {"rows": public_rows()}},
    "base_rate": {"0.3": {"base_rate": 0.3}},
    "holdout": {"uniform": {"holdout": Holdout(policy="uniform", share=0.2), "window": 5, "default": 0.5}},
}
GIVEN = {"budget", "policy", "seed", "algorithm"}  # settings of the game itself
USUAL = {"features": DIM, "budget": Budget(EPSILON, DELTA), "horizon": 400, "first": 10}
RUNNING = ("pending", "source")  # settings of what runs an algorithm


def running(settings: dict[str, Any]) -> dict[str, Any]:
    """How an algorithm is run: noise and draws are seeded."""
    source = Simulated(1) if settings.get("source") is Simulated else Seeded()
    return {"pending": settings.get("pending", 40), "source": source, "policy": default_rng(2)}


def value(settings: dict[str, Any]) -> Any:
    """The algorithm."""
    return algorithm(**USUAL | {name: given for name, given in settings.items() if name not in RUNNING})


def build(kind: type, settings: dict[str, Any]) -> Any:
    """A bandit in memory."""
    return kind(value(settings), **running(settings))


def settings_of(bandit: Any) -> dict[str, Any]:
    """All of them, by one name each."""
    unit = bandit.plan.budget.unit
    limits = {"rounds": None, "per": None} if unit is None else vars(unit)
    return flat(bandit.algorithm) | limits | {"pending": bandit.memory.pending, "source": type(bandit.source)}


@functools.cache
def requests(schema: str | None) -> list[tuple[Any, dict[str, Any]]]:
    """What people ask: vectors, or fields."""
    rng = default_rng(3)
    if schema is not None:
        fields = {"age": float, "home": lambda u: "abc"[int(3 * u)]}
        made, kinds = SCHEMAS[schema], "abcdefghij"
        people = [{name: fields[name](rng.random()) for name in made.context} for _ in range(ROUNDS)]
        offers = [{name: {"kind": str(rng.choice(list(kinds)))} for name in NAMES} for _ in range(ROUNDS)]
        return [(one, {"actions": offer} if made.action else {}) for one, offer in zip(people, offers, strict=True)]
    out = rng.normal(size=(ROUNDS, ARMS, DIM))
    out /= np.linalg.norm(out, axis=2, keepdims=True)
    return [(arms, {}) for arms in out]


def play(world: "World", holder: Any, rounds: range, waiting: list[tuple[int, Any]]) -> list[Any]:
    """Of three people one answers at once, one late, one never; every tenth round is of one. What they were told."""
    plan = world.plan(holder)
    asked, told = requests(None if plan.features is None else plan.features.arms), []
    for t in rounds:
        arms, given = asked[t]
        if plan.limits.most is not None:
            given = given | {"person": 0 if t % 10 == 0 else t}
        choice = holder.choose(arms, **given)
        told.append((choice.index, choice.name, choice.propensity if t % 100 == 99 else None))
        if t % 3 == 0:
            told.append(holder.observe(choice, float(t * t % 7 < 3)))
        elif t % 3 == 1:
            waiting.append((t, choice))
        if waiting and waiting[0][0] <= t - LATE:
            try:
                told.append(holder.observe(waiting.pop(0)[1], 1.0))
            except UnknownChoice:
                told.append("expired")
    return told


# where a bandit lives


class World(NamedTuple):
    """open: a new bandit in a folder; what is returned has `choose` and `observe`. again: its process has ended, and
    another one goes on. plan: that of the bandit. shown: what an option may change. by_time: whether windows are times
    there. idle: options that change nothing there."""

    label: str
    rounds: int
    open: Any  # (kind, settings, folder) -> holder
    again: Any  # (holder, kind, settings, folder) -> holder
    plan: Any  # holder -> Plan
    shown: Any  # holder -> dict
    by_time: bool = False
    idle: tuple[str, ...] = ()


def _shown(released: Any, estimate: Any, holder: Any) -> dict[str, Any]:
    return {
        "certificate": holder.privacy,
        "released": None if released is None else released.tobytes(),
        "estimate": b"".join(np.asarray(part, np.float64).tobytes() for part in arrays(estimate)),
    }


def _loaded(bandit: Any, kind: type, settings: dict[str, Any], folder: Path) -> Any:
    source = bandit.source
    if isinstance(source, Seeded):
        bandit.source = Secure()  # a saved bandit has no seed
    bandit.save(folder / "bandit.json")
    out = type(bandit).load(folder / "bandit.json")
    if isinstance(source, Seeded):
        out.source = out.sums.source = source
    return out


MEMORY = World(
    "in memory",
    ROUNDS,
    lambda kind, settings, folder: build(kind, settings),
    _loaded,
    lambda bandit: bandit.plan,
    lambda bandit: _shown(bandit.sums.released, bandit.sums.state.estimate, bandit),
)


class OnDatabase:
    """In an SQLite file, with a clock of its own: a second for each choice."""

    def __init__(self, kind: type, settings: dict[str, Any], folder: Path, clock: Clock) -> None:
        made, self.clock = value({"window": 9} | settings), clock
        window = {"window": f"{settings.get('window', 9)} seconds"}
        place = Place(str(folder / "bandit.db"), None)
        self.stored = place.open(made, reward=window, clock=clock, **running(settings))

    def choose(self, arms: Any, **given: Any) -> Any:
        self.clock.now += 1.0
        self.stored.tend()
        return self.stored.choose(arms, **given)

    def observe(self, choice: Any, reward: float) -> bool:
        return self.stored.observe(choice, reward)

    def again(self, kind: type, settings: dict[str, Any], folder: Path) -> "OnDatabase":
        self.stored.close()
        return OnDatabase(kind, settings, folder, self.clock)

    def shown(self) -> dict[str, Any]:
        estimator = self.stored._served.estimator
        return _shown(estimator._released, estimator.estimate.arrays, self.stored)


DATABASE = World(
    "on a database",
    60,
    lambda kind, settings, folder: OnDatabase(kind, settings, folder, Clock()),
    OnDatabase.again,
    lambda holder: holder.stored.one_pass.plan,
    OnDatabase.shown,
    by_time=True,
    idle=("pending", "per", "per_day"),  # answers are kept for longer than the game, and weeks are longer
)
