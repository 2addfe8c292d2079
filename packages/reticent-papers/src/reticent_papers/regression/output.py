"""Output perturbation: the regularised maximum-likelihood estimate plus noise."""

import math
from dataclasses import dataclass

import numpy as np

from reticent import checks
from reticent.data import Array, Exact
from reticent.privacy import gaussian, relations
from reticent_papers.queries import Queries, Query
from reticent_papers.regression.base import Regressor
from reticent_papers.regression.contribution import link_means, link_slopes
from reticent_papers.regression.estimate import Fit
from reticent_papers.regression.reweighting import Sample

TOLERANCE = 1e-9  # on the norm of the gradient at what is called the minimum
ROUNDS = 100


@dataclass(kw_only=True, eq=False)
class OutputPerturbation(Regressor):
    """argmin of mean loss(<x, theta>, y) + ridge |theta|^2 / 2, plus noise.

    Guarantee: (epsilon, delta)-joint differential privacy. The loss is 1-Lipschitz in theta (|mu - y| |x| <= 1) and the
    objective ridge-strongly convex, so replacing one person moves its minimum by at most 2 / (ridge n); what is
    returned has a gradient of norm at most TOLERANCE, or the fit fails, which moves it by TOLERANCE / ridge more on
    each side. Whether Newton's method converges is not protected: it does, for a smooth strongly convex loss in
    doubles.
    Reference: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1 (with Gaussian noise).
    Intervals: nothing is released about the curvature, so they allow for the largest bias, `radius`: always right, of
    no use.
    Departure: ridge balances bias and noise by default: (2 sqrt d / (n mu radius))^1/2.
    """

    link: str = "logistic"
    targets: tuple[float, float] = (0.0, 1.0)
    ridge: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(("joint",), model=self.model)
        if not self._link.bounded:
            raise ValueError(f"Expected link='logistic' or 'probit', got {self.link!r}.")
        if self.link == "probit":
            raise ValueError("Expected link='logistic', whose loss is the likelihood's and convex, got 'probit'.")
        if self.ridge is not None:
            checks.size(ridge=self.ridge)

    def _strength(self, dim: int, count: int) -> float:
        if self.ridge is not None:
            return self.ridge
        mu = gaussian.mu(self.budget)
        return max(math.sqrt(2 * math.sqrt(dim) / (count * mu * self._radius)), 1 / count)

    def _queries(self, dim: int, count: int) -> Queries:
        ridge = self._strength(dim, count)
        sensitivity = 2 / (ridge * count) + 2 * TOLERANCE / ridge
        query = Query("estimate", "the regularised maximum-likelihood estimate", dim, sensitivity, 1.0)
        return Queries(queries=(query,), budget=self.budget, relation=relations.ROWS)

    def _fit(self, sample: Sample) -> Fit:
        dim, count = sample.x.shape[1], sample.count
        ridge = self._strength(dim, count)
        theta = self._asked.release(0, self._minimum(sample, ridge), 1, self.source)
        std = self._asked.std(0, 1)
        return Fit(theta, std**2 * np.eye(dim), self._radius**2 * np.eye(dim))

    def _minimum(self, sample: Sample, ridge: float) -> Exact:
        """Newton's method with halved steps."""
        x, r, count = sample.x, sample.r, sample.count
        theta = np.zeros(x.shape[1])

        def gradient(point: Array) -> Array:
            return np.asarray(x.T @ (link_means(self._link, x @ point) - r) / count + ridge * point)

        for _ in range(ROUNDS):
            g = gradient(theta)
            if np.linalg.norm(g) <= TOLERANCE:
                return Exact(theta)
            slopes = link_slopes(self._link, x @ theta)
            direction = np.linalg.solve(x.T @ (x * slopes[:, None]) / count + ridge * np.eye(len(theta)), g)
            step = 1.0
            while np.linalg.norm(gradient(theta - step * direction)) > np.linalg.norm(g) and step > 1e-6:
                step /= 2
            theta = theta - step * direction
        raise ArithmeticError("Expected Newton's method to converge, got no minimum.")
