"""What a billboard's randomizer really gives, worked out on the device: it trusts no claim of the server."""

import math
from typing import Any, NamedTuple

import numpy as np

from reticent.data import Array
from reticent.errors import BadBillboard
from reticent.model import links
from reticent.model.glm import glm_norm, glm_sensitivity, largest_weight
from reticent.model.linear import linear_sensitivity
from reticent.model.vectors import packed_size
from reticent.privacy.budget import Budget
from reticent_devices.mechanisms.local import MARGIN, epsilon_of, lattice_delta
from reticent_devices.mechanisms.randomizers import CELLS, Coin, Lattice, Randomizer
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan, epsilon
from reticent_devices.mechanisms.shuffle.encoding import FEWEST
from reticent_devices.roles.billboard import of_format


class Extent(NamedTuple):
    """Of the vector that a device makes: how many numbers, how long, how far apart those of two users can be."""

    size: int
    norm: float
    sensitivity: float


def extent(report: dict[str, Any], link: str, rewards: tuple[float, float], dim: int) -> Extent:
    """Of the vector for that `report`, whatever the rest of the billboard says. Derivations: model.linear, model.glm,
    model.scores."""
    kind, (low, high) = report["name"], rewards
    if kind == "score":
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
    """For replacing a user in a report of the shuffle model: the sensitivities of "score", "glm" and "linear" above,
    the last two with the moment's factor instead of 1. Cutting vectors to the plan's norm brings no two of them farther
    apart."""
    c, m = float(document["curvature"]), abs(float(document["moment"]))
    rewards = document["rewards"][0], document["rewards"][1]
    if document["weights"] == "score":
        return extent({"name": "score"}, document["link"], rewards, 1).sensitivity
    if document["weights"] == "saturating":
        report = {"name": "glm", "scale": c / m, "pad": [1.0, 0.0]}
        return m * extent(report, document["link"], rewards, 1).sensitivity
    return c * extent({"name": "linear", "scale": m / c}, document["link"], rewards, 1).sensitivity


def spent(document: dict[str, Any], delta: float, reports: int) -> float:
    """epsilon at delta of all that a shuffler hands on of a user's batch, if it has so many reports: from the noise of
    the planned ones among them, less those who may leave theirs out. inf where none can be shown."""
    if other := of_format(document["format"]):
        return float(other.spent(document, delta, reports))
    plan = document["plan"]
    sensitivity = min(2 * plan["norm"], shuffled_sensitivity(document))
    made = ShufflePlan(plan["users"], plan["size"], plan["grid"], plan["reach"], plan["trials"], sensitivity)
    return epsilon(made, delta, min(reports, made.users) - plan["malicious"])


def hidden(plan: dict[str, Any]) -> bool:
    """Whether reports by this plan have coins to hide among."""
    return bool(plan["trials"] * (plan["minimum"] - plan["malicious"]) >= FEWEST and plan["laplace"] <= 0)


def protected(document: dict[str, Any]) -> None:
    """Raise unless reports by its plan have coins to hide among."""
    plan, other = document["plan"], of_format(document["format"])
    if not (other.hidden if other else hidden)(plan) or plan["epsilon"] is None:
        raise BadBillboard("Expected a billboard with coins for people's data, got one without or for simulation.")


def cost(document: dict[str, Any], limit: Budget | None) -> Budget:
    """What a user's reports to a batch cost, worked out from its plan, with the fewest reports that it may have.
    BadBillboard where that is more than the plan claims, or than the caller's limit (None: any claim)."""
    plan = document["plan"]
    protected(document)
    found = Budget(spent(document, plan["delta"], plan["minimum"]), plan["delta"])
    if not found.epsilon <= plan["epsilon"] * (1 + MARGIN):
        raise BadBillboard(f"Expected coins that give the claimed epsilon {plan['epsilon']:g}, got fewer.")
    if limit is not None and not (found.epsilon <= limit.epsilon * (1 + MARGIN) and found.delta <= limit.delta):
        raise BadBillboard(
            f"Expected epsilon at most {limit.epsilon:g} and delta at most {limit.delta:g}, "
            f"got a billboard with {found.epsilon:g} and {found.delta:g}."
        )
    return found


def holds(made: Randomizer | Coin, *, epsilon: float, delta: float, size: int, sensitivity: float) -> bool:
    """Whether one report is (epsilon, delta)-private."""
    epsilon = epsilon * (1 + MARGIN)
    if isinstance(made, Lattice):
        return lattice_delta(made, sensitivity, size, epsilon) <= delta
    return epsilon_of(made, sensitivity=sensitivity, size=size, delta=delta) <= epsilon


def clipped(vector: Array, norm: float) -> Array:
    """`vector` within `norm`; zeros if it is not finite. A part in 10^9 more is left as it is: rounding."""
    size = math.sqrt(float(vector @ vector))
    if not size < math.inf:
        return np.zeros(vector.size)
    return vector * (norm / size) if size > norm * (1 + 1e-9) else vector


def countable(made: Any, farthest: float) -> bool:
    """Whether a number of that size is a whole number of cells that a double holds exactly: no report wraps around."""
    return not isinstance(made, Lattice) or farthest / made.sigma * CELLS <= 2.0**52
