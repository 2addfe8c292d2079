"""What is earned, estimated under the bandit's own budget: the average reward.

A user whose reward came adds, beside what the bandit learns from, a few numbers to the vector that is summed and
released with noise (model.earnings). With q the reward from -1 to 1 over its range, a the arm, and u in [0, 1], which
is 1 (up to 0.9.0 min(1 / p, clip) / clip, with p the arm's propensity: what waits in a database may still have it):

    (1, q)      for the average, and
    (u, u q)    in arm a's place, with zeros in those of the others;

where arms are declared, both are multiplied by sqrt(1/2).

Sensitivity. Let v and v~ be two users' numbers, or zeros for somebody without a reward. Their inner product is not
negative: 1 + q q~ >= 0, and u u~ (1 + q q~) >= 0 in the same arm, 0 in different ones. So
    |v - v~|^2 <= |v|^2 + |v~|^2,   |v|^2 = (1 + u^2) (1 + q^2) / 2 <= 2   (without arms: 1 + q^2 <= 2),
and D = 2, whatever comes: attained by the rewards 1 and -1 at the clip. Late rewards cost the same, since D^2 bounds
|v|^2 + |v~|^2 (mechanisms.continual).

Share. These numbers are multiplied by `scale` and released together with those that the bandit learns from, whose
sensitivity is D_0: one vector, one noise of std sigma. The squares of the two parts' distances add up, so this is a
Gaussian mechanism of mu^2 = (column norm / sigma)^2 (D_0^2 + (scale D)^2), and `scale` makes the second term `share` of
the whole: as two mechanisms whose mu compose in quadrature, which is how the ledger has them. The noise that the bandit
learns with grows by 1 / sqrt(1 - share).

Estimates. The average is (sum of q) / (sum of 1), over rewards that came. How many came is raw, so what it is divided
by is a released number. Sums fade as the bandit's do: all of it is about the same window. Nothing is made of the arms'
sums. (sum of u q) / (sum of u) is not what would have been earned had a always been offered: it is the mean of people
who had a chance of a, each counting min(1, clip p), and a bandit that learns gives an arm to those whom it suits. They
are part of the plan, which bandits in databases keep; no propensity is computed for them.

Intervals (Fieller). With W and S the two sums, theta the estimand and noise of std t in each, S - theta W has mean 0
and at most the variance
    t^2 (1 + theta^2) + sum of u^2 (q - theta)^2 <= (t^2 + W) (1 + theta^2) - 2 theta S,
since u^2 <= u, the same for the weights by which sums fade, and q^2 <= 1. The interval is of all theta in [-1, 1] for
which S - theta W is within z standard deviations of 0, and all of [-1, 1] where noise could hide W. Sums over many
people are taken to be normal."""

import math
from typing import NamedTuple

import numpy as np

from tacit import checks, special
from tacit.data import Array, Exact, Released
from tacit.model.earnings import AVERAGE, add_earnings

LEVEL = 0.9  # of intervals
TAIL = 2  # numbers that are kept of a choice beside its arm: what it counts for, and u
BLOCK, PLACE, NAME = "block", "place", "name"


class Earnings(NamedTuple):
    """A setting of joint bandits, which a control group (model.control) has taken the place of; those that were made
    with it keep it. share: of the budget's mu^2. clip: part of the plan, and without effect. arms: which
    ones are declared, beside the average: their names, where choices are among named arms; or how many, where every
    request lists as many in the same order. A bandit with blocks has its blocks."""

    share: float = 0.1
    clip: float = 10.0
    arms: int | tuple[str, ...] = 0


class Earning(NamedTuple):
    """A mean reward, and an interval for noise and sampling; all released."""

    value: float
    low: float
    high: float


class Earned(NamedTuple):
    """At one release."""

    average: Earning


