"""Scikit-learn's data: principal components and a constant, scaled into the unit ball.

The components, their scale and the centre are learnt from the rows, which for people's data is a choice that data made;
the worlds of `environments.real` learn nothing."""

import functools
from dataclasses import dataclass

import numpy as np

from reticent import checks
from reticent_lab.environments.labelled import Labelled, Rows


@dataclass(frozen=True, kw_only=True)
class Classification(Labelled):
    """dim = classes * (components + 1)."""

    components: int = 5

    def __post_init__(self) -> None:
        checks.positive_int(components=self.components)
        super().__post_init__()

    def rows(self) -> Rows:
        return _load(self.name, self.components)


@dataclass(frozen=True, kw_only=True)
class breast_cancer(Classification):
    """Scikit-learn's Wisconsin breast cancer data: 569 rows, 2 arms."""


@dataclass(frozen=True, kw_only=True)
class digits(Classification):
    """Scikit-learn's handwritten digits: 1797 rows, 10 arms."""


@functools.lru_cache(maxsize=8)
def _load(name: str, components: int) -> Rows:
    from sklearn import datasets

    data = {"digits": datasets.load_digits, "breast_cancer": datasets.load_breast_cancer}[name]()
    x = np.asarray(data.data, np.float64)
    if components > x.shape[1]:
        raise ValueError(f"Expected components of at most {x.shape[1]} for {name}, got {components}.")
    x = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    _, _, rows = np.linalg.svd(x, full_matrices=False)
    scores = x @ rows[:components].T
    scores /= np.quantile(np.linalg.norm(scores, axis=1), 0.9)
    contexts = np.column_stack([scores, np.ones(len(scores))])
    contexts /= np.maximum(np.linalg.norm(contexts, axis=1, keepdims=True), np.sqrt(2))
    return Rows(np.ascontiguousarray(contexts), np.asarray(data.target, np.int64))
