"""One file per algorithm, reading like its pseudo-code."""

from tacit.bandits.anytime import Anytime
from tacit.bandits.b_glin_cb import BGLinCB
from tacit.bandits.ecolog import ECOLog
from tacit.bandits.embedded import Embedded
from tacit.bandits.face import Bandit, Choice, Choices
from tacit.bandits.glm_ucb import GLMUCB
from tacit.bandits.gloc import GLOC
from tacit.bandits.joint_glm import JointGLM
from tacit.bandits.joint_glm_rare import JointGLMRare
from tacit.bandits.joint_lin_ucb import JointLinUCB
from tacit.bandits.joint_reweighted import JointReweighted
from tacit.bandits.joint_square_cb import JointSquareCB
from tacit.bandits.lin_ucb import LinUCB
from tacit.bandits.local_anytime_ucb import LocalAnytimeUCB
from tacit.bandits.local_combiner import LocalCombiner
from tacit.bandits.local_glm import LocalGLM
from tacit.bandits.local_irls import LocalIRLS
from tacit.bandits.local_lin_ucb import LocalLinUCB
from tacit.bandits.local_online_ucb import LocalOnlineUCB
from tacit.bandits.local_reweighted import LocalReweighted
from tacit.bandits.local_square_cb import LocalSquareCB
from tacit.bandits.logistic_ts import LogisticTS
from tacit.bandits.mle_ucb import MLEUCB
from tacit.bandits.rs_glin_ucb import RSGLinUCB
from tacit.bandits.server import Server
from tacit.bandits.shuffle_glm import ShuffleGLM
from tacit.bandits.shuffle_lin_ucb import ShuffleLinUCB
from tacit.bandits.shuffle_newton import ShuffleNewton
from tacit.bandits.uniform import Uniform

__all__ = [
    "GLMUCB",
    "GLOC",
    "MLEUCB",
    "Anytime",
    "BGLinCB",
    "Bandit",
    "Choice",
    "Choices",
    "ECOLog",
    "Embedded",
    "JointGLM",
    "JointGLMRare",
    "JointLinUCB",
    "JointReweighted",
    "JointSquareCB",
    "LinUCB",
    "LocalAnytimeUCB",
    "LocalCombiner",
    "LocalGLM",
    "LocalIRLS",
    "LocalLinUCB",
    "LocalOnlineUCB",
    "LocalReweighted",
    "LocalSquareCB",
    "LogisticTS",
    "RSGLinUCB",
    "Server",
    "ShuffleGLM",
    "ShuffleLinUCB",
    "ShuffleNewton",
    "Uniform",
]
