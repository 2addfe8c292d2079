"""One user of a generalised linear model where features and offered arms are public, and the reward is not, nor whether
and when it came: what is public is summed as it is, and noise is added to what depends on rewards alone.

The formulas are plain functions, which kernels compile (kernels.formulas)."""

import math
from dataclasses import dataclass

from tacit import checks
from tacit.data import Array, Exact
from tacit.model.glm import predict, tangent
from tacit.model.links import IDENTITY, Code, Link, kind
from tacit.model.vectors import TINY, add_pair, norm, shortened

REACH = math.sqrt(0.5) - 0.5  # how far from 1/2 the centre may be: see RewardContribution
LONGEST = math.sqrt(2.0)  # contribution


def gauge(centre: float, longest: float) -> float:
    """How strongly a reward counts: at most 2, and no contribution is longer than `longest`."""
    return min(2.0, longest / max(centre, 1.0 - centre))


def add_context(
    x: Array,
    theta: Array,
    inverse: Array,
    link: Code,
    blend: float,
    low: float,
    high: float,
    longest: float,
    out: Array,
) -> float:
    """out += (svec(weight x x'), offset x) of a user with that arm, at the public estimate; returns the centre, for
    `add_reward`.

    Near v the link's mean is the line c + w t (model.glm.line), so that the reward r in [0, 1] has a mean of about c +
    w k <x, theta*>. With a the centre and u = gauge / |x|,
        u (r - a) + u (a - c) = u (r - c)   has mean   u k w <x, theta*> = weight <x, theta*>:
    the first is private, offset = u (a - c) is not. a is the mean that the estimate expects, or the nearest number
    within REACH of 1/2: a reward that never comes then counts as one that says little new. identity: w = k = 1, c = 0,
    and r = y / Y is a share of its own range."""
    bounded = shortened(x)
    length = norm(bounded)
    if length < TINY:
        return 0.5
    v, k = predict(bounded, theta, inverse, link)
    if kind(link) == IDENTITY:
        unit = max(abs(low), abs(high))
        bottom, span = low / unit, (high - low) / unit
        expected, steep, c, k = v / (k * unit), 1.0, 0.0, 1.0
    else:
        bottom, span = 0.0, 1.0
        expected, steep, c = tangent(v, link, blend)
    centre = min(max((expected - bottom) / span, 0.5 - REACH), 0.5 + REACH)
    u = gauge(centre, longest) / (span * length)
    add_pair(bounded, k * u * steep, u * (bottom + span * centre - c), out)
    return centre


def add_reward(x: Array, y: float, centre: float, low: float, high: float, longest: float, out: Exact) -> None:
    """out += gauge (s - centre) x / |x|, s the share of y, cut to [low, high], in that range; nothing if x is 0."""
    length = norm(x)
    if length < TINY:
        return
    share = (min(max(y, low), high) - low) / (high - low)
    response = gauge(centre, longest) * (share - centre)
    for i in range(x.size):
        out[i] += response * (x[i] / length)


@dataclass(frozen=True, kw_only=True)
class RewardContribution:
    """v = g (s - a) X: X = x / |x|, a within REACH of 1/2 the centre, s in [0, 1] the reward's share of its range, g =
    min(2, longest / max(a, 1 - a)) the gauge; v = 0 where no reward comes.

    Sensitivity, for another reward, or none, at whatever time. x, and with it X, a and g, are the same in both worlds:
    they are public, and a is fixed when the user chooses.
        another reward at the same time:  |v - v~| = g |s - s~| <= 2;
        none instead of one:              |v| = g |s - a| <= g max(a, 1 - a) <= longest;
        at another time (mechanisms.continual):  max(|v - v~|^2, |v|^2 + |v~|^2) <= max(4, 2 longest^2).
    With longest = sqrt 2 all of them are at most D = 2, and since 1/2 + REACH = sqrt(1/2), g = 2 for every a: rewards
    of 0 and 1 attain D. A centre farther from 1/2 would take a smaller g, and every reward would count less.
    Blocks: v lies in the part of the user's arm, or in that and the shared coordinates, which is public, the same in
    both worlds: the same D."""

    dim: int
    link: Link
    low: float
    high: float
    blocks: int = 1
    longest: float = LONGEST
    blend: float = 0.0  # between tangent and chord: model.glm.line
    scale: float = 1.0
    shared: int = 0

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim)
        checks.interval(rewards=(self.low, self.high))

    @property
    def size(self) -> int:
        return self.dim

    @property
    def sensitivity(self) -> float:
        return max(2.0, LONGEST * self.longest)

    @property
    def norm(self) -> float:
        return self.longest

    def part(self, block: int) -> slice:
        """Where a block's moment lies in the whole."""
        own = self.dim // self.blocks
        return slice(block * own, (block + 1) * own)
