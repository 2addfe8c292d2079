"""Generalised linear regression by reweighting: descent in the coordinates in which the covariates are round."""

from dataclasses import dataclass

import numpy as np

from reticent import checks
from reticent.privacy import relations
from reticent_papers.queries import Queries
from reticent_papers.regression import theory as reweighted_theory
from reticent_papers.regression.base import Regressor
from reticent_papers.regression.contribution import ReweightedContribution
from reticent_papers.regression.estimate import Fit
from reticent_papers.regression.reweighting import (
    Sample,
    closing,
    closing_query,
    descend,
    descent_query,
    normalisation_query,
    normalise,
)
from reticent_papers.regression.theory import SCHEDULES


@dataclass(kw_only=True, eq=False)
class ReweightedGLM(Regressor):
    """Noisy gradient descent on E[loss(<phi, U w>, y) / |U phi|], which is well-conditioned in w whatever the
    covariates, then one Newton step that also gives the intervals.

    Guarantee: (epsilon, delta)-differential privacy, joint or local, by Queries.
    Error: as ReweightedLinear's, times powers of kappa, the ratio of the link's largest and smallest slope (Theorems
    4.4 and 4.5, with the paper's schedule).
    Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115, Algorithms 2 and 7 (joint), 8-10 (local).
    Departure: schedule="practical" asks everyone in every step, with noise that composes (joint; local rows are split);
    a few steps of length 1 / L, L the largest slope, since the Hessian in w is between the link's slopes times I;
    lambda is the size of the noise; a closing Newton step in the same coordinates. schedule="paper" has the split,
    lambda of Proposition 4.3, step 1 / (4 L), 16 kappa log n steps, and no Newton step (constants 1).
    """

    link: str = "logistic"
    targets: tuple[float, float] = (0.0, 1.0)
    steps: int = 5  # of the normalisation
    descents: int = 3
    share: float = 0.1  # of the squared budget (joint) or of the people (local) for the normalisation
    closing_share: float = 0.6
    schedule: str = "practical"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self._link.bounded:
            raise ValueError(f"Expected link='logistic' or 'probit', got {self.link!r}: use ReweightedLinear.")
        checks.positive_int(steps=self.steps, descents=self.descents)
        checks.probability(share=self.share, closing_share=self.closing_share, both=self.share + self.closing_share)
        checks.one_of(SCHEDULES, schedule=self.schedule)

    def contribution(self, dim: int) -> ReweightedContribution:
        return ReweightedContribution(dim=dim, link=self._link, radius=self._radius, offset=self._radius / 2)

    def _queries(self, dim: int, count: int) -> Queries:
        contribution = self.contribution(dim)
        if self.schedule == "practical":
            steps, descents, share, last = self.steps, self.descents, self.share, self.closing_share
        else:
            steps = reweighted_theory.spectral_steps(count)
            descents, share, last = reweighted_theory.descent_steps(self._condition, count), 0.5, 0.0
        queries = [normalisation_query(contribution, k, share / steps) for k in range(steps)]
        queries += [descent_query(contribution, k, (1 - share - last) / descents) for k in range(descents)]
        if last:
            queries.append(closing_query(contribution, last))
        split = self.model == "local" or self.schedule == "paper"
        return Queries(
            queries=tuple(queries), budget=self.budget, relation=relations.ROWS, model=self.model, split=split
        )

    def _fit(self, sample: Sample) -> Fit:
        contribution, asked, source = self.contribution(sample.x.shape[1]), self._asked, self.source
        steps = sum(query.name.startswith("normalisation") for query in asked.queries)
        flattest = float(self._link.slope(self._radius))
        if self.schedule == "practical":
            normalisation = normalise(sample, contribution, asked, steps, source, "practical")
            numbers, step, pull = range(steps, len(asked.queries) - 1), 1 / contribution.steepest, None
        else:
            normalisation = normalise(sample, contribution, asked, steps, source, "growing")
            numbers, step = range(steps, len(asked.queries)), 1 / (4 * contribution.steepest)
            pull = normalisation.ridge
        self.normalisation_ = normalisation
        w = descend(
            sample, contribution, asked, numbers, source, normalisation, step=step, flattest=flattest, pull=pull
        )
        theta = normalisation.matrix @ w
        if self.schedule == "practical":
            return closing(sample, contribution, asked, source, normalisation, theta, self._variance)
        width = self.paper_width(contribution.dim, sample.count)
        return Fit(
            theta, np.zeros((contribution.dim,) * 2), (width * normalisation.matrix) @ (width * normalisation.matrix)
        )

    @property
    def _condition(self) -> float:
        """kappa."""
        return float(self._link.slope(0.0) / self._link.slope(self._radius))

    def paper_width(self, dim: int, count: int) -> float:
        """(4 L lambda + epsilon(T, failure)) / L of Theorem 4.4: the half-width is this times |U phi|."""
        noise = self._asked.sigma(len(self._asked.queries) - 1) / 2
        if self.model == "local":
            noise *= count**0.5
        steepest = float(self._link.slope(0.0))
        return (
            4 * self.normalisation_.ridge
            + reweighted_theory.descent_error(self._condition, dim, noise, count) / steepest
        )
