"""Links: how the expected reward depends on <x, theta>."""

from dataclasses import dataclass

import numpy as np

from tacit import checks
from tacit.checks import Array
from tacit.kernels.links import IDENTITY, LOGISTIC, PROBIT, link_mean, link_slope


@dataclass(frozen=True)
class Link:
    """mean(z) is the expected reward at z = <x, theta>, slope(z) its derivative, both increasing in usefulness only
    through z: the best arm is the one with the largest z. `bounded`: means lie in [0, 1]."""

    name: str
    code: int
    bounded: bool

    def mean(self, z: Array | float) -> Array:
        return np.asarray(np.vectorize(lambda v: link_mean(self.code, v), otypes=[np.float64])(z))

    def slope(self, z: Array | float) -> Array:
        return np.asarray(np.vectorize(lambda v: link_slope(self.code, v), otypes=[np.float64])(z))

    def kappa(self, radius: float) -> float:
        """1 / (smallest slope over |z| <= radius): the worst case for unit arms and |theta| <= radius."""
        checks.non_negative(radius=radius)
        return 1.0 / float(self.slope(radius))


identity = Link("identity", IDENTITY, False)
logistic = Link("logistic", LOGISTIC, True)
probit = Link("probit", PROBIT, True)
NAMES = ("identity", "logistic", "probit")


def named(name: str | Link) -> Link:
    """The link of that name."""
    if isinstance(name, Link):
        return name
    checks.one_of(NAMES, link=name)
    return {"identity": identity, "logistic": logistic, "probit": probit}[name]
