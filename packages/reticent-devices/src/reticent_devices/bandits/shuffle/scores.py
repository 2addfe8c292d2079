"""ShuffleNewton without curvature (curvature="none"): reports are scores at the public estimate (model.scores), d
numbers, and the estimate is a multiple of their sum. Devices play the best arm by it, with
blocks by the average of the last ones."""

from typing import TYPE_CHECKING, Any

import numpy as np

from reticent import checks
from reticent.kernels.glm import Posterior
from reticent.model import links
from reticent.model.scores import steepness
from reticent.model.vectors import pair_size
from reticent_devices.bandits.shuffle.scores_kernel import ShuffleScoreSettings
from reticent_devices.bandits.shuffle.sum_kernel import FADING
from reticent_devices.roles.wire import LARGEST

if TYPE_CHECKING:
    from reticent_devices.bandits.shuffle.newton import ShuffleNewton

STATISTIC = "scores"
CURVATURES = ("auto", "released", "none")
# Chosen by regret on tuning seeds (docs/measurements/shuffle.md); none of them touches privacy.
FIRST = 8.0  # users of the first batch per unit of noise
GROWTH, GROWTH_APART = 1.2, 1.1  # of batches; the second with blocks
AVERAGE_APART = 0.3  # with blocks; elsewhere one plays by the latest estimate
MANY = 100  # dimensions of an arm from which on "auto" asks for no curvature


def check(server: "ShuffleNewton", parts: int) -> tuple[bool, str]:
    """Whether scores alone are asked for, and why, in words for the certificate where "auto" has chosen; ValueError if
    they cannot be."""
    checks.one_of(CURVATURES, curvature=server.curvature)
    if server.curvature == "none" and (server.explore != "thompson" or server.estimate != "auto"):
        raise ValueError(
            'Expected explore="thompson" and estimate="auto" with curvature="none", '
            f'got explore="{server.explore}" and estimate="{server.estimate}".'
        )
    size = pair_size(server.dim)
    if server.curvature != "auto" or server.explore != "thompson" or server.estimate != "auto":
        if server.curvature != "none" and size > LARGEST:
            raise ValueError(f"Expected reports of at most {LARGEST} numbers, got {size} with a curvature.")
        return server.curvature == "none", ""
    if server.dim // parts >= MANY:
        return True, f"; without curvature, as an arm has {MANY} dimensions or more"
    if size > LARGEST:
        return True, f"; without curvature, as a report would have more than {LARGEST} numbers with it"
    return False, ""


def settings(server: "ShuffleNewton", growth: float, *, disjoint: bool) -> ShuffleScoreSettings:
    """With blocks all batches count alike, elsewhere small, early ones less."""
    low, high = map(float, server.rewards)
    fading, average = (1.0, AVERAGE_APART) if disjoint else (growth**-FADING, 1.0)
    steep, radius, largest = (
        steepness(links.built_in(server.link), high - low),
        float(server.radius),
        server.analyzer.largest,
    )
    return ShuffleScoreSettings(low, high, steep, radius, growth, fading, average, float(largest))


def public(posterior: Posterior, policy: dict[str, Any]) -> dict[str, Any]:
    """Of the billboard: theta is where scores are taken, the centre what is played by; there are no matrices."""
    nothing = np.zeros((0, 0))
    return {
        "weights": "score",
        "curvature": 1.0,
        "moment": 1.0,
        "policy": policy,
        "theta": posterior.centre,
        "centre": posterior.theta,
        "inverse": nothing,
        "axes": nothing,
        "spread": np.zeros(0),
    }
