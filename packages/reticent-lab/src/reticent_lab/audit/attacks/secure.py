"""Attacks on what people see of a bandit as it is served: secure noise, choose and observe, its estimate, its choices.

The other attacks look at what a mechanism has released. A bandit whose mechanism is right may still show something
else: these read what it shows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.kernels.glm import Tuning
from reticent.testing.leaks import Leaking
from reticent.testing.stage import Make, act, fresh, nobody
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import BUDGET, Pair, black_box, glm
from reticent_lab.audit.attacks.grid import secure

VIEW = "the estimate"
ARM = np.array([[1.0, 0.0]])
CLICK = Pair(([1.0, 0.0], 0.0), ([1.0, 0.0], 1.0))
SHARE = 0.05  # of the runs: each is some dozen calls


def attacks() -> Sequence[Attack]:
    """As it is served; and planted: an estimate from exact sums, and choices by it, where what is released is as it
    should be."""
    one_dim = Pair(([1.0], 0.0), ([1.0], 1.0))
    served: dict[str, Any] = {"source": secure, "stepwise": True, "share": SHARE}
    planted: dict[str, Any] = {"claimed": False, "bug": "The estimate is made from the exact sums of a step. "}
    still = Tuning(explore=0.0)  # choices follow the estimate alone, and so tell most of it
    exact = glm(Leaking, features=2), glm(Leaking, features=1, first=4, horizon=8, tuning=still)
    alone = glm(features=1, first=4, horizon=20, tuning=still)
    return [
        estimate_attack("joint-glm-estimate", glm(features=2), CLICK, theta),
        black_box("joint-glm-secure-actions", alone, one_dim, direction=[1.0], **served),
        estimate_attack("exact-sums-in-the-estimate", exact[0], CLICK, theta, **planted),
        black_box("exact-sums-in-the-actions", exact[1], one_dim, direction=[1.0], **served, **planted),
    ]


def theta(bandit: Any) -> float:
    """The estimate along the first user's arm."""
    return float(ARM[0] @ bandit.theta)


def estimate_attack(
    name: str,
    make: Make,
    pair: Pair,
    look: Callable[[Any], float],
    *,
    later: int = 1,
    claimed: bool = True,
    bug: str = "",
) -> Attack:
    """The first user, then `later` ones who add nothing, the last of whom finds a release made; then a look."""
    bandit = make(secure(0))

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.empty(runs)
        for i, played in enumerate(fresh(make, runs, rng, source=secure)):
            act(played, pair.user(world))
            for _ in range(later):
                act(played, nobody(played.memory.validator.dim))
            out[i] = look(played)
        return out

    return Attack(
        name=name,
        view=VIEW,
        epsilon=bandit.privacy.epsilon,
        delta=BUDGET.delta,
        claimed=claimed,
        how=f"{bug}User 1 has {pair}, the others contribute nothing; score: the estimate that is shown, along the arm.",
        scores=scores,
        family="gaussian",
        share=SHARE,
    )
