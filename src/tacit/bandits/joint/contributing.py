"""What a user contributes to JointGLM: with private contexts a pair of curvature and moment, or a score alone; with
public ones the reward."""

from typing import TYPE_CHECKING, Any

from tacit.bandits.joint.public_kernel import EXACT
from tacit.model.glm import GLMContribution, balanced_curvature
from tacit.model.public import LONGEST, LONGEST_ALONE, RewardContribution
from tacit.model.scores import ScoreContribution
from tacit.privacy.relations import ZERO_OUT

if TYPE_CHECKING:
    from tacit.bandits.joint.glm import JointGLM

# Chosen as the numbers of joint.glm.
BLEND = 0.85  # of tangent and chord: see model.glm.line
CURVATURE_SHARE = 0.136  # see balanced_curvature


def contribution(bandit: "JointGLM") -> GLMContribution | RewardContribution | ScoreContribution:
    """Blends suit preferences that last: what is forgotten has the tangent."""
    low, high = bandit.rewards
    parts: dict[str, Any] = {"dim": bandit.dim, "link": bandit._link, "low": low, "high": high}
    parts |= {"blocks": bandit._blocks, "shared": bandit._shared}
    if bandit._scores:
        return ScoreContribution(**parts)
    zero_out, chords = bandit.budget.adjacency == ZERO_OUT, bandit._link.odd and bandit.forget is None
    parts["blend"] = BLEND if chords else 0.0
    if bandit._public:
        return RewardContribution(**parts, scale=EXACT, longest=LONGEST_ALONE if zero_out else LONGEST)
    reach, apart = bandit.radius / bandit._unit, 1.0 if zero_out else 2.0
    scale = balanced_curvature(bandit._link, reach, share=CURVATURE_SHARE, apart=apart)
    return GLMContribution(**parts, scale=scale)