class Purse(NamedTuple):
    """`Earnings` of one bandit, checked. arms: how many are declared, or may be. by: what says which one an arm is: its
    BLOCK, its PLACE in the request, or its NAME. names: those that are known at the start."""

    share: float
    clip: float
    arms: int
    by: str
    names: tuple[str, ...]
    low: float
    high: float
    scale: float

    @property
    def kept(self) -> int:
        """Numbers that are kept of a choice beside its arm."""
        return TAIL

    @property
    def size(self) -> int:
        return 2 + 2 * self.arms

    @property
    def sensitivity(self) -> float:
        return 2.0 * self.scale

    @property
    def statistic(self) -> str:
        """In words, for the ledger."""
        arms = f" and of {self.arms} arms by weights of at most {self.clip:g}" if self.arms else ""
        return f"sums of rewards, for the average{arms}, {self.size} numbers, each user once, {self.share:g} of mu^2"

    @property
    def part(self) -> float:
        """What each of the two lists is multiplied by."""
        return self.scale * (math.sqrt(0.5) if self.arms else 1.0)

    def problem(self, count: int, names: tuple[str, ...] | None, known: tuple[str, ...]) -> str | None:
        """What is wrong with a request: its arms are not those that are known to be declared."""
        if self.arms and self.by == PLACE and count != self.arms:
            return f"Expected the {self.arms} arms that earnings declares (a mask may leave some out), got {count}."
        if self.arms and self.by == NAME and not (names and set(names) <= set(known)):
            return "Expected arms with the names that earnings declares, got others."
        return None

    def tail(self, x: Array, place: int, name: str | None, known: tuple[str, ...]) -> Array:
        """RAW. What is kept of a choice."""
        if not self.arms:
            return np.array([AVERAGE, 0.0])
        arm = int(x[-1]) if self.by == BLOCK else place if self.by == PLACE else known.index(str(name))
        return np.array([AVERAGE + 1 + arm, 1.0])

    def add(self, tail: Array, reward: float, out: Exact) -> None:
        """One user's numbers (see above); `out` has zeros there before."""
        add_earnings(tail, reward, self.part, self.low, self.high, out)

    def earned(self, released: Released, std: float, level: float = LEVEL) -> Earned:
        """From the sums as they were released, with noise of that std in each number."""
        weight, total = np.asarray(released)[:2] / self.part
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        ends = interval(float(weight), float(total), std / self.part, level)
        return Earned(Earning(*(middle + half * end for end in ends)))


def interval(weight: float, total: float, noise: float, level: float) -> tuple[float, float, float]:
    """theta = total / weight, cut to [-1, 1], and Fieller's interval for it: theta^2 a - 2 theta b + c <= 0."""
    z = float(special.ndtri((1 + level) / 2))
    seen = max(weight, 0.0)
    spread = z * z * (noise * noise + seen)
    a, c = weight * weight - spread, total * total - spread
    if weight <= 0 or a <= 0:
        return 0.0 if weight <= 0 else min(max(total / weight, -1.0), 1.0), -1.0, 1.0
    b = weight * total - z * z * min(max(total, -seen), seen)
    root = math.sqrt(max(b * b - a * c, 0.0))
    value, low, high = (min(max(end, -1.0), 1.0) for end in (total / weight, (b - root) / a, (b + root) / a))
    return value, low, high


def purse(
    given: Earnings | None,
    *,
    rewards: tuple[float, float],
    blocks: int,
    actions: tuple[str, ...],
    room: int,
    sensitivity: float,
) -> Purse | None:
    """`given` for a bandit with these blocks, or with these named actions and room for so many, whose other numbers
    have that sensitivity; or ValueError. A saved one is a plain tuple."""
    if given is None:
        return None
    if not isinstance(given, tuple) or len(given) != len(Earnings._fields):
        raise ValueError(f"Expected earnings to be None or Earnings(...), got {type(given).__name__}.")
    share, clip, arms = Earnings(*given)
    checks.probability(share=share)
    checks.positive(clip=clip)
    if clip < 1:
        raise ValueError(f"Expected clip to be at least 1, got {clip!r}.")
    names = _names(arms)
    own = actions or _numbered(blocks if blocks > 1 else 0)
    if own and names and (actions or len(names) != len(own)):
        declared = f"{'features' if actions else 'blocks'} that declare {len(own)} of their own"
        raise ValueError(f"Expected no arms in earnings with {declared}, got some.")
    by = BLOCK if blocks > 1 else NAME if actions or isinstance(arms, tuple) else PLACE
    count = max(room, blocks) if own else len(names)
    low, high = map(float, rewards)
    scale = sensitivity / 2 * math.sqrt(share / (1 - share))
    return Purse(float(share), float(clip), count, by, names or own, low, high, scale)


def _names(arms: object) -> tuple[str, ...]:
    if not isinstance(arms, tuple):
        if arms != 0:
            checks.positive_int(arms=arms)
        return _numbered(int(arms))  # type: ignore[call-overload]
    if len(set(arms)) < len(arms) or not all(isinstance(name, str) and name for name in arms):
        raise ValueError("Expected arms to be names, each once, got others.")
    return arms


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"arm {i}" for i in range(count))
