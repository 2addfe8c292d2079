"""Draws of privacy noise from a generator: simulation only, floats.

One kernel serves every mechanism, by the kind of its law:
    SILENT    out = 0
    GAUSSIAN  out ~ N(0, scale^2 I)
    WISHART   N ~ Wishart_{d+1}(scale^2 I, dof), out = (svec(N[:d, :d]), N[:d, d])
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from tacit.data import Array
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.linalg import svec

SILENT, GAUSSIAN, WISHART = 0, 1, 2


class NoiseLaw(NamedTuple):
    """Of fresh, independent noise vectors."""

    kind: int
    scale: float
    dof: float  # degrees of freedom (WISHART)


def gaussian_law(sigma: float) -> NoiseLaw:
    """Standard deviation sigma in each coordinate; no noise, and no draws, where it is 0."""
    return NoiseLaw(GAUSSIAN if sigma else SILENT, float(sigma), 0.0)


@kernel
def bartlett(rng: Generator, scale: float, dof: float, out: Array) -> None:
    """out ~ Wishart(scale^2 I, dof) = scale^2 A A', A lower triangular with A[i, i]^2 ~ chi^2(dof - i) and
    standard normals below: the cost does not depend on dof."""
    d = out.shape[0]
    lower = np.zeros((d, d))
    for i in range(d):
        lower[i, i] = np.sqrt(rng.chisquare(dof - i))
        for j in range(i):
            lower[i, j] = rng.standard_normal()
    for i in range(d):
        for j in range(i + 1):
            s = 0.0
            for k in range(j + 1):
                s += lower[i, k] * lower[j, k]
            out[i, j] = scale * scale * s
            out[j, i] = out[i, j]


@inlined
def draw(rng: Generator, law: NoiseLaw, out: Array) -> None:
    """One noise vector for one released node, in the coordinates of the statistic."""
    if law.kind == GAUSSIAN:
        for i in range(out.size):
            out[i] = law.scale * rng.standard_normal()
    elif law.kind == WISHART:
        d = int((np.sqrt(9.0 + 8.0 * out.size) - 3.0) / 2.0 + 0.5)  # out.size = d (d + 1) / 2 + d
        noise = np.empty((d + 1, d + 1))
        bartlett(rng, law.scale, law.dof, noise)
        packed = d * (d + 1) // 2
        svec(noise[:d, :d], out[:packed])
        for i in range(d):
            out[packed + i] = noise[i, d]
    else:
        out[:] = 0.0
