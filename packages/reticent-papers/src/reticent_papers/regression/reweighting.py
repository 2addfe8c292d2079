"""The steps of reweighted regression over rows: each asks one query and hands what is released to an estimator."""

from dataclasses import dataclass

import numpy as np

from reticent.data import Array, Exact
from reticent.privacy.noise import Source
from reticent_papers.queries import Queries, Query
from reticent_papers.regression import estimate as reweighted
from reticent_papers.regression import theory as reweighted_theory
from reticent_papers.regression.contribution import ReweightedContribution
from reticent_papers.regression.estimate import Fit, Normalisation


@dataclass(frozen=True)
class Sample:
    """Rows, targets in units of the link, and how many people there are: `count` is public and may exceed the rows, if
    some never answered."""

    x: Exact
    r: Exact
    count: int


def normalisation_query(contribution: ReweightedContribution, number: int, share: float) -> Query:
    statistic = "sum of U^1/2 phi phi' U^1/2 / |U phi|"
    size, sensitivity = contribution.triangle, contribution.gram_sensitivity
    return Query(f"normalisation {number + 1}", statistic, size, sensitivity, share)


def descent_query(contribution: ReweightedContribution, number: int, share: float) -> Query:
    statistic = "sum of (mu - y) u, u = U phi / |U phi|"
    return Query(f"descent {number + 1}", statistic, contribution.dim, contribution.gradient_sensitivity, share)


def closing_query(contribution: ReweightedContribution, share: float) -> Query:
    statistic = "sums of mu' u phi', (y - mu) u and u u', u = U phi / |U phi|"
    return Query("closing", statistic, contribution.size, contribution.closing_sensitivity, share)


def normalise(
    sample: Sample, contribution: ReweightedContribution, asked: Queries, steps: int, source: Source, rule: str
) -> Normalisation:
    """U from the first `steps` queries. rule: "practical" (the size of the noise), "growing" (Proposition 4.3) or
    "tight" (Proposition C.5) for lambda."""
    dim, count = contribution.dim, sample.count
    matrix = np.eye(dim)

    def ridge(step: int, number: int) -> float:
        return _ridge(rule, step, asked.std(number, count), dim, asked.people(number, count), steps)

    for k in range(steps):
        total = contribution.gram(sample.x[asked.rows(k, count)], matrix)
        matrix = reweighted.spectral_step(matrix, asked.release(k, total, count, source), ridge(k, k))
    return Normalisation(matrix, ridge(steps, steps - 1))


def descend(
    sample: Sample,
    contribution: ReweightedContribution,
    asked: Queries,
    numbers: range,
    source: Source,
    normalisation: Normalisation,
    *,
    step: float,
    flattest: float,
    pull: float | None = None,
) -> Array:
    """w after the queries in `numbers`. pull: lambda of the regulariser; by default the size of the noise."""
    w = np.zeros(contribution.dim)
    for k in numbers:
        part = asked.rows(k, sample.count)
        theta = normalisation.matrix @ w
        total = contribution.gradient(sample.x[part], sample.r[part], normalisation.matrix, theta)
        gradient = asked.release(k, total, sample.count, source)
        ridge = asked.std(k, sample.count) * contribution.dim**0.5 if pull is None else pull
        w = reweighted.descent_step(w, normalisation, gradient, step, ridge * flattest, contribution.radius)
    return w


def closing(
    sample: Sample,
    contribution: ReweightedContribution,
    asked: Queries,
    source: Source,
    normalisation: Normalisation,
    point: Array,
    variance: float,
) -> Fit:
    """The closed form at `point`, from the last query."""
    number, count = len(asked.queries) - 1, sample.count
    released = closing_parts(sample, contribution, asked, source, normalisation, point)
    std = asked.std(number, count) / contribution.tightness(normalisation.matrix)
    return reweighted.close(
        normalisation,
        point,
        *released,
        stds=(std / contribution.scale, std),
        radius=contribution.radius,
        offset=contribution.radius,
        variance=variance / asked.people(number, count),
    )


def closing_parts(
    sample: Sample,
    contribution: ReweightedContribution,
    asked: Queries,
    source: Source,
    normalisation: Normalisation,
    point: Array,
) -> tuple[Array, Array, Array]:
    """The means of mu' u phi', of (r - mu) u and of u u' at `point`, as the last query releases them."""
    number, count = len(asked.queries) - 1, sample.count
    part = asked.rows(number, count)
    total = contribution.closing(sample.x[part], sample.r[part], normalisation.matrix, point)
    released = asked.release(number, total, count, source)
    return reweighted.parts(
        released,
        contribution.dim,
        tightness=contribution.tightness(normalisation.matrix),
        scale=contribution.scale,
        outer_scale=contribution.outer_scale,
    )


def _ridge(rule: str, step: int, std: float, dim: int, people: int, steps: int) -> float:
    if rule == "practical":
        return reweighted.noise_ridge(std, dim, people)
    if rule == "growing":
        return reweighted_theory.growing_ridge(step, reweighted_theory.sampling_error(std, dim, people, steps))
    return reweighted_theory.tight_ridge(reweighted_theory.tight_error(std, dim, people, steps))
