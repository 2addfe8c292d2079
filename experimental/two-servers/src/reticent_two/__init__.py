"""Two aggregators, neither trusted alone: a bandit, its servers and its device. UNREVIEWED CRYPTOGRAPHY: nobody outside
has looked at it."""

from reticent_two.bandits.glm import TwoServerGLM as TwoServerGLM
from reticent_two.roles.device import TwoServerClient as TwoServerClient
