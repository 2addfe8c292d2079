"""Who is compared with whom: the groups of a trial, and how far the draw of groups moves what is estimated.

Choices have numbers. Of each block of m numbers K are the holdout's, A are those of declared arms, and B = m - K - A
the bandit's, by a permutation that is drawn from a secret key and the number of the block (bandits: Holdout). Whose
reward is what in which group does not matter below: potential outcomes c_i (from the holdout), b_i (from the bandit as
it is then) and a_i (from an arm), all in [0, 1], are arbitrary, and may depend on blocks before, on releases and on
noise. The draw alone is random. What is needed: they do not depend on groups within their own block, nor in one that is
open at the same time. Who reloads the page until they like what they see breaks this; then groups are drawn by
independent coins (trials.coins).

Estimand. The average over all people so far of b_i - c_i: what the bandit, as it was at their time, would have got from
them, less what the holdout would have. It moves with the people; it is no parameter of a model.

How far chance moves a block's difference. Let d = (mean of b over the bandit's places) - (mean of c over the
holdout's). The holdout's K places are drawn without replacement, then the arms' A among the others:
    -d = sum_K c_i / K + (sum_K b_i + sum_A b_i) / B - sum_all b_i / B.
Given K, the arms' sum of b_i / B is one of A draws without replacement, each of range 1 / B; its mean given K is
(sum_all b - sum_K b) A / ((m - K) B), and (1 - A / (m - K)) / B = 1 / (m - K). So -d is, but for constants,
    sum_K (c_i / K + b_i / (m - K))   and   a sum of A centred draws of range 1 / B,
and, with w_i = ((m - K) c_i + K b_i) / m in [0, 1], the first is R sum_K w_i for R = m / (K (m - K)). Sums of draws
without replacement have no larger exponential moments than with it (Hoeffding 1963, Theorem 4), and those of a draw of
range r are at most exp(lam^2 r^2 / 8). So d is sub-Gaussian around its mean, with the variance
    (K R^2 + A / B^2) / 4 = (m^2 / (K (m - K)^2) + A / B^2) / 4,
and its variance itself is at most K R^2 y (1 - y) + (A / B^2) u (1 - u), y and u the means of w and b (a variable of
[0, 1] with mean y has at most the variance y (1 - y)). Both hold for averages over blocks by concavity. With K = 1 and
A = 0 the first is ((m / (m - 1))^2 / 4, the square of half the range. Taking m / (m - 1 - A) as the range with arms, as
one does without the second step, gives up to 1.6 times as much (m = 10, A = 2).

A holdout whose K places are divided among K arms has another outcome c_i(a) in each of them, so that the sum is one of
K functions g_j, and no comparison with replacement holds. Drawn one after the other, place j moves the expected sum by
g_j(x) - sum_{a > j} g_a(x) / (m - j), whose range is R (1 + (K - j) / (m - j)); by Azuma's inequality K R^2 becomes
R^2 sum_j (1 + (K - j) / (m - j))^2 (`uneven`). It is above the variance, too: that grows by m / (m - 1) at most, since
the covariances of two draws add up to (sum_j var g_j - var sum_j g_j) / (m - 1).

A group's own mean, of k places of each block, is one of k draws without replacement, or of m - k that are left out:
sub-Gaussian with min(1 / k, (m - k) / k^2) / 4."""

from dataclasses import dataclass
from typing import NamedTuple

from reticent import checks


class Spread(NamedTuple):
    """How far the draw of groups moves an estimate, for each block: variances for each unit of y (1 - y) and of
    u (1 - u); a quarter of their sum is sub-Gaussian."""

    main: float
    arms: float = 0.0

    @property
    def whole(self) -> float:
        return self.main + self.arms


@dataclass(frozen=True)
class Places:
    """Of each `block` numbers, `holdout` and `arms` are so many; the others are the bandit's. divided: each place of
    the holdout plays another arm."""

    block: int
    holdout: int = 1
    arms: tuple[int, ...] = ()
    divided: bool = False

    def __post_init__(self) -> None:
        checks.positive_int(block=self.block, holdout=self.holdout)
        for places in self.arms:
            checks.positive_int(arms=places)
        if self.bandit < 1:
            raise ValueError(f"Expected places of the bandit in a block of {self.block}, got none.")

    @property
    def bandit(self) -> int:
        return self.block - self.holdout - sum(self.arms)

    @property
    def difference(self) -> Spread:
        m, k = self.block, self.holdout
        return Spread(self.uneven * m * m / (k * (m - k) ** 2), sum(self.arms) / self.bandit**2)

    @property
    def uneven(self) -> float:
        """By how much a divided holdout varies more."""
        m, k = self.block, self.holdout
        if not self.divided:
            return 1.0
        return sum((1 + (k - j) / (m - j)) ** 2 for j in range(1, k + 1)) / k

    def mean(self, places: int) -> Spread:
        """Of a group of so many places."""
        if self.divided and places == self.holdout:
            return Spread(self.uneven / places)
        return Spread(min(1 / places, (self.block - places) / places**2))

    def mixed(self, holdout: float, bandit: float) -> float:
        """y: the mean of w above."""
        return ((self.block - self.holdout) * holdout + self.holdout * bandit) / self.block
