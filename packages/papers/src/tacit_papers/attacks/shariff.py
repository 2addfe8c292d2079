"""Attacks on ShariffLinUCB: each of its ways to release, the published noise, and an answer that comes late."""

from collections.abc import Sequence
from typing import Any

from tacit.privacy.noise import Source
from tacit.testing.stage import Make
from tacit_lab.audit.attack import Attack
from tacit_lab.audit.attacks.bandits import BUDGET, LINEAR_PAIR, STEPS, white_box
from tacit_lab.audit.attacks.people import late_reward
from tacit_papers import ShariffLinUCB

EACH_CHOICE = ("tree", "consistent-tree", "toeplitz", "buffered")  # is a step


def attacks() -> Sequence[Attack]:
    name = "shariff-lin-ucb"
    return [
        *(white_box(f"{name}-{release}", shariff(release=release), LINEAR_PAIR, share=0.3) for release in EACH_CHOICE),
        white_box(f"{name}-paper", shariff(calibration="paper"), LINEAR_PAIR, epsilon=BUDGET.epsilon, share=0.1),
        white_box(f"{name}-wishart", shariff(noise="wishart"), LINEAR_PAIR, family="general", share=0.1),
        late_reward(f"{name}-late", shariff()),
    ]


def shariff(**options: Any) -> Make:
    def make(source: Source) -> ShariffLinUCB:
        return ShariffLinUCB(dim=2, horizon=STEPS, pending=STEPS, budget=BUDGET, source=source, **options)

    return make
