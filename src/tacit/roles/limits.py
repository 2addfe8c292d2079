"""What a billboard's randomizer really gives, worked out on the device: it trusts no claim of the server.

The curves are those of mechanisms.local again, in the standard library and numpy; a test compares them."""

import math
from typing import Any, NamedTuple

import numpy as np

from tacit.data import Array
from tacit.mechanisms.randomizers import CELLS, FINE, SHARE, SPREAD, UNIT, Cap, Coin, Lattice, rarest
from tacit.model import links
from tacit.model.glm import glm_norm, glm_sensitivity, largest_weight
from tacit.model.linear import linear_sensitivity
from tacit.model.vectors import packed_size
from tacit.privacy import entropy

MARGIN = 1e-6  # relative, of a claimed epsilon: for floating point


class Extent(NamedTuple):
    """Of the vector that a device makes: how many numbers, how long, how far apart those of two users can be."""

    size: int
    norm: float
    sensitivity: float


def extent(report: dict[str, Any], link: str, rewards: tuple[float, float], dim: int) -> Extent:
    """Of the vector for that `report`, whatever the rest of the billboard says. Derivations: model.linear, model.glm; a
    pair is x beside a number in an interval; a gradient is cut to norm 1."""
    kind, (low, high) = report["name"], rewards
    if kind == "pair":
        scale, middle = float(report["scale"]), float(report["middle"])
        norm = math.hypot(1, scale * max(abs(low - middle), abs(high - middle)))
        return Extent(dim + 1, norm, math.hypot(2, scale * (high - low)))
    if kind == "gradient":
        return Extent(dim, 1.0, 2.0)
    if kind == "linear":
        moment = report["scale"] * max(abs(low), abs(high))
        return Extent(packed_size(dim) + dim, math.hypot(1, moment), linear_sensitivity(moment))
    if kind == "glm":
        weight = report["scale"] * largest_weight(links.named(link))
        features = dim + (report["pad"][1] != 0.0)
        return Extent(packed_size(features) + features, glm_norm(weight), glm_sensitivity(weight))
    if kind == "public":
        return Extent(1, 1.0, 1.0)
    raise KeyError


def shuffled_sensitivity(document: dict[str, Any]) -> float:
    """For replacing a user in a report of the shuffle model: the sensitivities of "glm" and "linear" above, with the
    moment's factor instead of 1. Cutting vectors to the plan's norm brings no two of them farther apart."""
    c, m = float(document["curvature"]), abs(float(document["moment"]))
    rewards = document["rewards"][0], document["rewards"][1]
    if document["weights"] == "saturating":
        report = {"name": "glm", "scale": c / m, "pad": [1.0, 0.0]}
        return m * extent(report, document["link"], rewards, 1).sensitivity
    return c * extent({"name": "linear", "scale": m / c}, document["link"], rewards, 1).sensitivity


def holds(made: Any, *, epsilon: float, delta: float, size: int, sensitivity: float) -> bool:
    """Whether one report is (epsilon, delta)-private."""
    epsilon = epsilon * (1 + MARGIN)
    if isinstance(made, Coin):
        share = made.chance / SHARE
        return 0 < share < 1 and abs(math.log(share) - math.log1p(-share)) <= epsilon
    if isinstance(made, Cap):
        return cap_epsilon(made, size) <= epsilon
    return isinstance(made, Lattice) and lattice_delta(made, sensitivity, size, epsilon) <= delta


def cap_epsilon(made: Cap, size: int) -> float:
    """As privacy.local.cap_epsilon; inf also for caps that are rarer than the server may ask for."""
    p, root = (made.chance + 1) / SHARE, math.sqrt(size + 1) / 2 + 1e-3
    if not (p < 1 and made.nominal >= rarest(size) * (1 - MARGIN) and root < FINE / 2):
        return math.inf
    near, far = made.threshold / (UNIT * (FINE + root)), made.threshold / (UNIT * (FINE - root))
    etas = np.logspace(-5, -1, 400).tolist()
    least = max(tail(far + eta) - SPREAD / eta**2 for eta in etas)
    most = min(0.5, *(tail(near - eta) + SPREAD / eta**2 for eta in etas))
    if least <= 0 or most**made.others > 1 / SHARE or most > made.chance / SHARE * (1 - (1 - 2 * least) ** made.rows):
        return math.inf
    return math.log(p) - math.log1p(-p) + math.log1p(-least) - math.log(least)


def lattice_delta(made: Lattice, sensitivity: float, size: int, epsilon: float) -> float:
    """The delta at epsilon: privacy.local.lattice_epsilon the other way round. 1 where none can be shown."""
    if not 0 < made.sigma < math.inf or not sensitivity < math.inf:
        return 1.0
    mu = sensitivity / made.sigma + math.sqrt(size) / CELLS
    slack = 2 * size * (entropy.RATIO + (entropy.REACH / CELLS) ** 2 / 24)
    stray = entropy.STRAY + 2 * tail(float(entropy.REACH))
    inner = epsilon - slack
    if inner < 0 or epsilon > 600 or mu > 1e3:
        return 1.0
    gauss = tail(inner / mu - mu / 2) - math.exp(inner) * tail(inner / mu + mu / 2)
    return min(1.0, max(0.0, gauss) * math.exp(slack) + (2 + math.exp(epsilon)) * size * stray)


def tail(t: float) -> float:
    """P(N >= t) of a standard normal number."""
    return 0.5 * math.erfc(t / math.sqrt(2))


def clipped(vector: Array, norm: float) -> Array:
    """`vector` within `norm`; zeros if it is not finite. A part in 10^9 more is left as it is: rounding."""
    size = math.sqrt(float(vector @ vector))
    if not size < math.inf:
        return np.zeros(vector.size)
    return vector * (norm / size) if size > norm * (1 + 1e-9) else vector


def countable(made: Any, farthest: float) -> bool:
    """Whether a number of that size is a whole number of cells that a double holds exactly: no report wraps around."""
    return not isinstance(made, Lattice) or farthest / made.sigma * CELLS <= 2.0**52
