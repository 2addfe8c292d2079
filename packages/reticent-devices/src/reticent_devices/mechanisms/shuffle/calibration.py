"""How much binomial noise each user adds to a shuffled sum so that the sum is (epsilon, delta)-private: computed,
with a proof of what is computed.

The mechanism. n users hold vectors v of m coordinates; replacing a user moves v by at most D in l2. A user sends,
for each coordinate, the integer floor(scale v + U) + Bin(b, 1/2), U uniform on [0, 1), as that many ones among
public slots. Shuffled, the bits of a coordinate carry exactly their sum, so the analyzer sees S = sum of roundings +
Bin(N, 1/2)^m, N = n b.

1. Rounding. Replace u = scale v by u' = scale v'; a = u - u', |a| <= W = scale D. Couple the two worlds by the same
   U: the sum moves by K, K_i = floor(u_i + U_i) - floor(u'_i + U_i), which is floor(a_i) or floor(a_i) + 1, the
   latter with probability frac(a_i). So E K_i = a_i, E |K|^2 = sum a_i^2 + frac (1 - frac) <= x0 = W^2 + m / 4.
   K_i^2 has range |2 floor(a_i) + 1| <= 2 |a_i| + 1, so by Hoeffding |K|^2 exceeds its mean as a sub-Gaussian number
   of variance at most (1/4) sum (2 |a_i| + 1)^2 <= s_v^2, s_v = (2 W + sqrt m) / 2 (Minkowski). The roundings of
   others are independent and the same in both worlds: adding them is post-processing.
2. Gaussian. Were the noise N(0, s^2 I), rounded to integers (post-processing), then given K the hockey-stick
   divergence at epsilon is at most f(|K|^2), f(x) = delta_Gauss(epsilon; sqrt(x) / s) (Balle & Wang 2018), which
   increases in x. The divergence is jointly convex, so over K it is at most
       delta_R = E f(|K|^2) <= f(x0) + integral over x > x0 of f'(x) exp(-(x - x0)^2 / (2 s_v^2)) dx.
   On a grid x0 < x_1 < ... < x_r the integral is at most sum (f(x_{j+1}) - f(x_j)) exp(-(x_j - x0)^2 / (2 s_v^2)),
   f(x_{r+1}) := 1.
3. Binomial against rounded Gaussian (RG, variance s^2 = N / 4 - 1 / 12, which rounding brings to N / 4), both on the
   lattice of j = k - N / 2. On |j| <= J: ln Bin(j) - ln RG(j) lies in [-rho-, rho+]; outside, the masses are tau_B
   and tau_G. For any set S and every K, with A the vectors whose coordinates are all within J of the centre and A_K
   the same moved by K:
       Bin_K(S) <= Bin_K(S and A_K) + m tau_B <= e^{m rho+} RG_K(S and A_K) + m tau_B,
       RG_K(S and A_K) <= e^{eps_G} RG(S and A_K) + delta_R(eps_G)   (averaged over K),
       RG(S and A_K) <= RG(S and A) + m tau_G <= e^{m rho-} Bin(S) + m tau_G.
   Together: (epsilon, delta) with
       epsilon = eps_G + m (rho+ + rho-),  delta = m tau_B + e^{m rho+} (delta_R(eps_G) + e^{eps_G} m tau_G),
   for each J; the least over a few J = ceil(t s) is taken. The other direction (u and u' exchanged) is the same
   bound.
4. Arithmetic. rho is widened by ROUNDING for floating point (a product of at most TERMS quotients, each to 2^-52, and a
   difference of normal tails, found to be right to half of it; in proportion where there are more), delta_Gauss by
   portable.DIGITS, and W by a part in 10^9 for the floating-point products scale v and the
   2^-53 grid of U.

Devices work all of this out from a billboard's plan before they report, in JavaScript too (js/src/plans.js): so it is
made of operations that every machine rounds alike (portable), and servers calibrate by the very function that devices
check with.

Dropout. Users who send nothing, or no noise, are missing from N and nothing else: calibrate on those who surely take
part.
More users than planned only add independent noise, which is post-processing.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reticent import checks
from reticent.data import Array, Integers
from reticent.privacy import gaussian, search
from reticent.privacy.budget import Budget
from reticent_devices.mechanisms.shuffle.encoding import FEWEST, reach
from reticent_devices.mechanisms.shuffle.nearness import PRODUCT_ROUNDING, binomial_delta, near, smallest, std
from reticent_devices.mechanisms.shuffle.portable import decay, gaussian_delta

MOVES = np.concatenate([np.linspace(0.0, 4.0, 65), np.linspace(4.25, 9.0, 20)])  # grid of step 2, in units of s_v
OVERHEAD = 1.05  # total standard deviation over that of a trusted curator's Gaussian noise
WIDTH_DIGITS = 1e-5
MOST_TRIALS = 1 << 20  # trials of a user


class ShufflePlan(NamedTuple):
    """Public: what each user of a batch does. A coordinate of a report is an integer in [0, 2 reach + trials]."""

    users: int  # n: whom the batch is planned for
    size: int  # m
    scale: float  # grid cells per unit of v
    reach: int  # g: |scale v| is at most this in every coordinate
    trials: int  # b: fair coins per coordinate
    sensitivity: float  # D
    laplace: float = 0.0  # scale, in cells, of Laplace noise in place of coins: simulations of another mechanism

    @property
    def slots(self) -> int:
        """Bits of one coordinate: 2 g + b (Algorithm 4 of the paper says g + b, which is too few for signed
        values)."""
        return 2 * self.reach + self.trials

    @property
    def bits(self) -> int:
        """Of one report sent bit by bit."""
        return self.size * self.slots

    @property
    def std(self) -> float:
        """Of the noise in a coordinate of the sum, in units of v, rounding included (at most 1/4 a user)."""
        coins = math.sqrt(self.users * (self.trials + 1)) / 2 / self.scale
        return math.sqrt(coins**2 + 2 * self.users * (self.laplace / self.scale) ** 2) if self.laplace else coins


class Plans(NamedTuple):
    """The plans of several batches as a kernel takes them: an array for each field of Plan."""

    users: Integers
    size: Integers
    scale: Array
    reach: Integers
    trials: Integers
    sensitivity: Array
    laplace: Array


def table(plans: Sequence[ShufflePlan]) -> Plans:
    return Plans(*(np.array(column) for column in zip(*plans, strict=True)))


@functools.lru_cache(maxsize=1024)
def epsilon(plan: ShufflePlan, delta: float, reported: int | None = None) -> float:
    """The epsilon at `delta` that the noise of `reported` honest users gives (all of them by default), rounded up.
    inf if none can be shown."""
    count = plan.users if reported is None else reported
    trials = count * plan.trials
    if trials < FEWEST or delta <= 0:  # with fewer, the Gaussian is no guide
        return math.inf

    def enough(at: float) -> bool:
        return delta_of(trials, plan.size, plan.scale * plan.sensitivity, at) <= delta

    return smallest(enough)


@functools.lru_cache(maxsize=4096)
def calibrate(
    budget: Budget,
    *,
    users: int,
    size: int,
    sensitivity: float,
    norm: float,
    dropout: float = 0.0,
    honest: int | None = None,
) -> ShufflePlan:
    """The plan with the fewest bits whose noise is at most OVERHEAD times a trusted curator's, for vectors of norm at
    most `norm`; private as long as `honest` users take part honestly (by default a share 1 - dropout)."""
    budget.needs_delta("a shuffled sum")
    checks.positive_int(users=users, size=size)
    checks.positive(sensitivity=sensitivity, norm=norm)
    if not 0 <= dropout < 1:
        raise ValueError(f"Expected dropout in [0, 1), got {dropout!r}.")
    if honest is None:
        honest = max(1, math.floor((1 - dropout) * users))
    if not 1 <= honest <= users:
        raise ValueError(f"Expected between 1 and {users} honest users, got {honest}.")
    share = min(1 - dropout, honest / users)
    mu = gaussian.mu(budget)

    def width(trials: int) -> float:
        return largest_width(budget, honest * trials, size, mu)

    def good(trials: int) -> bool:
        """Whether so many coins allow for a grid so fine that the noise is small enough."""
        needed = math.sqrt(users * (trials + 1)) / 2 * mu * math.sqrt(share) / OVERHEAD
        if honest * trials < FEWEST or delta_of(honest * trials, size, needed, budget.epsilon) > budget.delta:
            return False
        spare = needed * (1 + 2 * WIDTH_DIGITS)  # whose width is surely found to be enough
        return delta_of(honest * trials, size, spare, budget.epsilon) <= budget.delta or width(trials) >= needed

    high = 1
    while not good(high):
        high *= 2
        if high > MOST_TRIALS:
            raise ValueError(
                f"Expected a batch large enough for epsilon {budget.epsilon:g} at delta {budget.delta:g}, "
                f"got {users} users."
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    scale = width(high) / sensitivity
    return ShufflePlan(users, size, scale, reach(scale, norm), high, sensitivity)


def largest_width(budget: Budget, trials: int, size: int, mu: float) -> float:
    """The largest W that the budget allows with N = trials; 0 if none."""
    if trials < FEWEST:
        return 0.0
    low, high = 0.0, mu * math.sqrt(trials) / 2  # the Gaussian mechanism's, which nothing here exceeds

    def too_wide(width: float) -> bool:
        return delta_of(trials, size, width, budget.epsilon) > budget.delta

    if not too_wide(0.9 * high):
        low = 0.9 * high
    return search.halved(too_wide, low, high, digits=WIDTH_DIGITS)[0]


def delta_of(trials: int, size: int, width: float, epsilon: float) -> float:
    """delta at epsilon: step 3 above, the least over REACHES."""
    s = std(trials)
    return binomial_delta(size * np.array(near(trials)), epsilon, lambda inner: rounding_delta(s, size, width, inner))


def rounding_delta(s: float, size: int, width: float, epsilons: Array) -> Array:
    """delta_R of step 2 at each of epsilons."""
    width = width * PRODUCT_ROUNDING
    start, spread = width * width + size / 4, width + math.sqrt(size) / 2
    curve = gaussian_delta(epsilons[:, None], np.sqrt(start + spread * MOVES) / s)
    steps = np.diff(curve, axis=1, append=1.0) * decay(MOVES * MOVES / 2)
    out: Array = curve[:, 0] + np.cumsum(steps, axis=1)[:, -1]  # one after another, as in JavaScript
    return out
