"""Scikit-learn's Wisconsin breast cancer data as a bandit: 569 rows, 2 arms."""

from dataclasses import dataclass

from tacit.environments.classification import Classification


@dataclass(frozen=True, kw_only=True)
class breast_cancer(Classification):
    pass
