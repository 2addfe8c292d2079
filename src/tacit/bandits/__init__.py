"""One file per algorithm, reading like its pseudo-code."""

from tacit.bandits.anytime import Anytime
from tacit.bandits.b_glin_cb import BGLinCB
from tacit.bandits.ecolog import ECOLog
from tacit.bandits.face import Bandit, Choice, Choices
from tacit.bandits.glm_ucb import GLMUCB
from tacit.bandits.gloc import GLOC
from tacit.bandits.joint_glm import JointGLM
from tacit.bandits.joint_glm_rare import JointGLMRare
from tacit.bandits.joint_lin_ucb import JointLinUCB
from tacit.bandits.joint_reweighted import JointReweighted
from tacit.bandits.joint_square_cb import JointSquareCB
from tacit.bandits.lin_ucb import LinUCB
from tacit.bandits.local_reweighted import LocalReweighted
from tacit.bandits.local_square_cb import LocalSquareCB
from tacit.bandits.logistic_ts import LogisticTS
from tacit.bandits.mle_ucb import MLEUCB
from tacit.bandits.rs_glin_ucb import RSGLinUCB
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
    "JointGLM",
    "JointGLMRare",
    "JointLinUCB",
    "JointReweighted",
    "JointSquareCB",
    "LinUCB",
    "LocalReweighted",
    "LocalSquareCB",
    "LogisticTS",
    "RSGLinUCB",
    "Uniform",
]
