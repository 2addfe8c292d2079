"""Linear regression by reweighting, in closed form."""

from dataclasses import dataclass

import numpy as np

from reticent import checks
from reticent.model import links
from reticent.privacy import relations
from reticent_papers.queries import Queries
from reticent_papers.regression.base import Regressor
from reticent_papers.regression.contribution import ReweightedContribution
from reticent_papers.regression.estimate import Fit, solved
from reticent_papers.regression.reweighting import (
    Sample,
    closing,
    closing_parts,
    closing_query,
    normalisation_query,
    normalise,
)
from reticent_papers.regression.theory import SCHEDULES, linear_error, tight_steps


@dataclass(kw_only=True, eq=False)
class ReweightedLinear(Regressor):
    """theta solves mean(u phi') theta = mean(u y) with u = U phi / |U phi|: every direction of the covariates counts
    alike, however small they are along it, so that noise does not drown the small ones.

    Guarantee: (epsilon, delta)-differential privacy, joint or local, by Queries.
    Error: with the paper's schedule E|<phi, theta - theta*>| is of order sqrt(d / n) + 1 / (n epsilon) (joint) or
    1 / (sqrt n epsilon) (local) up to powers of d, whatever the covariates' covariance (Theorems 4.4 and 4.5).
    Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115, Algorithms 1, 9 and 12.
    Departure: schedule="practical" asks everyone in every step, with noise that composes, instead of splitting the rows
    (joint; local rows are split); lambda is the size of the noise in H, and H is made positive; the closed form is the
    best linear estimate for the noise that is known to be in it (estimators.reweighted.close), since J^-1 m spoils the
    directions in which noise is as large as J; one closing release instead of two; theta is projected in its own
    ellipsoid. schedule="paper" has the split, lambda of Proposition C.5 (constants 1) and, joint, Algorithm 12's own
    solver with b(phi) of Proposition D.3, whatever the level; of the departures the one closing release, exact noise.
    """

    steps: int = 5
    share: float = 0.1  # of the squared budget (joint) or of the people (local) for the normalisation
    schedule: str = "practical"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.link != "identity":
            raise ValueError(f"Expected link='identity', got {self.link!r}: use ReweightedGLM.")
        checks.positive_int(steps=self.steps)
        checks.probability(share=self.share)
        checks.one_of(SCHEDULES, schedule=self.schedule)

    def contribution(self, dim: int) -> ReweightedContribution:
        return ReweightedContribution(dim=dim, link=links.identity, radius=self._radius, offset=self._radius)

    def _queries(self, dim: int, count: int) -> Queries:
        contribution = self.contribution(dim)
        practical = self.schedule == "practical"
        steps, share = (self.steps, self.share) if practical else (tight_steps(count), 0.5)
        queries = [normalisation_query(contribution, k, share / steps) for k in range(steps)]
        queries.append(closing_query(contribution, 1 - share))
        split = self.model == "local" or not practical
        return Queries(
            queries=tuple(queries), budget=self.budget, relation=relations.ROWS, model=self.model, split=split
        )

    def _fit(self, sample: Sample) -> Fit:
        asked, contribution = self._asked, self.contribution(sample.x.shape[1])
        rule = "practical" if self.schedule == "practical" else "tight"
        self.normalisation_ = normalise(sample, contribution, asked, len(asked.queries) - 1, self.source, rule)
        point = np.zeros(contribution.dim)
        if self.schedule == "paper" and self.model == "joint":
            released = closing_parts(sample, contribution, asked, self.source, self.normalisation_, point)
            people = asked.people(len(asked.queries) - 1, sample.count)
            return solved(self.normalisation_, *released, radius=linear_error(people))
        return closing(sample, contribution, asked, self.source, self.normalisation_, point, self._variance)
