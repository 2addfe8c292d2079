"""What has been released: all that estimators and policies ever see."""

from typing import NamedTuple

import numpy as np

from tacit.checks import Array
from tacit.kernels.linalg import smat


class Statistics(NamedTuple):
    """Noisy sums: gram of x x', moment of y x, and the standard deviation of their noise (public)."""

    gram: Array
    moment: Array
    gram_sigma: float
    moment_sigma: float

    @classmethod
    def unpack(cls, released: Array, dim: int, scale: float, sigma: float) -> "Statistics":
        """From (svec(gram), scale * moment), whose coordinates all have noise of std sigma."""
        packed = dim * (dim + 1) // 2
        gram = np.empty((dim, dim))
        smat(released[:packed], gram)
        return cls(gram, released[packed:] / scale, sigma, sigma / scale)
