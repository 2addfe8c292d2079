"""Small symmetric matrices: packing, Cholesky, inverse.

`svec` packs a symmetric matrix into a vector with off-diagonals times sqrt 2, so that the Euclidean norm of the
vector is the Frobenius norm of the matrix: that is the norm Gaussian noise is calibrated to.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from reticent.data import Array
from reticent.kernels.compile import kernel
from reticent.model.vectors import ROOT2


@kernel
def copy(source: npt.NDArray[Any], out: npt.NDArray[Any]) -> None:
    """out <- source, of the same shape. A slice assignment does the same, and takes a second or two longer to compile:
    it brings along the text of an error for shapes that differ."""
    for place in np.ndindex(source.shape):
        out[place] = source[place]


@kernel
def svec(matrix: Array, out: Array) -> None:
    """out[k] = matrix[i, i], and sqrt 2 * matrix[i, j] for i < j, row by row."""
    k = 0
    for i in range(matrix.shape[0]):
        out[k] = matrix[i, i]
        k += 1
        for j in range(i + 1, matrix.shape[0]):
            out[k] = ROOT2 * matrix[i, j]
            k += 1


@kernel
def smat(packed: Array, out: Array) -> None:
    """The symmetric matrix whose svec is `packed`."""
    k = 0
    for i in range(out.shape[0]):
        out[i, i] = packed[k]
        k += 1
        for j in range(i + 1, out.shape[0]):
            out[i, j] = packed[k] / ROOT2
            out[j, i] = out[i, j]
            k += 1


@kernel
def cholesky(matrix: Array, out: Array) -> bool:
    """out = L, lower triangular, L L' = matrix. Returns False (out unusable) if matrix is not positive definite."""
    d = matrix.shape[0]
    for i in range(d):
        for j in range(i + 1):
            s = matrix[i, j]
            for k in range(j):
                s -= out[i, k] * out[j, k]
            if i == j:
                if not s > 0.0:
                    return False
                out[i, i] = np.sqrt(s)
            else:
                out[i, j] = s / out[j, j]
                out[j, i] = 0.0
    return True


@kernel
def invert(matrix: Array, out: Array) -> float:
    """out = matrix^-1. Returns log det matrix, or NaN if matrix is not positive definite."""
    d = matrix.shape[0]
    lower = np.zeros((d, d))
    if not cholesky(matrix, lower):
        return np.nan
    logdet = 0.0
    for i in range(d):
        logdet += 2.0 * np.log(lower[i, i])
    for i in range(d):  # lower <- lower^-1, column by column
        lower[i, i] = 1.0 / lower[i, i]
        for j in range(i):
            s = 0.0
            for k in range(j, i):
                s -= lower[i, k] * lower[k, j]
            lower[i, j] = s * lower[i, i]
    for i in range(d):  # L^-T L^-1
        for j in range(i + 1):
            s = 0.0
            for k in range(i, d):
                s += lower[k, i] * lower[k, j]
            out[i, j] = s
            out[j, i] = s
    return logdet


@kernel
def grow(x: Array, weight: float, inverse: Array) -> float:
    """inverse <- (inverse^-1 + weight x x')^-1 by Sherman and Morrison. Returns the growth of the log determinant."""
    d = x.size
    image = np.empty(d)
    s = 0.0
    for i in range(d):
        v = 0.0
        for j in range(d):
            v += inverse[i, j] * x[j]
        image[i] = v
        s += x[i] * v
    factor = 1.0 + weight * s
    for i in range(d):
        for j in range(d):
            inverse[i, j] -= weight * image[i] * image[j] / factor
    return float(np.log(factor))


@kernel
def square_norm(x: Array, matrix: Array) -> float:
    """x' matrix x."""
    s = 0.0
    for i in range(x.size):
        for j in range(x.size):
            s += x[i] * matrix[i, j] * x[j]
    return s
