"""Scikit-learn's handwritten digits as a bandit: 1797 rows, 10 arms."""

from dataclasses import dataclass

from tacit.environments.classification import Classification


@dataclass(frozen=True, kw_only=True)
class digits(Classification):
    pass
