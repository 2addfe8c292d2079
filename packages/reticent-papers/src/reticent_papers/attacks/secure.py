"""Attacks on what people see of a published bandit as it is served: as reticent_lab.audit.attacks.secure."""

from collections.abc import Sequence
from typing import Any

from numpy.random import default_rng

from reticent.privacy.budget import Budget
from reticent.privacy.noise import Source
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import BUDGET, Pair, black_box
from reticent_lab.audit.attacks.grid import secure
from reticent_lab.audit.attacks.secure import ARM, CLICK, SHARE, estimate_attack, theta
from reticent_papers import JointReweighted, JointSquareCB
from reticent_papers.attacks.rare import ROUNDS, rare

FIRST = 2  # users of an epoch
EPOCHS: dict[str, Any] = {"dim": 2, "horizon": 8 * FIRST, "first": FIRST, "pending": 8 * FIRST}
LOUDER = Budget(epsilon=6.0, delta=BUDGET.delta)  # less noise: what a run tells grows with it, and runs are slow
EXPLORE = 0.99 * 0.05**0.5  # below the root of the ridge: nobody explores, so all users are in theta_tau
OPPOSITE = Pair(([1.0, 0.0], -1.0), ([1.0, 0.0], 1.0))


def attacks() -> Sequence[Attack]:
    exploring: dict[str, Any] = {"direction": [1.0, 0.0], "source": secure, "stepwise": True, "share": SHARE}
    return [
        estimate_attack("joint-glm-rare-estimate", rare(explore=EXPLORE), CLICK, theta, later=ROUNDS - 1),
        black_box("joint-glm-rare-secure-actions", rare(explore=EXPLORE), CLICK, **exploring),
        estimate_attack("joint-reweighted-estimate", reweighted, OPPOSITE, interval, later=FIRST),
        estimate_attack("joint-square-cb-estimate", square_cb, OPPOSITE, theta, later=FIRST),
    ]


def interval(bandit: Any) -> float:
    """The middle of its interval in the first epoch."""
    return float(bandit.intervals(ARM)[0][0][0])


def reweighted(source: Source) -> JointReweighted:
    return JointReweighted(
        **EPOCHS, budget=LOUDER, source=source, policy=default_rng(0), link="identity", rewards=(-1.0, 1.0)
    )


def square_cb(source: Source) -> JointSquareCB:
    return JointSquareCB(**EPOCHS, budget=LOUDER, source=source, policy=default_rng(0))
