"""Reweighted regression from released sums: the normalisation U, descent in w = U^-1 theta, and the closed form.

Nothing here sees a datum: each step takes a mean that already carries its noise.

Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115: Algorithms 1, 7 and 12.
"""

import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array, Released
from reticent.privacy import search
from reticent_papers.kernels.matrices import inverse, positive, root, unpacked


class Normalisation(NamedTuple):
    """U and the ridge lambda with which I / 2 <= E[U phi phi' U / |U phi|] + lambda U <= 2 I is aimed at."""

    matrix: Array
    ridge: float


class Fit(NamedTuple):
    """An estimate and what its error is made of: <phi, theta - theta*> has variance about phi' spread phi, and a bias
    of at most sqrt(phi' bias phi). summed: of Algorithm 12, whose half-width is the sum of both roots as they are."""

    theta: Array
    spread: Array
    bias: Array
    summed: bool = False

    def half_width(self, x: Array, widths: float) -> Array:
        """sqrt(widths^2 variance + bias^2) for each row; where `summed`, b(phi)."""
        if self.summed:
            return lengths(x, self.spread) + lengths(x, self.bias)
        return lengths(x, self.shape(widths))

    def shape(self, widths: float) -> Array:
        """Q, so that the interval's half-width is sqrt(phi' Q phi)."""
        return widths**2 * self.spread + self.bias


def lengths(x: Array, matrix: Array) -> Array:
    """sqrt(phi' Q phi) of each row phi."""
    squares = np.asarray(np.einsum("ni,ij,nj->n", x, matrix, x))
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def parts(
    released: Released, dim: int, *, tightness: float, scale: float, outer_scale: float
) -> tuple[Array, Array, Array]:
    """The means of mu' u phi', of (r - mu) u and of u u' from a released closing statistic."""
    square, whole = dim * dim, released / tightness
    jacobian = whole[:square].reshape(dim, dim) / scale
    return jacobian, whole[square : square + dim], unpacked(whole[square + dim :] / outer_scale, dim)


def noise_ridge(std: float, dim: int, count: int) -> float:
    """lambda = s sqrt(2 d): the operator norm of a symmetric matrix whose svec is noise of std s; at least 1 /
    count."""
    return max(std * math.sqrt(2 * dim), 1 / count)


def spectral_step(matrix: Array, released: Released, ridge: float) -> Array:
    """U <- (U^1/2 (H + lambda I)^-1 U^1/2)^1/2, H the released mean of U^1/2 phi phi' U^1/2 / |U phi|, made positive.

    It is sym(Sigma^-1/2 U) = (U Sigma^-1 U)^1/2 for Sigma = U^1/2 H U^1/2 + lambda U; the logarithms of Sigma's
    eigenvalues halve in each exact step."""
    dim = len(matrix)
    half = root(matrix)
    return root(half @ inverse(positive(unpacked(released, dim)) + ridge * np.eye(dim)) @ half)


def descent_step(
    w: Array, normalisation: Normalisation, gradient: Released, step: float, pull: float, radius: float
) -> Array:
    """w <- the projection of w - step (gradient + pull U w) on |U w| <= radius; pull = lambda times the smallest
    slope."""
    matrix = normalisation.matrix
    return project(w - step * (gradient + pull * (matrix @ w)), matrix, radius)


def project(w: Array, matrix: Array, radius: float) -> Array:
    """The nearest w with |U w| <= radius: (I + nu U^2)^-1 w. Directions that are well known hardly move; scaling theta
    down would spoil them all."""
    values, vectors = np.linalg.eigh(matrix)
    inside = vectors.T @ w
    if np.linalg.norm(values * inside) <= radius:
        return w

    def enough(nu: float) -> bool:
        return bool(np.linalg.norm(values * inside / (1 + nu * values**2)) <= radius)

    _, nu = search.halved(enough, *search.doubled(enough, 0.0, 1.0), digits=1e-12)
    return np.asarray(vectors @ (inside / (1 + nu * values**2)))


def close(
    normalisation: Normalisation,
    point: Array,
    jacobian: Array,
    moment: Array,
    outer: Array,
    *,
    stds: tuple[float, float],
    radius: float,
    offset: float,
    variance: float,
) -> Fit:
    """The best linear estimate from J (theta* - point) = moment - e - z + Z (theta* - point), J the released mean of
    mu' u phi', e the mean of u times the reward noise (covariance at most variance W, W the mean of u u'), z and Z the
    privacy noise, of std `stds` = (of J, of the moment); then projected on |theta| <= radius in its own ellipsoid.

    |theta* - point| is taken to be at most `offset` (true where the point is 0), so the equation's noise has covariance
    at most C = variance W + (std of moment)^2 I + (std of J)^2 offset^2 I, and theta minimises |moment - J (theta -
    point)|^2 in C^-1 plus |theta|^2 / radius^2. With P = J' C^-1 J + I / radius^2 the error is P^-1 (J' C^-1 (e + z - Z
    (theta* - point)) - theta* / radius^2). All of it is public: each direction is shrunk as its own noise asks, reward
    noise included."""
    dim = len(point)
    fitted = symmetrised(jacobian, normalisation.matrix)
    noise = max(stds[1] ** 2 + (stds[0] * offset) ** 2, 1e-15)
    weighted = fitted.T @ inverse(variance * positive(outer) + noise * np.eye(dim))
    known = weighted @ fitted
    doubt = inverse(known + np.eye(dim) / radius**2)
    half = root(doubt)
    theta = half @ project(half @ (weighted @ moment + known @ point), half, radius)
    return Fit(theta, doubt @ known @ doubt, doubt @ doubt / radius**2)


def solved(normalisation: Normalisation, jacobian: Array, moment: Array, outer: Array, *, radius: float) -> Fit:
    """Algorithm 12 and its confidence bound: theta = X^-1 moment with X = J + lambda I, and b(phi) = 16 lambda |U phi|
    + radius |X^-T phi| in the norm of W + lambda I; J, moment and W (`outer`) as released."""
    dim, ridge = len(moment), normalisation.ridge
    back = np.linalg.inv(jacobian + ridge * np.eye(dim))
    spread = radius**2 * back @ positive(outer + ridge * np.eye(dim)) @ back.T
    return Fit(back @ moment, spread, (16 * ridge) ** 2 * normalisation.matrix @ normalisation.matrix, summed=True)


def symmetrised(jacobian: Array, matrix: Array) -> Array:
    """The nearest J (in Frobenius norm) for which J U is symmetric, as it is without noise; then J U is made positive.
    With J in U's eigenbasis and M = J U: M_ij = (J_ij / u_j + J_ji / u_i) / (1 / u_j^2 + 1 / u_i^2)."""
    values, vectors = np.linalg.eigh(matrix)
    inside = vectors.T @ jacobian @ vectors / values
    weights = values**-2.0
    product = (inside + inside.T) / (weights + weights[:, None])
    return np.asarray(vectors @ (positive(product) / values) @ vectors.T)


def condition(normalisation: Normalisation, x: Array) -> tuple[float, float, float]:
    """The smallest and largest eigenvalue of mean(U phi phi' U / |U phi|) + lambda U over rows x, and lambda: a huge
    lambda passes trivially (U is then I / lambda), so the first two say little without the third. For public or
    simulated rows: what it returns of private ones is not private."""
    side = x @ normalisation.matrix
    lengths = np.linalg.norm(side, axis=1)
    weights = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    values = np.linalg.eigvalsh(
        side.T @ (side * weights[:, None]) / len(x) + normalisation.ridge * normalisation.matrix
    )
    return float(values[0]), float(values[-1]), normalisation.ridge
