"""What private regressors share: fit, predict, predict_interval, privacy, by scikit-learn's conventions."""

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import ndtri

from reticent import checks
from reticent.data import Array, Exact
from reticent.model import links
from reticent.model.arms import TOLERANCE
from reticent.privacy import settings
from reticent.privacy.budget import Budget
from reticent.privacy.certificate import Certificate, certify
from reticent.privacy.noise import Secure
from reticent_papers.queries import MODELS, Queries
from reticent_papers.regression.contribution import link_means
from reticent_papers.regression.estimate import Fit
from reticent_papers.regression.reweighting import Sample


@dataclass(kw_only=True, eq=False)
class Regressor(ABC):
    """E[y | x] = mu(<x, theta*>) for rows |x| <= 1 and |theta*| <= radius. Fields are settings; `fit` sets `theta_`, a
    released quantity. Targets lie in `targets`; with a logistic or probit link the mean is low + (high - low) mu.

    model: "joint" (a trusted curator holds the rows) or "local" (each person randomises an answer of its own)."""

    budget: Budget
    radius: float = 1.0
    link: str = "identity"
    targets: tuple[float, float] = (-1.0, 1.0)
    model: str = "joint"
    source: Any = field(default_factory=Secure)

    def __post_init__(self) -> None:
        settings.check(self)
        checks.one_of(MODELS, model=self.model)
        links.built_in(self.link)

    @abstractmethod
    def _fit(self, sample: Sample) -> Fit:
        """The estimate, from released sums alone."""

    @abstractmethod
    def _queries(self, dim: int, count: int) -> Queries:
        """What is asked of `count` people."""

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn from rows X (n, d) of norm at most 1 and targets y (n,). Each fit spends the budget: two fits of the
        same people, as in cross-validation, have spent it twice."""
        x = self._rows(X)
        count, dim = x.shape
        r = self._targets(y, count)
        fitted = self.estimate(Sample(Exact(x), Exact(r), count))
        self.n_features_in_ = dim
        self._result = fitted
        self.theta_ = fitted.theta * self._unit
        return self

    def estimate(self, sample: Sample) -> Fit:
        """The estimate from checked rows and targets in units of the link: what `fit` and the bandits call."""
        asked = self.plan(sample.x.shape[1], sample.count)
        asked.check_rows(sample.x.shape[0])
        self._asked = asked
        self._people = sample.count
        return self._fit(sample)

    def plan(self, dim: int, count: int) -> Queries:
        """What is asked of `count` people, with noise as the source has it: public."""
        grid = bool(self.source.private) and self.budget.epsilon < math.inf
        return dataclasses.replace(self._queries(dim, count), grid=grid)

    def predict(self, X: npt.ArrayLike) -> Array:
        """The estimated mean of the target for each row."""
        return self._scaled(link_means(self._link, self._known(X) @ self._result.theta))

    def predict_interval(self, X: npt.ArrayLike, *, level: float = 0.9) -> Array:
        """(n, 2): for each row, ends that hold the mean of the target with about that probability. Coverage is measured
        (docs/papers/reweighted.md), not proven."""
        checks.probability(level=level)
        x = self._known(X)
        middle, half = x @ self._result.theta, self._result.half_width(x, float(ndtri((1 + level) / 2)))
        ends = np.clip(np.stack([middle - half, middle + half], axis=1), -self._radius, self._radius)
        return self._scaled(link_means(self._link, ends))

    @property
    def privacy(self) -> Certificate:
        """The claim for the fit that was made."""
        if not hasattr(self, "_asked"):
            raise ValueError("Expected a fitted regressor, got one before fit.")
        return certify(
            type(self).__name__,
            model=self.model,
            budget=self.budget,
            releases=self._asked.releases(),
            costliest=self._asked.costliest(),
            spent=self._asked.costliest(),
            source=self.source,
            rounds=self._people,
        )

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """The coefficient of determination of the predictions. It is computed from the targets as they are: to show it
        is a release of its own."""
        values = _numbers(y, "targets")
        residual, total = np.sum((values - self.predict(X)) ** 2), np.sum((values - values.mean()) ** 2)
        return 1.0 - float(residual / total) if total > 0 else 0.0

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's pipelines and searches ask for."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        parts = {"transformer_tags": None, "classifier_tags": None, "regressor_tags": RegressorTags()}
        return Tags(estimator_type="regressor", target_tags=TargetTags(required=True), input_tags=InputTags(), **parts)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_result")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    def set_params(self, **params: Any) -> Self:
        unknown = set(params) - set(self.get_params())
        if unknown:
            raise ValueError(f"Expected parameters of {type(self).__name__}, got {', '.join(sorted(unknown))}.")
        for name, value in params.items():
            setattr(self, name, value)
        self.__post_init__()
        return self

    def _rows(self, X: npt.ArrayLike) -> Any:
        return rows(X)

    # units

    @property
    def _link(self) -> links.Link:
        return links.named(self.link)

    @property
    def _unit(self) -> float:
        """Targets of an identity link are divided by the largest of them."""
        return 1.0 if self._link.bounded else max(map(abs, self.targets))

    @property
    def _radius(self) -> float:
        return self.radius / self._unit

    @property
    def _variance(self) -> float:
        """The largest variance of a target with its range, in units of the link."""
        return 0.25 if self._link.bounded else ((self.targets[1] - self.targets[0]) / (2 * self._unit)) ** 2

    def _targets(self, y: npt.ArrayLike, count: int) -> Array:
        values = _numbers(y, "targets")
        low, high = self.targets
        if values.shape != (count,):
            raise ValueError(f"Expected {count} targets, as many as rows, got shape {values.shape}.")
        if not np.all((values >= low) & (values <= high)):  # refuses NaN as well
            raise ValueError(f"Expected finite targets in [{low:g}, {high:g}], got one outside.")
        return np.asarray((values - low) / (high - low) if self._link.bounded else values / self._unit)

    def _scaled(self, means: Array) -> Array:
        low, high = self.targets
        return np.asarray(low + (high - low) * means if self._link.bounded else means * self._unit)

    def _known(self, X: npt.ArrayLike) -> Any:
        if not hasattr(self, "_result"):
            raise ValueError("Expected a fitted regressor, got one before fit.")
        x = self._rows(X)
        if x.shape[1] != self.n_features_in_:
            raise ValueError(f"Expected rows of {self.n_features_in_} numbers, got {x.shape[1]}.")
        return x


def rows(X: npt.ArrayLike, *, allow_sparse: bool = False) -> Any:
    """(n, d) finite numbers, each row of norm at most 1."""
    if allow_sparse and sparse.issparse(X):
        x: Any = sparse.csr_array(X, dtype=np.float64, copy=True)
        x.sum_duplicates()  # entries of one place add up: the norm is that of their sum
        squares = np.asarray(x.multiply(x).sum(axis=1)).ravel()
    else:
        x = _numbers(X, "rows")
        if x.ndim != 2 or 0 in x.shape:
            raise ValueError(f"Expected rows of shape (n, d), got {x.shape}.")
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("nd,nd->n", x, x)
    if not np.all(np.isfinite(squares)):
        raise ValueError("Expected finite rows, got NaN or infinity.")
    norms = np.maximum(1.0, np.sqrt(squares))
    if norms.max() > 1 + TOLERANCE:
        raise ValueError("Expected rows of Euclidean norm at most 1, got a larger one: divide all by a public bound.")
    if sparse.issparse(x):
        x.data /= np.repeat(norms, np.diff(x.indptr))
        return x
    return x / norms[:, None]  # each by its own norm: one person's row leaves the others as they are


def _numbers(values: npt.ArrayLike, name: str) -> Array:
    try:
        return np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"Expected {name} that are numbers, got something else.") from None
