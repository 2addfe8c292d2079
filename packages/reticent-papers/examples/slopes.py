"""How locally private errors fall with the number of people, far beyond what can be simulated row by row: python
examples/slopes.py [RUNS].

The noise in a mean over N people is that of ROWS people times sqrt(ROWS / N), so N people are simulated by ROWS rows
with less noise, and with targets that have none of their own: what is left is the error of privacy. Covariates are
ill-conditioned (variances 10^-j), epsilon = 4."""

import dataclasses
import math
import sys
from typing import Any

import numpy as np

from reticent import Budget, Simulated
from reticent_papers.queries import Queries
from reticent_papers.regression import PrivateRidge, ReweightedLinear
from reticent_papers.reproductions.reweighted import worlds

ROWS = 50_000
PEOPLE = [10**k for k in range(4, 11)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Crowd(Queries):
    """Queries to ROWS rows that stand for `people`."""

    people_meant: int = ROWS

    def std(self, number: int, count: int) -> float:
        return super().std(number, count) * math.sqrt(ROWS / self.people_meant)


def standing_for(people: int, kind: type) -> type:
    class Standing(kind):
        def plan(self, dim: int, count: int) -> Queries:
            asked = super().plan(dim, count)
            return Crowd(**{f.name: getattr(asked, f.name) for f in dataclasses.fields(asked)}, people_meant=people)

        @property
        def _variance(self) -> float:
            return ROWS / people

    return Standing


def error(kind: type, people: int, run: int, **options: Any) -> float:
    data = worlds.draw("ill", "identity", 1.0, ROWS, np.random.default_rng([20_700, run]))
    theta = np.linalg.lstsq(data.fresh, data.means, rcond=None)[0]
    common: dict[str, Any] = {"budget": Budget(4.0, 1e-5), "model": "local", "source": Simulated(run)}
    model = standing_for(people, kind)(**common, **options).fit(data.x, data.x @ theta)
    return float(np.mean(np.abs(data.fresh @ model.theta_ - data.means)))


def main(runs: int) -> None:
    before = None
    print(f"{'people':>8}{'ReweightedLinear':>18}{'slope':>7}{'best ridge':>12}{'slope':>7}")
    for people in PEOPLE:
        ours = float(np.mean([error(ReweightedLinear, people, run) for run in range(runs)]))
        ridges = [np.mean([error(PrivateRidge, people, run, ridge=r) for run in range(runs)]) for r in (0.5, 1.0, 2.0)]
        now = ours, float(min(ridges))
        slopes = [f"{math.log10(a / b):.2f}" for a, b in zip(now, before, strict=True)] if before else ["", ""]
        print(f"{people:>8.0e}{now[0]:>18.5f}{slopes[0]:>7}{now[1]:>12.5f}{slopes[1]:>7}")
        before = now


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
