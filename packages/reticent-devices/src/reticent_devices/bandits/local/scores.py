"""LocalIRLS without curvature (curvature="none"): a report is the score at the public estimate (model.scores), d
numbers, and the estimate is a multiple of the sum of all reports.

The noise of a report's number depends on how long the vector is, and hardly on how many numbers it has: leaving out the
curvature takes little noise from what is left. What goes is the curvature's own noise, and most of the report's bytes.
While theta is wrong scores push it, until their mean is 0."""

from typing import Any

import numpy as np

from reticent import checks
from reticent.kernels.glm import Posterior
from reticent.model import links
from reticent.model.scores import steepness
from reticent_devices.bandits.local.scores_kernel import LocalScoreSettings
from reticent_devices.bandits.local.server import LocalServer

CURVATURES = ("auto", "released", "none")
MANY = 50  # dimensions from which on, as for disjoint arms, "auto" asks for scores alone: docs/measurements/local.md


def check(curvature: str, *, dim: int, blocks: int, public_arms: bool) -> tuple[bool, str]:
    """Whether scores alone are sent, and why, in words for the certificate where "auto" has chosen; ValueError if they
    cannot be. All of it is public."""
    checks.one_of(CURVATURES, curvature=curvature)
    if public_arms and curvature == "none":
        raise ValueError('Expected curvature with public arms, where it is exact, got "none".')
    if public_arms:
        return False, ""
    if curvature != "auto":
        return curvature == "none", ""
    if blocks > 1:
        return True, "; without curvature, as arms are disjoint"
    if dim >= MANY:
        return True, f"; without curvature, as dimensions are {MANY} or more"
    return False, f"; with curvature, as dimensions are fewer than {MANY}"


def settings(bandit: LocalServer, discount: float) -> LocalScoreSettings:
    (low, high), link = bandit.rewards, links.built_in(bandit.link)
    return LocalScoreSettings(
        float(low), float(high), steepness(link, high - low), float(bandit.radius), float(discount)
    )


def before(dim: int) -> Posterior:
    """Nothing but theta = 0."""
    none, empty = np.zeros(0), np.zeros((0, 0))
    return Posterior(np.zeros(dim), none, empty, none.copy(), none.copy(), empty.copy())


def document(*, random: bool) -> dict[str, Any]:
    """Of the billboard, beside theta."""
    return {"inverse": [], "report": {"name": "score"}, "policy": {"name": "best", "random": random}}
