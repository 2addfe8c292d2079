"""An attack on JointGLMUCB: all that it releases."""

from collections.abc import Sequence
from typing import Any

from reticent.privacy.noise import Source
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import BUDGET, SCORE_PAIR, STEPS, white_box
from reticent_papers import JointGLMUCB


def attacks() -> Sequence[Attack]:
    return [white_box("joint-glm-ucb", _made, SCORE_PAIR, share=0.05)]


def _made(source: Source) -> JointGLMUCB:
    steps: dict[str, Any] = {"horizon": STEPS, "first": 1, "growth": 1.01, "pending": STEPS}
    return JointGLMUCB(dim=2, budget=BUDGET, source=source, **steps)
