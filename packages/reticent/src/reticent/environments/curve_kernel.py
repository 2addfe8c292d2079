"""From what a world says of an arm, a score, to its mean reward."""

from typing import NamedTuple

import numpy as np

from reticent.data import Array
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import link_mean
from reticent.model.links import Code

WAVES = 2.5  # of a bent curve, in units of the scores' spread: with a bend above 1 / WAVES it falls where scores grow


class Curve(NamedTuple):
    """mean = scale mu(offset + strength (u + bend sin(WAVES u))), u = (score - middle) / spread, cut to [0, 1]."""

    middle: float = 0.0
    spread: float = 1.0
    offset: float = 0.0
    strength: float = 1.0
    bend: float = 0.0
    scale: float = 1.0


@kernel
def to_means(curve: Curve, link: Code, out: Array) -> None:
    """out: scores, which become means."""
    for n in range(out.shape[0]):
        for a in range(out.shape[1]):
            u = (out[n, a] - curve.middle) / curve.spread
            u += curve.bend * np.sin(WAVES * u)
            mean = curve.scale * link_mean(link, curve.offset + curve.strength * u)
            out[n, a] = min(max(mean, 0.0), 1.0)
