"""Two aggregators, neither trusted alone: a bandit, its servers and its device. UNREVIEWED CRYPTOGRAPHY: nobody outside
has looked at it."""

from tacit_two.bandits.glm import TwoServerGLM as TwoServerGLM
from tacit_two.roles.device import TwoServerClient as TwoServerClient
