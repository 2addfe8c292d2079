"""One pass with contexts="public": features and offered arms are no secret; rewards are, and if and when they came.

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
Hybrid arms. Curvature and offsets are kept as onepass.hybrid keeps what is released, without the zeros between two
actions, and lose nothing by it; moments are those of the whole vector's coordinates.
Late rewards. The centre is kept with the choice, so that moment and curvature are of one linearisation. A moment fades
from the step in which it comes, the curvature from that of its choice: half a per cent a step between them."""

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import checks
from tacit.algorithms.onepass import curvature, hybrid
from tacit.algorithms.onepass.loops_kernel import EXACT, beside
from tacit.data import Array, Integers, Released
from tacit.kernels.formulas import add_context
from tacit.kernels.glm import Posterior
from tacit.kernels.summing import Centred, each_rewards, sum_rewards
from tacit.mechanisms import leaves
from tacit.model.hybrid import Layout
from tacit.model.public import LONGEST, RewardContribution
from tacit.protocols import Adder

if TYPE_CHECKING:
    from tacit.algorithms.onepass.algorithm import OnePass

STATISTIC = "centred rewards times x / |x|"
PRIVATE, PUBLIC = "private", "public"
CONTEXTS = (PRIVATE, PUBLIC)
CAVEAT = (
    'Features and offered arms are declared public (contexts="public"): they, and so which arm was chosen and how '
    "often a person came, are not protected. Rewards are, and whether and when they came."
)


def check(contexts: str, *, week: bool) -> bool:
    """Whether contexts are public; ValueError for what does not go with that."""
    checks.one_of(CONTEXTS, contexts=contexts)
    if contexts == PRIVATE:
        return False
    if week:
        raise ValueError('Expected rounds that are counted when they are chosen with contexts="public", got week.')
    return True


def contribution(**parts: Any) -> RewardContribution:
    return RewardContribution(**parts, scale=EXACT, longest=LONGEST)


def count(of: "OnePass", posterior: Posterior, row: Array, out: Array) -> Array:
    """What is kept of a choice: its arm, and the centre for its reward. Its context joins `out`."""
    c, x, layout = of.contribution, row[: of.plan.width], of.layout
    assert isinstance(c, RewardContribution)
    block = int(x[-1]) if layout.blocks > 1 else 0
    theta, inverse = (hybrid if layout.shared else curvature).local(of, posterior, block)
    pair = hybrid.places(layout)[block]
    own = out[pair]
    z = x[: layout.shared + layout.own]
    centre = add_context(z, theta, inverse, c.link.code, c.blend, c.low, c.high, c.longest, own)
    out[pair] = own
    return np.append(x, centre)


def adder(of: "OnePass") -> Adder:
    c = of.contribution
    assert isinstance(c, RewardContribution)
    at = Centred(float(c.low), float(c.high), c.longest)
    return Adder(each_rewards, sum_rewards, (at, hybrid.coordinates(of.layout), of.tally))


def beside_contexts(layout: Layout, contexts: Array, released: Released) -> Released:
    """What an estimate is made from: the curvature and offsets of all closed steps beside what was released."""
    whole = leaves.nothing(layout.size)
    if layout.shared:
        moments = _moments(layout)
        whole[:] = EXACT * contexts
        whole[moments] = contexts[moments] + released
    else:
        beside(contexts, released, layout.own, whole)
    return whole


@functools.lru_cache(maxsize=64)
def _moments(layout: Layout) -> Integers:
    """Where the moment of each coordinate is kept."""
    return layout.places(np.arange(layout.dim))[-layout.dim :]
