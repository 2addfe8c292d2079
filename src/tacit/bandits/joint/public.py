"""JointGLM with contexts="public": features and offered arms are no secret; rewards are, and if and when they came.

What a choice teaches before its reward comes, its curvature, is a function of public features and of the public
estimate: it is summed at each choice, answered or not, without noise, and is no part of what is released. Released are
moments alone (model.public.RewardContribution): fewer numbers, less far apart, and no noise in the curvature, which is
the larger part of what privacy costs.

Missing rewards. A choice whose reward never comes has curvature and no moment. The moment is centred at the reward that
the public estimate expects, as far as that costs nothing, so that a missing one says "nearly as expected": it slows
learning more than it draws the estimate towards 0. How many came is private, so that the estimate cannot make up for
it: where rewards are missing for some features much more often than for others, private contexts do better
(docs/problem.md).
Persons. A choice beyond max_rounds_per_person has neither curvature nor moment. Whether it is beyond follows from the
same person's earlier choices, which are the same in both worlds, whatever was answered. Not so where answers are
counted, which is refused.
Hybrid arms. Curvature and offsets are kept as joint.hybrid keeps what is released, without the zeros between two
actions, and lose nothing by it; moments are those of the whole vector's coordinates.
Late rewards. The centre is kept with the choice, so that moment and curvature are of one linearisation. A moment fades
from the step in which it comes, the curvature from that of its choice: half a per cent a step between them."""

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit import checks
from tacit.bandits import irls
from tacit.bandits.chances import Values
from tacit.bandits.choices import Index
from tacit.bandits.joint import curvature, hybrid
from tacit.bandits.joint.glm_kernel import EXACT, Public, beside
from tacit.bandits.joint.ways import Way
from tacit.data import Array, Integers, Raw, Released
from tacit.kernels.block import Block
from tacit.kernels.formulas import add_context, add_reward
from tacit.kernels.glm import Posterior
from tacit.mechanisms import leaves
from tacit.model.hybrid import Layout
from tacit.model.public import LONGEST, LONGEST_ALONE, RewardContribution
from tacit.model.vectors import pair_size
from tacit.privacy.relations import ZERO_OUT

if TYPE_CHECKING:
    from tacit.bandits.joint.glm import JointGLM

STATISTIC = "centred rewards times x / |x|"
GROWTH, DISCOUNT, PER_SIGMA = curvature.GROWTH, curvature.DISCOUNT, curvature.PER_SIGMA
PRIVATE, PUBLIC = "private", "public"
CONTEXTS = (PRIVATE, PUBLIC)
TOLD = (
    'Features and offered arms are declared public (contexts="public"): they, and so which arm was chosen and how '
    "often a person came, are not protected. Rewards are, and whether and when they came."
)


def check(bandit: "JointGLM") -> bool:
    """Whether contexts are public; ValueError for what does not go with that."""
    checks.one_of(CONTEXTS, contexts=bandit.contexts)
    if bandit.contexts == PRIVATE:
        return False
    for wrong, what, got in (
        (bandit.earnings is not None, "no earnings", "earnings"),
        (bandit.week is not None, "rounds that are counted when they are chosen", "week"),
    ):
        if wrong:
            raise ValueError(f'Expected {what} with contexts="public", got {got}.')
    return True


def contribution(bandit: "JointGLM", **parts: Any) -> RewardContribution:
    longest = LONGEST_ALONE if bandit.budget.adjacency == ZERO_OUT else LONGEST
    return RewardContribution(**parts, blend=curvature.blend(bandit), scale=EXACT, longest=longest)


def sums(bandit: "JointGLM") -> Public:
    """Before anybody came; nothing at all where contexts are private."""
    size = 0
    if bandit._public:
        size = bandit._layout.size if bandit._shared else bandit._blocks * pair_size(bandit._own_dim)
    return Public(np.zeros(size), np.zeros(size), leaves.nothing(size))


class Place(NamedTuple):
    """Of a choice: its features, the estimate of their coordinates, and where its pair and its moment are kept."""

    z: Array
    theta: Array
    inverse: Array
    pair: Any
    moment: Any


def _place(bandit: "JointGLM", x: Array) -> Place:
    now = bandit._state.posterior
    if bandit._shared:
        here, pair = hybrid.places(bandit._layout, int(x[-1]))
        return Place(x[:-1], now.theta[here], np.ascontiguousarray(now.inverse[np.ix_(here, here)]), pair, here)
    if bandit._blocks > 1:
        a, size = int(x[-1]), pair_size(bandit._own_dim)
        own = slice(a * size, (a + 1) * size)
        return Place(x[:-1], now.theta[a], now.inverse[a], own, _own(bandit).part(a))
    return Place(x, now.theta, now.inverse, slice(None), slice(None))


def counted(bandit: "JointGLM", x: Array) -> Array:
    """What is kept of a choice: its arm, and the centre for its reward. Its context joins the open step."""
    c, x, opened = _own(bandit), x[: bandit._width], bandit._state.public.open
    z, theta, inverse, pair, _ = _place(bandit, x)
    own = opened[pair]
    centre = add_context(z, theta, inverse, c.link.code, c.blend, c.low, c.high, c.longest, own)
    opened[pair] = own
    return np.append(x, centre)


def learn(bandit: "JointGLM", kept: Array, reward: float) -> None:
    """Its reward joins the open step."""
    c, centre = _own(bandit), float(kept[bandit._width])
    place = _place(bandit, kept[: bandit._width])

    def add(out: Raw) -> None:
        own = Raw(out[place.moment])
        add_reward(place.z, reward, centre, c.low, c.high, c.longest, own)
        out[place.moment] = own

    bandit._absorb(add)


def update(bandit: "JointGLM", released: Released) -> None:
    """From the curvature and offsets of all closed steps beside what was released."""
    public, options = bandit._state.public, curvature.settings(bandit)
    if bandit._shared:
        moments = _moments(bandit._layout)
        public.whole[:] = EXACT * public.closed
        public.whole[moments] = public.closed[moments] + released
        hybrid.fit(public.whole, layout=bandit._layout, **options)
    else:
        beside(public, released, bandit._own_dim)
        irls.update(public.whole, **options)


@functools.lru_cache(maxsize=64)
def _moments(layout: Layout) -> Integers:
    """Where the moment of each coordinate is kept."""
    return layout.places(np.arange(layout.dim))[-layout.dim :]


def _form(bandit: "JointGLM") -> Way:
    """How arms are held against the estimate: as where contexts are private."""
    return hybrid if bandit._shared else curvature


def before(bandit: "JointGLM") -> Posterior:
    return _form(bandit).before(bandit)


def pick(bandit: "JointGLM", arms: Array) -> Index:
    return _form(bandit).pick(bandit, arms)


def values(bandit: "JointGLM", arms: Array, posterior: Posterior) -> Values:
    return _form(bandit).values(bandit, arms, posterior)


def beliefs(bandit: "JointGLM", arms: Array, level: float) -> tuple[Array, Array]:
    return _form(bandit).beliefs(bandit, arms, level)


def summer(bandit: "JointGLM") -> None:
    return None


def play(bandit: "JointGLM", block: Block) -> bool:
    if bandit._shared:
        return False
    curvature.played(bandit, block, _own(bandit), _own(bandit).longest)
    return True


def _own(bandit: "JointGLM") -> RewardContribution:
    assert isinstance(bandit.contribution, RewardContribution)
    return bandit.contribution
