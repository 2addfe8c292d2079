"""What is played. A version never changes: a world that is added or changed makes a new one."""

from collections.abc import Iterator
from dataclasses import dataclass

from reticent import environments
from reticent.environments.base import Environment
from reticent_lab.environments import breast_cancer, digits, front_page, random

VERSION = 2
DELTA = 1e-6  # below 1 / horizon in every world
EPSILONS = (1.0, 4.0)
SEED = 20_260_731  # of run i: (SEED, i)
ROUNDS = 5000
RANDOM = (
    207,
    210,
    215,
    219,
    229,
    234,
)  # of random.REPORTING: the first six with vectors for arms and no delay, to 20 000


@dataclass(frozen=True, kw_only=True)
class Arena:
    """One world of the benchmark. group: small, random, page or real. runs: unless a submission asks for fewer."""

    name: str
    group: str
    world: Environment
    horizon: int
    runs: int


def arenas() -> list[Arena]:
    """Version 2: version 1 had no front page."""
    return [*_small(), *_random(), *_page(), *_real()]


def small() -> list[Environment]:
    """The six small worlds."""
    probit = {"radius": 3.0, "link": "probit"}
    return [
        environments.ball(dim=3, arms=20, **probit),  # type: ignore[arg-type]
        environments.fixed(dim=3, arms=20, **probit),  # type: ignore[arg-type]
        environments.basis(dim=5, arms=5, **probit),  # type: ignore[arg-type]
        environments.shift(**probit),  # type: ignore[arg-type]
        environments.gap(**probit),  # type: ignore[arg-type]
        environments.rare(**probit),  # type: ignore[arg-type]
    ]


def _small() -> Iterator[Arena]:
    for world in small():
        yield Arena(name=world.name, group="small", world=world, horizon=ROUNDS, runs=50)


def _random() -> Iterator[Arena]:
    for number in RANDOM:
        world = random(number=number)
        yield Arena(name=f"random {number}", group="random", world=world, horizon=world.horizon, runs=20)


def _page() -> Iterator[Arena]:
    world = front_page()
    yield Arena(name="front-page", group="page", world=world, horizon=10_000, runs=10)


def _real() -> Iterator[Arena]:
    for world in (digits(), breast_cancer()):
        yield Arena(name=world.name.replace("_", "-"), group="real", world=world, horizon=ROUNDS, runs=20)
