"""One file per algorithm, reading like its pseudo-code."""

from tacit.bandits.anytime import Anytime
from tacit.bandits.base import Bandit, Choice, Choices
from tacit.bandits.embedded import Embedded
from tacit.bandits.joint.glm import JointGLM
from tacit.bandits.joint.glm_rare import JointGLMRare
from tacit.bandits.joint.lin_ucb import JointLinUCB
from tacit.bandits.joint.reweighted import JointReweighted
from tacit.bandits.joint.square_cb import JointSquareCB
from tacit.bandits.local.anytime_ucb import LocalAnytimeUCB
from tacit.bandits.local.combiner import LocalCombiner
from tacit.bandits.local.glm import LocalGLM
from tacit.bandits.local.irls import LocalIRLS
from tacit.bandits.local.lin_ucb import LocalLinUCB
from tacit.bandits.local.online_ucb import LocalOnlineUCB
from tacit.bandits.local.reweighted import LocalReweighted
from tacit.bandits.local.square_cb import LocalSquareCB
from tacit.bandits.references.b_glin_cb import BGLinCB
from tacit.bandits.references.ecolog import ECOLog
from tacit.bandits.references.glm_ucb import GLMUCB
from tacit.bandits.references.gloc import GLOC
from tacit.bandits.references.lin_ucb import LinUCB
from tacit.bandits.references.logistic_ts import LogisticTS
from tacit.bandits.references.mle_ucb import MLEUCB
from tacit.bandits.references.rs_glin_ucb import RSGLinUCB
from tacit.bandits.references.uniform import Uniform
from tacit.bandits.server import Server
from tacit.bandits.shuffle.glm import ShuffleGLM
from tacit.bandits.shuffle.lin_ucb import ShuffleLinUCB
from tacit.bandits.shuffle.newton import ShuffleNewton

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
