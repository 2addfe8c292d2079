"""The ways in which a JointGLM learns, a module each: joint.curvature, joint.hybrid, joint.public, joint.scores."""

from typing import TYPE_CHECKING, Any, Protocol

from tacit.bandits.chances import Values
from tacit.core.choices import Index
from tacit.bandits.joint.summing import Summer
from tacit.data import Array, Released
from tacit.kernels.block import Block
from tacit.kernels.glm import Posterior
from tacit.model.glm import GLMContribution
from tacit.model.public import RewardContribution
from tacit.model.scores import ScoreContribution

if TYPE_CHECKING:
    from tacit.bandits.joint.glm import JointGLM

Contribution = GLMContribution | RewardContribution | ScoreContribution


class Way(Protocol):
    """What a user contributes, and what follows from the sums that are released. Settings and state are the bandit's;
    `_state.posterior` is changed in place."""

    STATISTIC: str  # what is summed, in words
    GROWTH: float  # of steps
    DISCOUNT: float  # of earlier steps, at each step
    PER_SIGMA: float  # of the noise's std: so many more people in the smallest step

    def contribution(self, bandit: "JointGLM", **parts: Any) -> Contribution:
        """Of one user, with a bound."""

    def before(self, bandit: "JointGLM") -> Posterior:
        """The estimate before anything was released."""

    def update(self, bandit: "JointGLM", released: Released) -> None:
        """The estimate, from what was released."""

    def pick(self, bandit: "JointGLM", arms: Array) -> Index:
        """For each user of (n, K, width) the arm to play, by a fresh draw."""

    def values(self, bandit: "JointGLM", arms: Array, posterior: Posterior) -> Values:
        """Of the (K, width) arms of a user under such a draw at that estimate: for probabilities."""

    def beliefs(self, bandit: "JointGLM", arms: Array, level: float) -> tuple[Array, Array]:
        """For each row x: the estimate of <x, theta*>, and half the width of its interval."""

    def learn(self, bandit: "JointGLM", kept: Array, reward: float) -> None:
        """A user's contribution joins the open step; kept: what was kept of the choice."""

    def summer(self, bandit: "JointGLM") -> Summer | None:
        """What sums contributions at the present estimate anywhere; None where they have to be learnt one by one."""

    def play(self, bandit: "JointGLM", block: Block) -> bool:
        """Whole rounds in one compiled loop; False where there is none."""
