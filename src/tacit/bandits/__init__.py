"""One file per algorithm, reading like its pseudo-code."""

from tacit.bandits.face import Bandit, Choice, Choices
from tacit.bandits.joint_glm import JointGLM
from tacit.bandits.joint_glm_rare import JointGLMRare
from tacit.bandits.joint_lin_ucb import JointLinUCB
from tacit.bandits.lin_ucb import LinUCB

__all__ = ["Bandit", "Choice", "Choices", "JointGLM", "JointGLMRare", "JointLinUCB", "LinUCB"]
