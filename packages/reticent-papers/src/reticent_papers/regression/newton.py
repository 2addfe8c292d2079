"""Newton steps with noisy sums: the simple baseline for generalised linear models."""

import math
from dataclasses import dataclass

import numpy as np

from reticent import checks
from reticent.data import Exact
from reticent.privacy import relations
from reticent_papers.kernels import matrices
from reticent_papers.kernels.matrices import packed, positive, unpacked
from reticent_papers.queries import Queries, Query
from reticent_papers.regression.base import Regressor
from reticent_papers.regression.contribution import link_means, link_slopes
from reticent_papers.regression.estimate import Fit, noise_ridge, project
from reticent_papers.regression.reweighting import Sample


@dataclass(kw_only=True, eq=False)
class PrivateNewton(Regressor):
    """`steps` Newton steps from 0, each with one noisy release of the curvature A = mean of mu' x x' and the gradient
    g = mean of (y - mu) x at the public theta: theta <- (A + lambda I)^-1 (A theta + g), lambda = `ridge` times the
    size of the noise in A, projected on |theta| <= radius in the norm of A + lambda I.

    Guarantee: (epsilon, delta)-differential privacy, joint or local, by Queries. One person adds (a W svec(X X'), b X)
    with X = x / |x|, 0 <= W <= L = mu'(0), |b| <= B = mu(radius) (predictors are clipped to the radius), so with
    q = (a L / B)^2 the bound of GLMContribution gives D^2 = B^2 (4 + q) for q <= 1 + 1 / sqrt 2, else
    B^2 (2 + 2 q + 1 / (2 q)).
    Reference: none in particular.
    Departure: none.
    """

    link: str = "logistic"
    targets: tuple[float, float] = (0.0, 1.0)
    steps: int = 2
    ridge: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self._link.bounded:
            raise ValueError(f"Expected link='logistic' or 'probit', got {self.link!r}: use PrivateRidge.")
        checks.positive_int(steps=self.steps)
        checks.positive(ridge=self.ridge)

    def _bounds(self) -> tuple[float, float, float]:
        """(a, L, B): a minimises (B^2 + a^2 L^2) (1 + radius^2 / a^2)."""
        steepest, residual = float(self._link.slope(0.0)), float(self._link.mean(self._radius))
        return math.sqrt(residual * self._radius / steepest), steepest, residual

    @property
    def sensitivity(self) -> float:
        scale, steepest, residual = self._bounds()
        q = (scale * steepest / residual) ** 2
        return residual * math.sqrt(4 + q if q <= 1 + 1 / math.sqrt(2) else 2 + 2 * q + 1 / (2 * q))

    def _queries(self, dim: int, count: int) -> Queries:
        size, share = dim * (dim + 1) // 2 + dim, 1 / self.steps
        queries = tuple(
            Query(f"step {k + 1}", "sums of mu' x x' and (y - mu) x", size, self.sensitivity, share)
            for k in range(self.steps)
        )
        return Queries(
            queries=queries, budget=self.budget, relation=relations.ROWS, model=self.model, split=self.model == "local"
        )

    def _fit(self, sample: Sample) -> Fit:
        asked, count, dim = self._asked, sample.count, sample.x.shape[1]
        scale = self._bounds()[0]
        size = dim * (dim + 1) // 2
        theta, fit = np.zeros(dim), None
        for k in range(self.steps):
            part = asked.rows(k, count)
            x, r = sample.x[part], sample.r[part]
            z = np.clip(x @ theta, -self._radius, self._radius)
            slopes = link_slopes(self._link, z)
            total = np.concatenate([scale * packed(x.T @ (x * slopes[:, None])), x.T @ (r - link_means(self._link, z))])
            released, std = asked.release(k, Exact(total), count, self.source), asked.std(k, count)
            curvature = positive(unpacked(released[:size] / scale, dim))
            ridge = self.ridge * noise_ridge(std / scale, dim, count)
            precision = matrices.inverse(curvature + ridge * np.eye(dim))
            half = matrices.root(precision)
            moment = curvature @ theta + released[size:]
            theta = half @ project(half @ moment, half, self._radius)
            noise = std**2 + (std / scale * self._radius) ** 2
            spread = precision @ (curvature / asked.people(k, count) + noise * np.eye(dim)) @ precision
            fit = Fit(theta, spread, (ridge * self._radius) ** 2 * precision @ precision)
        assert fit is not None
        return fit
