"""What one person adds to the sums of reweighted regression, and how far replacing that person can move them.

U is the public normalisation, phi a person's covariates (|phi| <= 1), u = U phi / |U phi| (0 if |U phi| < TINY), r
the target in units of the link, z = <phi, theta> at the public theta, clipped to [-radius, radius]. These sums are raw
data: they go into a mechanism and nowhere else.
"""

import math
from dataclasses import dataclass

import numpy as np

from reticent import checks
from reticent.data import Array, Exact
from reticent.model.links import Link
from reticent.model.vectors import TINY
from reticent_papers.kernels import links as kernels
from reticent_papers.kernels.matrices import packed, root
from reticent_papers.local.statements import farthest

OUTER_SHARE = 1 / 16  # of closing_sensitivity: b. No record of its choice


@dataclass(frozen=True, kw_only=True)
class ReweightedContribution:
    """The three statistics of reweighted regression, as sums over rows.

    gram: svec(U^1/2 phi phi' U^1/2 / |U phi|). One term is PSD of rank one and Frobenius norm phi' U phi / |U phi| <=
        |phi| <= 1 (Lemma A.5), so two differ by at most sqrt 2: attained at U = I by orthogonal unit covariates.
    gradient: (mu(z) - r) u, of norm at most B, so two differ by at most 2 B. B = mu(radius) for a link with means in
        [0, 1] and r in [0, 1]; B = 1 + radius for the identity and |r| <= 1.
    closing: (a vec(mu'(z) u phi'), (r - mu(z)) u, b svec(u u')). For two people with unit covariates at the angle psi
    and
        u, u~ at the angle omega, c = cos omega, L the largest slope, the square of the difference is at most
            f = a^2 L^2 (2 - 2 c cos psi) + B^2 (2 + 2 |c|) + b^2 (2 - 2 c^2).
        (<u phi', u~ phi~'> = <u, u~> <phi, phi~>; targets of the worst sign. It is convex in the lengths s, s~ of mu'
        phi, so largest at lengths L or 0; with one of them 0 the first term is a^2 L^2.) Whatever U, f <= 4 (B^2 + a^2
        L^2) if b^2 <= (B^2 + a^2 L^2) / 2: at a = B = L = 1 the 2 sqrt 2 of Algorithm 12, approached where U is
        ill-conditioned (phi, phi~ nearly equal, u, u~ nearly opposite). But U is public, and the generalised Wielandt
        inequality (Bauer & Householder 1960) bounds how it turns angles: |log tan(omega / 2) - log tan(psi / 2)| <=
        log kappa, kappa its condition number. `tightness` maximises f under that constraint, and the statistic is
        scaled up by what is left: at U = I with a = B = L = 1 the noise is 2.12 / 2.83 of the general one.
    In each case D is at least sqrt 2 times the largest norm, so a person who moves from one sum to another of the same
    noise is covered too (closing: at U = I, f >= 2 (B^2 + a^2 L^2 + b^2), and more elsewhere).
    """

    dim: int
    link: Link
    radius: float  # in units of the link
    offset: float  # how far theta* may be from the point of linearisation: what a is balanced for

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim)
        checks.positive(radius=self.radius, offset=self.offset)

    # sensitivities

    @property
    def triangle(self) -> int:
        return self.dim * (self.dim + 1) // 2

    @property
    def size(self) -> int:
        """Of the closing statistic."""
        return self.dim * self.dim + self.dim + self.triangle

    @property
    def steepest(self) -> float:
        """L."""
        return self.link.steepest

    @property
    def residual(self) -> float:
        """B of the gradient."""
        return float(self.link.mean(self.radius)) if self.link.bounded else 1.0 + self.radius

    @property
    def gram_sensitivity(self) -> float:
        return math.sqrt(2.0)

    @property
    def gradient_sensitivity(self) -> float:
        return 2 * self.residual

    @property
    def closing_residual(self) -> float:
        """B of the closing statistic: the identity is always linearised at 0, where the residual is r itself."""
        return self.residual if self.link.bounded else 1.0

    @property
    def scale(self) -> float:
        """a: minimises D^2 (1 + offset^2 / a^2), the noise in the equation for theta* - theta."""
        return math.sqrt(self.closing_residual * self.offset / self.steepest)

    @property
    def outer_scale(self) -> float:
        """b: small, since u u' is needed roughly."""
        return self.closing_sensitivity * OUTER_SHARE

    @property
    def closing_sensitivity(self) -> float:
        """Whatever U."""
        return 2 * math.hypot(self.closing_residual, self.scale * self.steepest)

    def tightness(self, normalisation: Array) -> float:
        """closing_sensitivity over the sensitivity at this U, at least 1.

        On a grid of x = log tan(psi / 2), for each x the best c is closed-form: f is a concave parabola in |c|. The
        largest f over the allowed c moves by at most 4 a^2 L^2 + 2 B^2 + 4 b^2 per unit of x (angles move by at most
        one), which bounds what lies between the points; beyond the grid's ends psi is 0 or pi to 1e-13."""
        values = np.linalg.eigvalsh(normalisation)
        spread = math.log(values[-1] / values[0]) if values[0] > 0 else 60.0
        outer, jacobian, residual = self.outer_scale**2, (self.scale * self.steepest) ** 2, self.closing_residual**2
        worst = min(farthest(spread, outer, jacobian, residual), self.closing_sensitivity**2)
        return self.closing_sensitivity / math.sqrt(worst)

    # sums

    def gram(self, x: Array, normalisation: Array) -> Exact:
        half = root(normalisation)
        side = x @ half
        lengths = np.linalg.norm(side @ half, axis=1)
        return Exact(packed(side.T @ (side * _inverse(lengths)[:, None])))

    def gradient(self, x: Array, r: Array, normalisation: Array, theta: Array) -> Exact:
        return Exact(-(self._directions(x, normalisation).T @ self._residuals(x, r, theta)))

    def closing(self, x: Array, r: Array, normalisation: Array, theta: Array) -> Exact:
        u = self._directions(x, normalisation)
        slopes = link_slopes(self.link, self._predictors(x, theta))
        if self.link.bounded:
            residuals = self._residuals(x, r, theta)
        else:
            if np.any(theta):
                raise ValueError("Expected theta = 0 for the identity, got another point.")
            residuals = r
        jacobian = self.scale * np.ravel(u.T @ (x * slopes[:, None]))
        stacked = np.concatenate([jacobian, u.T @ residuals, self.outer_scale * packed(u.T @ u)])
        return Exact(self.tightness(normalisation) * stacked)

    def _directions(self, x: Array, normalisation: Array) -> Array:
        side = x @ normalisation
        return np.asarray(side * _inverse(np.linalg.norm(side, axis=1))[:, None])

    def _predictors(self, x: Array, theta: Array) -> Array:
        return np.clip(x @ theta, -self.radius, self.radius)

    def _residuals(self, x: Array, r: Array, theta: Array) -> Array:
        return np.asarray(r - link_means(self.link, self._predictors(x, theta)))


def link_means(link: Link, z: Array) -> Array:
    """mu(z), entry by entry."""
    out = np.empty(np.shape(z))
    kernels.link_means(link.code, np.ravel(z), out.ravel())
    return out


def link_slopes(link: Link, z: Array) -> Array:
    """mu'(z), entry by entry."""
    out = np.empty(np.shape(z))
    kernels.link_slopes(link.code, np.ravel(z), out.ravel())
    return out


def _inverse(lengths: Array) -> Array:
    """1 / length, and 0 where squares of numbers so small have lost digits (a computed length would be too short)."""
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > TINY)
