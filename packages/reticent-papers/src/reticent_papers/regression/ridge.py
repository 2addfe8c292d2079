"""Ridge regression with noisy sums: the strong simple baseline."""

from dataclasses import dataclass

import numpy as np

from reticent import checks
from reticent.data import Exact
from reticent.model.linear import LinearContribution
from reticent.privacy import relations
from reticent_papers.confidence import balanced_scale
from reticent_papers.kernels import matrices
from reticent_papers.kernels.matrices import packed, positive, unpacked
from reticent_papers.queries import Queries, Query
from reticent_papers.regression.base import Regressor
from reticent_papers.regression.estimate import Fit, noise_ridge, project
from reticent_papers.regression.reweighting import Sample


@dataclass(kw_only=True, eq=False)
class PrivateRidge(Regressor):
    """theta = (G + lambda I)^-1 m from one noisy release of G = mean of x x' and m = mean of y x, lambda = `ridge`
    times the size of the noise in G, projected on |theta| <= radius in the norm of G + lambda I.

    Guarantee: (epsilon, delta)-differential privacy, joint or local, by Queries.
    Reference: sufficient-statistics perturbation (Vu & Slavkovic 2009; Wang 2018), with exact Gaussian noise.
    Departure: none.
    """

    ridge: float = 1.0
    projection: str = "ellipsoid"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.link != "identity":
            raise ValueError(f"Expected link='identity', got {self.link!r}: use PrivateNewton.")
        checks.positive(ridge=self.ridge)
        checks.one_of(("ellipsoid", "radial"), projection=self.projection)

    def contribution(self, dim: int) -> LinearContribution:
        return LinearContribution(dim=dim, scale=balanced_scale(dim, self._radius, 1.0), low=-1.0, high=1.0)

    def _queries(self, dim: int, count: int) -> Queries:
        contribution = self.contribution(dim)
        query = Query("sums", "sums of x x' and y x", contribution.size, contribution.sensitivity, 1.0)
        return Queries(
            queries=(query,), budget=self.budget, relation=relations.ROWS, model=self.model, split=self.model == "local"
        )

    def _fit(self, sample: Sample) -> Fit:
        x, count, dim = sample.x, sample.count, sample.x.shape[1]
        contribution = self.contribution(dim)
        total = np.concatenate([packed(x.T @ x), contribution.scale * (x.T @ sample.r)])
        released = self._asked.release(0, Exact(total), count, self.source)
        std = self._asked.std(0, count)
        size = dim * (dim + 1) // 2
        gram = positive(unpacked(released[:size], dim))
        ridge = self.ridge * noise_ridge(std, dim, count)
        precision = matrices.inverse(gram + ridge * np.eye(dim))
        half = matrices.root(precision)
        w = half @ (released[size:] / contribution.scale)
        if self.projection == "ellipsoid":
            theta = half @ project(w, half, self._radius)
        else:
            theta = half @ w
            theta *= min(1.0, self._radius / max(float(np.linalg.norm(theta)), 1e-300))
        noise = (std / contribution.scale) ** 2 + (std * self._radius) ** 2
        spread = precision @ (self._variance / count * gram + noise * np.eye(dim)) @ precision
        return Fit(theta, spread, (ridge * self._radius) ** 2 * precision @ precision)
