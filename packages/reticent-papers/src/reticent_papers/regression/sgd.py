"""Linear regression whose error does not depend on the dimension: batched gradient descent, noise at the end or in
each gradient."""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import ndtri

from reticent import checks
from reticent.data import Array, Exact
from reticent.privacy import gaussian, relations
from reticent_papers.queries import Queries, Query
from reticent_papers.regression import theory as reweighted_theory
from reticent_papers.regression.base import Regressor, rows
from reticent_papers.regression.descent import best_descent
from reticent_papers.regression.estimate import Fit
from reticent_papers.regression.reweighting import Sample
from reticent_papers.regression.theory import SCHEDULES


@dataclass(kw_only=True, eq=False)
class ImproperSGD(Regressor):
    """K batches, one gradient step of length eta each. The noise in theta is as long as sqrt d, but a covariate that is
    independent of it sees a noise of |phi| times its standard deviation: the error is free of d, and so is the memory
    beyond vectors of length d. X may be a SciPy sparse matrix.

    Guarantee: (epsilon, delta)-differential privacy. joint: each step is a contraction (the batch loss is convex and
    1-smooth, eta <= 2, and projection on |theta| <= R is one), so one person moves the last iterate by at most what its
    own step moves: eta / N times `gradient_apart(R)`, 2.6 for R = 1 where the paper has 2 (R + 1) = 4. One release, of
    the last iterate.
    local: each person sends one noisy gradient phi (clip_R(<phi, theta>) - y), of norm at most R + 1, sensitivity
    2 (R + 1); theta itself is not projected.
    Error: E <phi, theta - theta*>^2 of order n^-1/2 + (n epsilon)^-2/3 (joint), (n epsilon^2)^-1/3 (local), free of d
    (Theorems 6.2 and 6.3).
    Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115, Algorithms 5 and 6.
    Departure: schedule="practical" takes R = radius where the paper has R = 2 (the iterates then stay where theta*
    is), and the length eta K = `length_scale` times what minimises bias and noise; "paper" has eta = 1, R = 2 and
    the paper's K (constants 1).
    """

    length_scale: float = 1.0
    schedule: str = "practical"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.link != "identity":
            raise ValueError(f"Expected link='identity', got {self.link!r}.")
        checks.size(length_scale=self.length_scale)
        checks.one_of(SCHEDULES, schedule=self.schedule)

    @property
    def _clip(self) -> float:
        """R."""
        return self._radius if self.schedule == "practical" else 2.0

    def _bound(self) -> float:
        return gradient_apart(self._clip) if self.model == "joint" else 2 * (self._clip + 1)

    def _plan(self, count: int) -> tuple[int, float]:
        """(K, eta): public."""
        bound, mu = self._bound(), gaussian.mu(self.budget)
        if self.schedule == "paper":
            batches = reweighted_theory.batches(count, bound / mu, self.model)
            return min(batches, count), 1.0
        noise = bound / mu / (count if self.model == "joint" else math.sqrt(count))
        options = {"radius": self._radius, "noise": noise, "variance": self._variance}
        best = best_descent(count, **options, length_scale=self.length_scale).length
        batches = max(1, min(math.ceil(best), count))
        return batches, min(best / batches, 2.0)

    def _queries(self, dim: int, count: int) -> Queries:
        batches, step = self._plan(count)
        bound = self._bound()
        if self.model == "joint":
            moved = bound * step / (count // batches)
            query = Query("last iterate", "theta after the last batch", dim, moved, 1.0)
            return Queries(queries=(query,), budget=self.budget, relation=relations.ROWS)
        queries = tuple(
            Query(f"batch {k + 1}", "sum of phi (clip <phi, theta> - y)", dim, bound, 1 / batches)
            for k in range(batches)
        )
        return Queries(queries=queries, budget=self.budget, relation=relations.ROWS, model="local", split=True)

    def _rows(self, X: npt.ArrayLike) -> Any:
        return rows(X, allow_sparse=True)

    def _fit(self, sample: Sample) -> Fit:
        count = sample.count
        batches, step = self._plan(count)
        self.batches_, self.step_ = batches, step
        size = count // batches
        theta = np.zeros(sample.x.shape[1])
        for k in range(batches):
            part = slice(k * size, (k + 1) * size) if self.model == "joint" else self._asked.rows(k, count)
            x, r = sample.x[part], sample.r[part]
            z = x @ theta
            if self.model == "joint":
                theta = theta - step / size * (x.T @ (z - r))
                theta *= min(1.0, self._clip / max(float(np.linalg.norm(theta)), 1e-300))
            else:
                total = x.T @ (np.clip(z, -self._clip, self._clip) - r)
                theta = theta - step * self._asked.release(k, Exact(total), count, self.source)
        if self.model == "joint":
            theta = self._asked.release(0, Exact(theta), 1, self.source)
        return Fit(theta, np.empty((0, 0)), np.empty((0, 0)))

    def predict_interval(self, X: npt.ArrayLike, *, level: float = 0.9) -> Array:
        """(n, 2): holds the mean for about that share of covariates from the law of the rows, on average over them and
        not for each: half-widths widths sqrt(radius^2 / (2 e eta K) + |phi|^2 noise^2), the first the largest bias in
        the mean square. Without any matrix."""
        checks.probability(level=level)
        x = self._known(X)
        middle = np.asarray(x @ self._result.theta)
        squares = np.asarray(x.multiply(x).sum(axis=1)).ravel() if sparse.issparse(x) else np.einsum("nd,nd->n", x, x)
        length = self.batches_ * self.step_
        if self.model == "joint":
            noise = self._asked.std(0, 1)
        else:
            noise = self.step_ * math.sqrt(self.batches_) * self._asked.std(0, self._people)
        half = float(ndtri((1 + level) / 2)) * np.sqrt(self._radius**2 / (2 * math.e * length) + squares * noise**2)
        ends = np.stack([middle - half, middle + half], axis=1)
        return self._scaled(np.clip(ends, -self._radius, self._radius))


@functools.cache
def gradient_apart(radius: float) -> float:
    """The largest |g - g~| for g = x (<x, theta> - y) of two people at one theta: |x|, |y| <= 1, |theta| <= radius.

    g - g~ = (x x' - x~ x~') theta - (y x - y~ x~). With s = |x| >= t = |x~| and the angle a between them (at most a
    right one, or x~ changes its sign), the first has norm at most radius (s^2 - t^2 + sqrt((s^2 - t^2)^2 + 4 s^2 t^2
    sin^2 a)) / 2 (the largest eigenvalue), the second sqrt(s^2 + t^2 + 2 s t cos a). Both grow with s, so s = 1; over
    (t, a) by a grid, with a margin for what lies between its points: the slopes are at most 3 radius + 1 in t and
    radius + 1 in a."""
    size = 1001
    t, a = np.meshgrid(np.linspace(0, 1, size), np.linspace(0, math.pi / 2, size))
    gap = 1 - t**2
    eigenvalue = (gap + np.sqrt(gap**2 + 4 * t**2 * np.sin(a) ** 2)) / 2
    apart = radius * eigenvalue + np.sqrt(1 + t**2 + 2 * t * np.cos(a))
    margin = ((3 * radius + 1) + (radius + 1) * math.pi / 2) / (2 * (size - 1))
    return float(apart.max()) + margin
