"""`python -m tools.fields [people|late|rates|vectors|eight|shared ...] [--runs 20] [--seed 900]`: the tables
of docs/measurements/fields.md.

Share: of what the best message for each person gains over a random one, what a bandit gained, over the second half of n
people, in per cent: mean and standard error over runs. All tables by default; progress goes to stderr."""

import argparse
import functools
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from reticent import Budget, JointGLM, Spec, environments, simulate
from reticent.environments.base import Environment
from reticent.experiments.result import SimulatedRun
from reticent_lab.environments import clicks
from reticent_papers.references.mle_ucb import MLEUCB
from tools.eight import MATTER, Eight
from tools.topics import Topics

DELTA = 1e-6
DELAY = "exponential:100"  # of a click, in later choices
WINDOWS = (230, 700, 2000)  # of clicks 90 %, 99.9 % and all have come by then
FAMILIES = 5  # of worlds with eight fields
WRONG = {"right": 1.0, "x 0.3": 0.3, "x 3": 3.0, "not at all": None}


class Row(NamedTuple):
    """A world, in words and as it is; the bandit, in words and as it is; and when rewards come."""

    world: str
    environment: Environment
    bandit: str
    spec: Spec
    delay: str | None = None


def glm(epsilon: float, **options: Any) -> Spec:
    return Spec(JointGLM, budget=Budget(epsilon, DELTA), **options)


def by_people() -> Iterator[Row]:
    worlds = {
        "five fields": environments.messages(),
        "one field": environments.messages(fields=1),
        "dependent fields": environments.messages(dependent=True),
    }
    for name, world in worlds.items():
        for epsilon in (1.0, 4.0):
            yield Row(name, world, f"by fields, ε = {epsilon:g}", glm(epsilon))
            yield Row(name, world, f'`model="curvature"`, ε = {epsilon:g}', glm(epsilon, model="curvature"))
        yield Row(name, world, "`MLEUCB`, no privacy", Spec(MLEUCB))


def late() -> Iterator[Row]:
    for epsilon in (8.0, 1.0):
        for window in WINDOWS:
            options: dict[str, Any] = {"window": window, "default": 0.0}
            words = f"clicks after 100 choices, `window={window}`"
            yield Row(words, environments.messages(), f"by fields, ε = {epsilon:g}", glm(epsilon, **options), DELAY)
            options["model"] = "curvature"
            told = f'`model="curvature"`, ε = {epsilon:g}'
            yield Row(words, environments.messages(), told, glm(epsilon, **options), DELAY)


def rates() -> Iterator[Row]:
    for rate in (0.01, 0.03):
        world = environments.messages(base_rate=rate)
        for epsilon in (1.0, 4.0):
            for words, factor in WRONG.items():
                options = {} if factor is None else {"base_rate": round(factor * rate, 6)}
                declared = f"by fields, declared {words}, ε = {epsilon:g}"
                yield Row(f"{100 * rate:g} % click", world, declared, glm(epsilon, **options))
            told = f'`model="curvature"`, ε = {epsilon:g}'
            yield Row(f"{100 * rate:g} % click", world, told, glm(epsilon, model="curvature"))


def vectors() -> Iterator[Row]:
    for rate in (0.01, 0.03):
        worlds = {
            "without a constant": clicks(base_rate=rate, dim=4, constant=0.0),
            "with a constant of 0.8": clicks(base_rate=rate),
        }
        for words, world in worlds.items():
            name = f"{100 * rate:g} % click, {words}"
            for said, factor in WRONG.items():
                given = {} if factor is None else {"base_rate": round(factor * rate, 6)}
                yield Row(name, world, f"declared {said}, ε = 1", glm(1.0, **given))
            yield Row(name, world, '`link="identity"`, ε = 1', glm(1.0, link="identity"))


def eight_fields() -> Iterator[Row]:
    for number in range(FAMILIES):
        for words, options in {
            "by fields": {},
            '`model="curvature"`': {"model": "curvature"},
        }.items():
            yield Row(f"family {number}", Eight(number=number), f"{words}, ε = 1", glm(1.0, **options))
        told = "by fields, told the two that matter, ε = 1"
        yield Row(f"family {number}", Eight(number=number, told=MATTER), told, glm(1.0))


def shared() -> Iterator[Row]:
    for epsilon in (1.0, 4.0):
        forms: dict[str, dict[str, Any]] = {
            '`model="curvature"`': {"model": "curvature"},
            "`base_rate=0.3`": {"base_rate": 0.3},
            "`base_rate=0.5`": {"base_rate": 0.5},
        }
        for words, options in forms.items():
            yield Row("shared arms with crosses", Topics(), f"{words}, ε = {epsilon:g}", glm(epsilon, **options))


TABLES = {
    "people": (by_people, (1000, 2000, 5000, 20_000, 100_000)),
    "late": (late, (5000, 10_000, 20_000)),
    "rates": (rates, (5000, 20_000, 100_000)),
    "vectors": (vectors, (5000, 20_000, 50_000)),
    "eight": (eight_fields, (5000, 20_000)),
    "shared": (shared, (5000, 20_000)),
}


def share(run: SimulatedRun) -> float:
    """Over the second half of the people, in per cent. Every person is as likely as another, so that uniform play loses
    in each half what it loses in both, divided by 2."""
    assert run.uniform_regret is not None
    half = run.curve[-1] - run.curve[run.at.index(run.horizon // 2)]
    return 100 * (1 - half / (run.uniform_regret / 2))


def shares(row: Row, people: int, *, runs: int, seed: int) -> list[float]:
    result = simulate([row.spec], row.environment, horizon=people, runs=runs, seed=seed, delay=row.delay)
    return [share(run) for run in result.runs]


def summed(found: Sequence[float]) -> str:
    error = np.std(found, ddof=1) / math.sqrt(len(found)) if len(found) > 1 else math.nan
    return f"{np.mean(found):.0f} ± {error:.0f}" if len(found) > 1 else f"{np.mean(found):.0f}"


def head(people: Sequence[int]) -> str:
    return "| world | bandit | " + " | ".join(f"{n} people" for n in people) + " |"


def lines(name: str, *, runs: int, seed: int, people: Sequence[int] | None = None) -> Iterator[str]:
    """A table in Markdown, a line after the other as they are done."""
    make, usual = TABLES[name]
    sizes = people or usual
    yield head(sizes)
    yield "|---|---|" + "---|" * len(sizes)
    rows = list(make())
    for i, row in enumerate(rows):
        cells = []
        for n in sizes:
            print(f"{name}: row {i + 1} of {len(rows)}, {n} people", file=sys.stderr)
            cells.append(summed(shares(row, n, runs=runs, seed=seed)))
        yield f"| {row.world} | {row.bandit} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.fields", description="Shares of what can be gained.")
    parser.add_argument("tables", nargs="*", default=list(TABLES), help=f"of {', '.join(TABLES)}; all by default")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=900)
    parser.add_argument("--people", type=int, nargs="+", help="instead of the sizes of the page")
    given = parser.parse_args()
    if not set(given.tables) <= set(TABLES):
        parser.error(f"expected tables of {', '.join(TABLES)}")
    show = functools.partial(print, flush=True)
    for name in given.tables:
        for line in lines(name, runs=given.runs, seed=given.seed, people=given.people):
            show(line)
        show()


if __name__ == "__main__":
    main()
