"""An attack on JointGLMUCB: all that it releases."""

from collections.abc import Sequence

from tacit_lab.audit.attack import Attack
from tacit_lab.audit.attacks.bandits import SCORE_PAIR, lin_ucb, white_box
from tacit_papers import JointGLMUCB


def attacks() -> Sequence[Attack]:
    return [white_box("joint-glm-ucb", lin_ucb(JointGLMUCB), SCORE_PAIR, share=0.05)]
