"""What is known before the first person comes: a prior, or rows of people whose data is public.

It is combined with what was released after the mechanism, and no sum of people's data contains it. The people behind it
are not protected, and the certificate says so."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent import checks
from reticent.data import Array
from reticent.kernels.glm import Known
from reticent.model.links import Link

STEPS = 500  # of the fit to public rows: each solves one linear system


@dataclass(frozen=True, kw_only=True, eq=False)
class WarmStart:
    """What is known before anybody comes; none of it is protected. prior: (theta, precision), what is known about
    theta*; precision: a number or a (d, d) matrix. rows: (features, rewards), vectors (n, d) and rewards of people
    whose data is public."""

    prior: Any = None
    rows: Any = None

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        if self.prior is None and self.rows is None:
            raise ValueError("Expected warm_start with a prior, rows or both, got neither.")


def nothing(blocks: int = 1) -> Known:
    return Known(np.zeros(0), np.zeros((0, 0))) if blocks == 1 else Known(np.zeros((0, 0)), np.zeros((0, 0, 0)))


def knowledge(
    given: WarmStart | None,
    *,
    dim: int,
    blocks: int = 1,
    live: int = 1,
    link: Link,
    rewards: tuple[float, float],
    radius: float,
    unit: float,
) -> Known:
    """What a warm start says about theta*; ValueError. Where there are blocks, arrays have one more axis, the first: of
    blocks, of which so many are live."""
    if given is None:
        return nothing(blocks)
    prior, warm = given.prior, given.rows
    known = Known(np.zeros(dim), np.zeros((dim, dim))) if prior is None else _prior(prior, dim, radius)
    if warm is not None:
        x, y = _rows(warm, dim, rewards)
        low, high = rewards
        share = (y - low) / (high - low) if link.bounded else y / unit
        known = _fitted(x, share, known, link, dim // blocks * live, radius, unit)
    return known if blocks == 1 else _apart(known, blocks)


def _apart(known: Known, blocks: int) -> Known:
    own = known.theta.size // blocks
    whole = known.precision.reshape(blocks, own, blocks, own).transpose(0, 2, 1, 3)
    between = whole.copy()
    between[np.arange(blocks), np.arange(blocks)] = 0.0
    if between.any():
        raise ValueError(
            "Expected a prior and warm rows that join no two actions, since each has coefficients of its own, got a "
            "number other than 0 between two of them."
        )
    within = np.ascontiguousarray(whole[np.arange(blocks), np.arange(blocks)])
    return Known(known.theta.reshape(blocks, own).copy(), within)


def sentences(given: WarmStart | None) -> tuple[str, ...]:
    """For the certificate."""
    out: list[str] = []
    if given is None:
        return ()
    if given.prior is not None:
        out.append("The estimate starts from a prior that was given: the people behind it, if any, are not protected.")
    if given.rows is not None:
        out.append(
            f"The estimate starts from {len(given.rows[1])} rows that were given as public: the people behind these "
            "are not protected."
        )
    return tuple(out)


def _prior(given: Any, dim: int, radius: float) -> Known:
    try:
        theta, precision = (np.array(part, dtype=np.float64) for part in given)
    except (TypeError, ValueError):
        raise ValueError("Expected prior to be (theta, precision): numbers, and a number or matrix of them.") from None
    if precision.ndim == 0:
        precision = precision * np.eye(dim)
    if theta.shape != (dim,) or precision.shape != (dim, dim):
        raise ValueError(f"Expected a prior with theta of {dim} numbers and precision a number or {dim} x {dim}.")
    if not (np.isfinite(theta).all() and np.linalg.norm(theta) <= radius * (1 + 1e-9)):
        raise ValueError(f"Expected a prior with |theta| <= radius = {radius:g}, got a longer one.")
    symmetric = np.isfinite(precision).all() and np.allclose(precision, precision.T, rtol=1e-9, atol=0)
    if not symmetric or np.linalg.eigvalsh(precision)[0] < -1e-9 * np.abs(precision).max():
        raise ValueError("Expected the prior's precision to be symmetric and positive, got another matrix.")
    return Known(theta, precision)


def _rows(given: Any, dim: int, rewards: tuple[float, float]) -> tuple[Array, Array]:
    try:
        x, y = (np.array(part, dtype=np.float64) for part in given)
    except (TypeError, ValueError):
        raise ValueError(
            "Expected warm rows to be (features, rewards): an array of rows, and a number for each."
        ) from None
    if x.ndim != 2 or x.shape[1] != dim or y.shape != (len(x),) or not len(x):
        raise ValueError(f"Expected warm rows of {dim} features and as many rewards, got other shapes.")
    if not np.isfinite(x).all() or np.einsum("nd,nd->n", x, x).max() > (1 + 1e-6) ** 2:
        raise ValueError("Expected warm rows of finite features and norm at most 1, got another.")
    if not ((y >= rewards[0]) & (y <= rewards[1])).all():
        raise ValueError(f"Expected warm rewards in [{rewards[0]:g}, {rewards[1]:g}], got one outside.")
    return x, y


def _fitted(x: Array, share: Array, prior: Known, link: Link, free: int, radius: float, unit: float) -> Known:
    """The mode of the posterior and its precision. Each step solves with the steepest curvature, which never
    overshoots; beside the prior that was given stands the bandit's own, of variance radius^2 / free."""
    dim = x.shape[1]
    own = free / radius**2 * np.eye(dim)
    weight = 1.0 if link.bounded else 1 / unit  # identity: theta is in rewards, shares are in units
    steep = np.linalg.inv(link.steepest * weight**2 * x.T @ x + prior.precision + own)
    theta = np.zeros(dim)
    for _ in range(STEPS):
        score = weight * x.T @ (share - _mean(link, weight * (x @ theta)))
        theta = theta + steep @ (score + prior.precision @ (prior.theta - theta) - own @ theta)
        theta = theta * min(1.0, radius / max(radius, float(np.linalg.norm(theta))))
    slopes = link.slope(weight * (x @ theta)) * weight**2
    return Known(theta, (x.T * slopes) @ x + prior.precision)


def _mean(link: Link, z: Array) -> Array:
    return link.mean(z) if link.bounded else z
