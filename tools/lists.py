"""`python -m tools.lists [main|tune ...] [--people 200000] [--runs 3] [--seed 900]`: the tables of
docs/measurements/lists.md.

Share: of the clicks that the best lists bring on average, what the lists that were shown bring: over all people, and
over the last tenth of them; mean and standard error over runs. Progress goes to stderr."""

import argparse
import dataclasses
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence, default_rng

from tacit import Budget, JointGLM, Spec
from tacit.algorithms.onepass import centred, lists
from tacit.algorithms.onepass.algorithm import OnePass
from tacit.data import Array, Exact, Integers
from tacit.environments.base import Environment
from tacit.environments.front_page import front_page
from tacit.kernels.compile import kernel
from tacit.kernels.formulas import add_list
from tacit.kernels.lists import Listed
from tacit.kernels.summing import Tally
from tacit.model.lists import CLICKS, CURVATURE, ListContribution
from tacit.protocols import Adder

DELTA, BLOCK = 1e-6, 125


@kernel
def each_by_parts(rows: Array, rewards: Array, at: Listed, places: Integers, tally: Tally, out: Exact) -> None:
    """Each of the two parts cut to its own bound: (1, curvature share) of the larger."""
    p = at.width - at.skip + 1
    packed, own = p * (p + 1) // 2, Exact(np.zeros(places.shape[1]))
    most = at.scale * np.sum(at.positions)
    clicks = np.sqrt(at.bound**2 - most**2)
    for i in range(rewards.size):
        own[:] = 0.0
        add_list(rows[i], rewards[i], at.width, at.skip, at.longest, at.positions, 1e9, at.scale, own)
        first, second = np.sqrt(np.sum(own[:packed] ** 2)), np.sqrt(np.sum(own[packed:] ** 2))
        out[:packed] += own[:packed] * (most / max(most, first))
        out[packed:] += own[packed:] * (clicks / max(clicks, second))


@kernel
def each_one_item(rows: Array, rewards: Array, at: Listed, places: Integers, tally: Tally, out: Exact) -> None:
    """Of each list one place alone, each as often."""
    step, own = at.width + 1, np.zeros(rows.shape[1])
    for i in range(rewards.size):
        j = i % at.positions.size
        own[:] = 0.0
        own[j * step : (j + 1) * step] = rows[i, j * step : (j + 1) * step]
        add_list(own, rewards[i], at.width, at.skip, at.longest, at.positions, at.bound, at.scale, out)


CUTS = {"parts": each_by_parts, "one item": each_one_item}


class Otherwise(OnePass):
    """What a list adds is cut in another way."""

    cut: str

    @property
    def form(self) -> Any:
        return SimpleNamespace(**vars(lists) | {"adder": self._otherwise})

    def _otherwise(self, of: OnePass, posterior: Any) -> Adder:
        add = lists.adder(of, posterior)
        return add._replace(each=CUTS[self.cut])


@dataclass(kw_only=True, eq=False)
class Variant(JointGLM):
    """cut: "whole", as JointGLM; "parts", "one item" (of each list, with a curvature for one) or "average". The noise
    is what each takes. clicks, share: numbers of ListContribution.of."""

    cut: str = "whole"
    clicks: float = CLICKS
    share: float = CURVATURE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cut in CUTS:
            given = {f.name: getattr(self.algorithm, f.name) for f in dataclasses.fields(OnePass)}
            other = Otherwise(**given)
            object.__setattr__(other, "cut", self.cut)
            self.algorithm = other

    def _contribution(self, **parts: Any) -> ListContribution:
        """An average is a sum that is never cut, and has the noise for that."""
        assert self.positions is not None
        clicks = len(self.positions) if self.cut == "average" else self.clicks
        made = ListContribution.of(
            positions=self.positions,
            clicks=clicks,
            curvature=self.share,
            **centred.constant(self.features),
            **parts,
        )
        if self.cut == "one item":
            return dataclasses.replace(made, scale=self.share * self.clicks)
        return made


class Row(NamedTuple):
    """A bandit, in words and as it is."""

    words: str
    spec: Spec


class Shares(NamedTuple):
    """Of the best lists' clicks: over all people, and over the last tenth; and of random lists, over all."""

    whole: float
    last: float
    random: float


def glm(epsilon: float, **options: Any) -> Spec:
    return Spec(Variant, budget=Budget(epsilon, DELTA), **options)


def main_rows() -> Iterator[Row]:
    yield Row("`JointGLM`, ε = 1", glm(1.0))
    yield Row("no privacy (ε = inf)", glm(float("inf")))
    yield Row("ε = 1, average over the list", glm(1.0, cut="average"))
    yield Row("ε = 1, one item of each list", glm(1.0, cut="one item"))
    yield Row("ε = 1, its two parts cut apart", glm(1.0, cut="parts"))
    yield Row("`JointGLM`, ε = 4", glm(4.0))


def tune_rows() -> Iterator[Row]:
    for clicks, share in ((1.0, 0.4), (1.0, 0.8), (1.0, 1.2), (1.0, 1.8), (1.0, 2.7), (0.6, 1.2), (1.5, 1.2)):
        yield Row(f"clicks {clicks:g}, share {share:g}", glm(1.0, clicks=clicks, share=share))


TABLES = {"main": main_rows, "tune": tune_rows}


@functools.cache
def weights(world: Environment) -> Array:
    return np.array(world.positions)


def play(spec: Spec, world: Environment, people: int, seed: int, run: int) -> Shares:
    """As `tacit simulate` would, with the same world for every bandit."""
    world_seed, bandit_seed = SeedSequence([seed, run]).spawn(2)
    bandit, fill = spec.build(world, people, bandit_seed), world.start(default_rng(world_seed), people).fill
    block, places = world.block(BLOCK), weights(world)
    found = []
    for _ in range(people // BLOCK):
        fill(block)
        bandit.play(block)
        top = -np.sort(np.partition(-block.means, len(places) - 1, axis=1)[:, : len(places)], axis=1)
        best = float((top @ places).sum())
        found.append((best, best - float(block.regret.sum()), float(block.means.mean() * places.sum() * BLOCK)))
    sums, last = np.sum(found, axis=0), np.sum(found[-len(found) // 10 :], axis=0)
    return Shares(sums[1] / sums[0], last[1] / last[0], sums[2] / sums[0])


def said(values: list[float]) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.3f} ± {error:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["main"], choices=[*TABLES, []])
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=900)
    parser.add_argument("--appeal", type=float, default=0.0)
    given = parser.parse_args()
    world = front_page(appeal=given.appeal)
    for table in given.tables:
        print(f"\n{table}: {given.people} people, {given.runs} runs, seed {given.seed}, appeal {given.appeal:g}\n")
        print("| bandit | all people | last tenth |\n|---|---|---|")
        random: list[float] = []
        for row in TABLES[table]():
            out = [play(row.spec, world, given.people, given.seed, run) for run in range(given.runs)]
            random = [one.random for one in out]
            print(
                f"| {row.words} | {said([one.whole for one in out])} | {said([one.last for one in out])} |", flush=True
            )
            print(row.words, file=sys.stderr)
        print(f"| random lists | {said(random)} | |")


if __name__ == "__main__":
    main()
