"""JointGLM with contexts="public": features and offered arms are no secret; rewards are, and if and when they came.

What a choice teaches before its reward comes, its curvature, is a function of public features and of the public
estimate: it is summed at each choice, answered or not, without noise, and is no part of what is released. Released are
moments alone (model.public.RewardContribution): fewer numbers, less far apart, and no noise in the curvature, which is
the larger part of what privacy costs.

Missing rewards. A choice whose reward never comes has curvature and no moment. The moment is centred at the reward that
the public estimate expects, as far as that costs nothing, so that a missing one says "nearly as expected": it slows
learning more than it draws the estimate towards 0. How many came is private, so that the estimate cannot make up for
it: where rewards are missing for some features much more often than for others, private contexts do better
(docs/public.md).
Late rewards. The centre is kept with the choice, so that moment and curvature are of one linearisation. A moment fades
from the step in which it comes, the curvature from that of its choice: half a per cent a step between them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import checks
from tacit.bandits import irls
from tacit.bandits.joint import curvature
from tacit.bandits.joint.glm_kernel import EXACT, Public, beside
from tacit.data import Array, Raw, Released
from tacit.kernels.block import Block
from tacit.kernels.formulas import add_context, add_reward
from tacit.mechanisms import leaves
from tacit.model.public import LONGEST, LONGEST_ALONE, RewardContribution
from tacit.model.vectors import pair_size
from tacit.privacy.relations import ZERO_OUT

if TYPE_CHECKING:
    from tacit.bandits.joint.glm import JointGLM

STATISTIC = "centred rewards times x / |x|"
GROWTH, DISCOUNT, PER_SIGMA = curvature.GROWTH, curvature.DISCOUNT, curvature.PER_SIGMA
before, pick, values, beliefs = curvature.before, curvature.pick, curvature.values, curvature.beliefs
PRIVATE, PUBLIC = "private", "public"
CONTEXTS = (PRIVATE, PUBLIC)
TOLD = (
    'Features and offered arms are declared public (contexts="public"): they, and so which arm was chosen, are not '
    "protected. Rewards are, and whether and when they came."
)


def check(bandit: "JointGLM") -> bool:
    """Whether contexts are public; ValueError for what does not go with that."""
    checks.one_of(CONTEXTS, contexts=bandit.contexts)
    if bandit.contexts == PRIVATE:
        return False
    for wrong, what, got in (
        (bandit._shared > 0, "arms without shared coordinates", "shared ones"),
        (bandit.earnings is not None, "no earnings", "earnings"),
        (bandit.teach < 1, "every choice to count", "teach"),
        (bandit.week is not None, "every choice to count", "week"),
        (bandit.average, "every choice to count", "average"),
        (bandit._serves, "every choice to count", 'on_limit="serve"'),
    ):
        if wrong:
            raise ValueError(f'Expected {what} with contexts="public", got {got}.')
    return True


def contribution(bandit: "JointGLM", **parts: Any) -> RewardContribution:
    longest = LONGEST_ALONE if bandit.budget.adjacency == ZERO_OUT else LONGEST
    return RewardContribution(**parts, blend=curvature.blend(bandit), scale=EXACT, longest=longest)


def sums(bandit: "JointGLM") -> Public:
    """Before anybody came; nothing at all where contexts are private."""
    size = bandit._blocks * pair_size(bandit._own_dim) if bandit._public else 0
    return Public(np.zeros(size), np.zeros(size), leaves.nothing(size))


def counted(bandit: "JointGLM", x: Array) -> Array:
    """What is kept of a choice: its arm, and the centre for its reward. Its context joins the open step."""
    c, own, x = _own(bandit), bandit._own_dim, x[: bandit._width]
    z, theta, inverse, out = (
        x,
        bandit._state.posterior.theta,
        bandit._state.posterior.inverse,
        bandit._state.public.open,
    )
    if c.blocks > 1:
        a = int(x[-1])
        z, theta, inverse = x[:-1], theta[a], inverse[a]
        out = out[a * pair_size(own) : (a + 1) * pair_size(own)]
    centre = add_context(z, theta, inverse, c.link.code, c.blend, c.low, c.high, c.longest, out)
    return np.append(x, centre)


def learn(bandit: "JointGLM", kept: Array, reward: float) -> None:
    """Its reward joins the open step."""
    c, x, centre = _own(bandit), kept[: bandit._width], float(kept[bandit._width])
    z, part = (x[:-1], c.part(int(x[-1]))) if c.blocks > 1 else (x, slice(0, c.size))

    def add(out: Raw) -> None:
        add_reward(z, reward, centre, c.low, c.high, c.longest, Raw(out[part]))

    bandit._absorb(add)


def update(bandit: "JointGLM", released: Released) -> None:
    """From the curvature and offsets of all closed steps beside what was released."""
    public = bandit._state.public
    beside(public, released, bandit._own_dim)
    irls.update(public.whole, **curvature.settings(bandit))


def summer(bandit: "JointGLM") -> None:
    return None


def play(bandit: "JointGLM", block: Block) -> bool:
    curvature.played(bandit, block, _own(bandit), _own(bandit).longest)
    return True


def _own(bandit: "JointGLM") -> RewardContribution:
    assert isinstance(bandit.contribution, RewardContribution)
    return bandit.contribution
