"""What one user adds to the design matrices and to gradient sums, and how far replacing that user can move them.

These vectors are raw data. They go into a mechanism that adds noise and nowhere else.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from reticent import checks
from reticent.data import Array, Exact
from reticent.model import links
from reticent.model.links import Code, Link
from reticent.model.vectors import add_outer, packed_size, shortened

CELLS = 1500


def add_design(x: Array, explored: bool, theta_o: Array, link: Code, slope: float, out: Exact) -> None:
    """out += (svec(x x'), 0) if explored, else (0, svec(w x x')), w = min(mu'(<x, theta_o>), slope) / slope, with |x|
    cut to 1, so that either block has norm at most 1."""
    bounded = shortened(x)
    if explored:
        add_outer(bounded, 1.0, out)
    else:
        z = 0.0
        for i in range(x.size):
            z += bounded[i] * theta_o[i]
        add_outer(bounded, min(links.slope(link, z), slope) / slope, out[packed_size(x.size) :])


@dataclass(frozen=True, kw_only=True)
class DesignContribution:
    """v = (svec(x x'), 0) for a user in T_o, else (0, svec(w x x')), w = min(mu'(<x, theta_o>), slope) / slope <= 1,
    with |x| clipped to 1: the leaves of both trees, stacked, since a replaced user may move from one to the other.

    Sensitivity (replace one user). Each block is positive semidefinite of rank one with Frobenius norm at most 1.
    In the same block: |A - A~|_F^2 = |A|^2 + |A~|^2 - 2 <A, A~> <= 2, as <A, A~> >= 0; in different blocks
    |A|^2 + |A~|^2 <= 2. So D = sqrt 2 (attained by orthogonal unit arms), and a contribution that is missing or in
    another leaf is covered too: |v|^2 + |v~|^2 <= D^2.

    The weights are relative to `slope`, a public bound on mu': mu'(0) for every arm and theta_o, or 1 / kappa* where it
    is declared, in which case larger ones are clipped. The noise of H is then slope / e times that of V."""

    dim: int
    link: Link
    slope: float

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim)
        checks.positive(slope=self.slope)

    @property
    def size(self) -> int:
        return self.dim * (self.dim + 1)

    @property
    def sensitivity(self) -> float:
        return math.sqrt(2)

    def add(self, x: Array, explored: bool, theta_o: Array, out: Exact) -> None:
        """out += v."""
        add_design(x, explored, theta_o, self.link.code, self.slope, out)


@dataclass(frozen=True, kw_only=True)
class GradientContribution:
    """g = (mu(<x, theta>) - r) x at a public theta with |theta| <= radius, for |x| <= 1 and r in [0, 1].

    Norm. (x, r) -> (-x, 1 - r) leaves g unchanged, so take mu - r >= 0: the gradients are the a u with |u| <= 1 and
    0 <= a <= mu(<u, theta>), and |g| <= B = mu(radius).
    Sensitivity (replace one user). |g - g~| is its component along a unit vector v. With theta = alpha v + beta w,
    w orthogonal to v and beta >= 0, a gradient's component along v is at most P(alpha, beta), another's along -v at
    most P(-alpha, beta), where
        P(a, b) = max over c in [0, 1] of c mu(a c + b sqrt(1 - c^2)),
    attained by the arm c v + sqrt(1 - c^2) w and reward 0. P increases in b, so |theta| = radius is the worst, and
        D = max over alpha in [0, radius] of P(alpha, b) + P(-alpha, b),   b = sqrt(radius^2 - alpha^2).
    `sensitivity` is an upper bound of it by cells: P increases in a as well, so over alpha in [a0, a1] the sum is at
    most P(a1, b0) + P(-a0, b0), b0 = b(a0), and c = cos f is bounded cell by cell in the same way. (It is far below
    2 B: two long gradients cannot point in opposite directions, because both lie on the side of theta.)
    Different statistics. The gradients for theta_o and those for theta_tau are over disjoint sets of users. A user who
    is in one set in one world and in the other set in the other moves each by at most B, so that with equal budgets
    s^-2 = (number of sums) / sigma^2 for both the squared distance is at most 2 B^2 / s^2; hence D >= sqrt 2 B is
    asked for, and either set alone costs D^2 / s^2."""

    link: Link
    radius: float

    def __post_init__(self) -> None:
        checks.positive(radius=self.radius)
        if not self.link.bounded:
            raise ValueError(f"Expected a link with means in [0, 1], got {self.link.name}.")

    @property
    def largest(self) -> float:
        """B."""
        return float(self.link.mean(self.radius))

    @property
    def sensitivity(self) -> float:
        """D."""
        return max(_diameter(self.link, float(self.radius)), math.sqrt(2) * self.largest)


@functools.lru_cache(maxsize=64)
def _diameter(link: Link, radius: float) -> float:
    alpha = np.linspace(0, radius, CELLS + 1)
    b = np.sqrt(np.maximum(radius**2 - alpha[:-1] ** 2, 0))
    angle = np.linspace(0, math.pi / 2, CELLS + 1)
    most, least, sine = np.cos(angle[:-1]), np.cos(angle[1:]), np.sin(angle[1:])
    along = alpha[1:, None] * most + b[:, None] * sine
    against = -alpha[:-1, None] * least + b[:, None] * sine
    sums = (most * _table(link, along)).max(axis=1) + (most * _table(link, against)).max(axis=1)
    return float(sums.max())


def _table(link: Link, z: Array) -> Array:
    """Upper bounds of mu(z): its value at the next point of a grid, as mu increases."""
    grid = np.linspace(float(z.min()), float(z.max()) + 1e-9, 4 * CELLS)
    out: Array = link.mean(grid)[np.minimum(np.searchsorted(grid, z), len(grid) - 1)]
    return out
