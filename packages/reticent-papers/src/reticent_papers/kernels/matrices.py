"""Symmetric matrices: packing, roots, the nearest positive one."""

import numpy as np

from reticent.data import Array
from reticent.kernels.linalg import smat, svec

HALVINGS = 60  # of an interval by bisection: its ends then differ in the last digits at most


def packed(matrix: Array) -> Array:
    """svec: off-diagonals times sqrt 2, so that the vector's norm is the Frobenius norm."""
    out = np.empty(len(matrix) * (len(matrix) + 1) // 2)
    svec(np.ascontiguousarray(matrix), out)
    return out


def unpacked(vector: Array, dim: int) -> Array:
    out = np.empty((dim, dim))
    smat(np.ascontiguousarray(vector), out)
    return out


def positive(matrix: Array) -> Array:
    """The nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def root(matrix: Array) -> Array:
    """The square root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def inverse(matrix: Array) -> Array:
    return np.asarray(np.linalg.inv(matrix), np.float64)
