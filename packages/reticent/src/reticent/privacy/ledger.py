"""What really happens to the data, and the epsilon that follows from it.

The ledger computes, it does not quote: each mechanism is recorded by the noise and sensitivity in use, and epsilon
is recomputed from those. `check` refuses a plan whose epsilon comes out above its budget. What the ledger does not
know how to count, or to count together, is an error: nothing is free.
"""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from reticent import checks
from reticent.errors import BudgetExceeded
from reticent.privacy import discrete, gaussian, relations
from reticent.privacy.budget import Budget


class Related(msgspec.Struct, frozen=True, kw_only=True):
    """What every kind of release has. relation: the neighbours that its numbers are for (privacy.relations)."""

    relation: str

    def __post_init__(self) -> None:
        checks.one_of(relations.RELATIONS, relation=self.relation)


class GaussianRelease(Related, frozen=True, tag="gaussian"):
    """Linear statistics released through a factorisation with Gaussian noise: mu = rounds sensitivity column_norm /
    sigma.

    column_norm is the largest l2 norm of a column of the encoder: how often, and how strongly, one user's
    contribution enters what is released; where a person may contribute in several weeks, it is that of the worst sum of
    one column from each (mechanisms.together). rounds: how many rounds of one person may be replaced together; their
    shifts add up to at most so many times that of one (attained by k equal changes in one step).
    grid > 0: the noise is a discrete Gaussian of parameter sigma on multiples of grid, `numbers` of them in all, and mu
    includes what that costs (privacy.discrete)."""

    name: str
    statistic: str
    sensitivity: float
    column_norm: float
    sigma: float
    rounds: int = 1
    grid: float = 0.0
    numbers: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.non_negative(sensitivity=self.sensitivity, column_norm=self.column_norm, sigma=self.sigma)
        checks.non_negative(grid=self.grid, numbers=self.numbers)
        checks.positive_int(rounds=self.rounds)

    @property
    def continuous(self) -> float:
        """mu of the continuous Gaussian of the same sigma."""
        return self.rounds * self.sensitivity * self.column_norm / self.sigma if self.sigma else math.inf

    @property
    def mu(self) -> float:
        return discrete.mu(self.continuous, self.sigma / self.grid) if self.grid and self.sigma else self.continuous

    @property
    def factors(self) -> tuple[float, float]:
        """Pointwise, between this noise and the one whose mu it is: logarithms, up and down."""
        return discrete.factors(self.sigma / self.grid, self.numbers) if self.grid and self.sigma else (0.0, 0.0)


class GroupReleases(msgspec.Struct, frozen=True):
    """What is released of the users of one group."""

    name: str
    releases: tuple[GaussianRelease, ...]

    @property
    def mu(self) -> float:
        return math.hypot(*(release.mu for release in self.releases))

    @property
    def sensitivity(self) -> float:
        """Of all their numbers as one vector."""
        return math.hypot(*(release.sensitivity for release in self.releases))


class OneOfRelease(Related, frozen=True, tag="one of"):
    """Several groups of Gaussian releases, of which a user is in one, whatever the user's data are: that of its group,
    which follows from its number. For each user what is released is as private as the releases of its group together;
    for whoever it may be, as the least private of them (parallel composition).

    Proof. Fix all groups of numbers, which two neighbouring worlds have in common. Between them one user's contribution
    is another, and that user's group alone is touched: the others' statistics are the same functions of the same
    people. So the pair is told apart as by the releases of that group, whose mu are composed as the root of the sum of
    mu^2. The largest of these bounds every pair. For k replaced users, in whichever groups, k times it does."""

    name: str
    statistic: str
    groups: tuple[GroupReleases, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.groups or not all(group.releases for group in self.groups):
            raise ValueError("Expected groups with at least one release each, got none.")
        relations.one(release.relation for group in self.groups for release in (self, *group.releases))

    @property
    def worst(self) -> GroupReleases:
        """The group with the largest mu."""
        return max(self.groups, key=lambda group: group.mu)

    @property
    def mu(self) -> float:
        return self.worst.mu

    @property
    def continuous(self) -> float:
        return max(math.hypot(*(release.continuous for release in group.releases)) for group in self.groups)

    @property
    def factors(self) -> tuple[float, float]:
        """Each where it is largest."""
        found = [_factors(group.releases) for group in self.groups]
        return max(up for up, _ in found), max(down for _, down in found)


class RepeatedRelease(Related, frozen=True, tag="repeated"):
    """A mechanism that is (epsilon0, delta0)-private by a theorem, and sees a user `count` times."""

    name: str
    statistic: str
    theorem: str
    epsilon0: float
    delta0: float
    count: int
    degrees_of_freedom: int

    def cost(self, delta: float) -> float:
        """epsilon at delta."""
        from reticent.privacy.composition import repeated_epsilon

        return repeated_epsilon(self.epsilon0, self.delta0, self.count, delta)


class ShuffledRelease(Related, frozen=True, tag="shuffled"):
    """The shuffled sum of one batch: integers v grid, rounded, plus `trials` fair coins of each user and coordinate.
    chance: where devices send bits and replace each by a coin with that probability; trials
    is then how many bits a number has, and grid how many of them are kept on average.
    epsilon, delta: what it costs a user, recomputed from the coins of those who report. rounds: how many sums of this
    kind the batch's users are in. together: epsilon is that of all releases of the batch, composed; each of them says
    the same."""

    name: str
    statistic: str
    sensitivity: float
    users: int
    minimum: int
    grid: float
    trials: int
    std: float
    bits: int
    epsilon: float
    delta: float
    rounds: int = 1
    together: bool = False
    chance: float = 0.0

    def cost(self, delta: float) -> float:
        """epsilon at delta."""
        return _stated_epsilon(self, delta)


class LocalRelease(Related, frozen=True, tag="local"):
    """One report of a device, private by itself; `std` is that of the noise in each decoded number. epsilon, delta:
    what it costs its user, recomputed from the randomizer in use."""

    name: str
    statistic: str
    numbers: int
    sensitivity: float
    std: float
    epsilon: float
    delta: float

    def cost(self, delta: float) -> float:
        """epsilon at delta."""
        return _stated_epsilon(self, delta)


LAPLACE_ONE = 1 << 48  # the base of discrete Laplace noise is a multiple of its inverse


class LaplaceRelease(Related, frozen=True, tag="discrete laplace"):
    """The sum of whole numbers of a batch, which a replaced user moves by at most `cells`, with discrete Laplace noise:
    k with a probability proportional to b^|k|, b = chance / LAPLACE_ONE. Pure: epsilon is the same at every delta.
    honest: how many users' shares are that noise, of the `minimum` who must report, of the `users` of the batch. unit:
    what the numbers' whole range is."""

    name: str
    statistic: str
    cells: int
    chance: int
    users: int
    minimum: int
    honest: int
    bits: int
    unit: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive_int(cells=self.cells, users=self.users, minimum=self.minimum, honest=self.honest)
        if type(self.chance) is not int or not 0 <= self.chance < LAPLACE_ONE:
            raise ValueError("Expected noise whose base is below 1, got another.")
        if not self.honest <= self.minimum <= self.users:
            raise ValueError("Expected no more honest users than must report, and no more of those than there are.")

    @property
    def epsilon(self) -> float:
        return laplace_epsilon(self.cells, self.chance)

    @property
    def std(self) -> float:
        """Of that noise."""
        base = self.chance / LAPLACE_ONE
        return math.sqrt(2 * base) / (1 - base) / self.cells * self.unit

    def cost(self, delta: float) -> float:
        """epsilon at delta."""
        return self.epsilon


def laplace_epsilon(cells: int, chance: int) -> float:
    """cells ln(1 / b), rounded up by a part in 10^12; inf without noise."""
    return -cells * math.log1p(chance / LAPLACE_ONE - 1) * (1 + 1e-12) if chance else math.inf


class PureRelease(Related, frozen=True, tag="laplace"):
    """Sums of whole cells, each of one step, that replacing one round moves by at most so many `cells` in l1 norm, with
    discrete Laplace noise: k with a probability proportional to exp(-|k| / scale), drawn for each of `numbers`. Every
    round is in one step, whichever, so that rounds of one person add up. Pure: the same at every delta."""

    name: str
    statistic: str
    cells: int
    scale: int
    numbers: int
    unit: float
    rounds: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive_int(cells=self.cells, rounds=self.rounds)
        checks.non_negative(scale=self.scale, numbers=self.numbers, unit=self.unit)

    @property
    def epsilon(self) -> float:
        return self.rounds * self.cells / self.scale if self.scale else math.inf

    @property
    def std(self) -> float:
        """Of the noise, in the units of the sums."""
        return self.unit * laplace_std(self.scale)


def laplace_std(scale: int) -> float:
    """Of the discrete Laplace distribution, in cells: sqrt(2 b) / (1 - b), b = exp(-1 / scale)."""
    return math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale) if scale else 0.0


class PhasesRelease(Related, frozen=True, tag="phases"):
    """What is released of people of different phases, each for one round: a round is in one of them, by its number and
    by what was released before, whatever the person's data are. rounds: of one person, who may have some in one phase
    and some in another.

    Proof. Replacing a round moves the statistics of its phase alone (as of OneOfRelease). Of k rounds of a person let
    k_i be in phase i: then phase i is moved by k_i times as much, all of it one adaptive composition: pure epsilons add
    to each other and to the epsilon of the Gaussian parts, whose mu compose as the root of the sum of squares. Which
    split it is depends on what was released; the largest epsilon of all splits holds for each."""

    name: str
    statistic: str
    phases: tuple[PureRelease | GaussianRelease, ...]
    rounds: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive_int(rounds=self.rounds)
        if not self.phases or any(one.rounds != 1 for one in self.phases):
            raise ValueError("Expected phases, each for one round, got none or others.")
        relations.one(one.relation for one in (self, *self.phases))

    def splits(self, rounds: int) -> Iterator[tuple[int, ...]]:
        """Of a person's rounds over the phases."""
        return _splits(self.rounds * rounds, len(self.phases))


Gaussian = GaussianRelease | OneOfRelease  # what is composed by the root of the sum of mu^2
Composed = Gaussian | PureRelease | PhasesRelease  # what can be composed with one another
Release = Composed | RepeatedRelease | ShuffledRelease | LaplaceRelease | LocalRelease


class _Cost(NamedTuple):
    """Of some releases together: pure epsilon, mu, and the factors of discrete noise."""

    pure: float = 0.0
    mu: float = 0.0
    up: float = 0.0
    down: float = 0.0

    def beside(self, other: "_Cost") -> "_Cost":
        return _Cost(self.pure + other.pure, math.hypot(self.mu, other.mu), self.up + other.up, self.down + other.down)

    def epsilon(self, delta: float) -> float:
        rest = gaussian.epsilon(self.mu, delta * math.exp(-self.up)) if self.mu else 0.0
        return self.pure + self.up + self.down + rest


def _costs(release: Composed, rounds: int) -> list[_Cost]:
    """For replacing `rounds` times as many rounds as it is made for: one for each way in which they may fall."""
    if isinstance(release, PhasesRelease):
        return [_together(release.phases, split) for split in release.splits(rounds)]
    if isinstance(release, PureRelease):
        return [_Cost(pure=rounds * release.epsilon)]
    return [_Cost(0.0, rounds * release.mu, *release.factors)]


def _together(phases: Sequence[PureRelease | GaussianRelease], split: Sequence[int]) -> _Cost:
    """For so many rounds in each."""
    each = (_costs(one, k)[0] for one, k in zip(phases, split, strict=True) if k)
    return functools.reduce(_Cost.beside, each)


def _splits(rounds: int, phases: int) -> Iterator[tuple[int, ...]]:
    if phases == 1:
        yield (rounds,)
        return
    for first in range(rounds + 1):
        for rest in _splits(rounds - first, phases - 1):
            yield first, *rest


def epsilon_of(releases: Sequence[Release], delta: float, *, rounds: int = 1) -> float:
    """epsilon at delta for a user who is in all these releases, each chosen in the light of the earlier ones; for
    replacing `rounds` times as many rounds as each is made for. ValueError for what cannot be computed, and for
    releases whose neighbours are not the same."""
    checks.positive_int(rounds=rounds)
    if not releases:
        return 0.0
    relation_of(releases)
    gaussians = [r for r in releases if isinstance(r, Composed)]
    others = [r for r in releases if not isinstance(r, Composed)]
    if not others:
        ways = itertools.product(*(_costs(release, rounds) for release in gaussians))
        return max(functools.reduce(_Cost.beside, way).epsilon(delta) for way in ways)
    if rounds > 1:
        raise ValueError("Expected Gaussian releases for several rounds of one person, got others.")
    if not gaussians and _composed(others):
        return others[0].cost(delta)
    if gaussians or len(others) > 1:
        raise ValueError("Expected either Gaussian releases or a single one of another kind, got a mixture.")
    return others[0].cost(delta)


def relation_of(releases: Sequence[Release]) -> str:
    """The neighbours that all of them are for; ValueError where they differ, where there are none, and for a kind of
    release that the ledger does not know."""
    for release in releases:
        if not isinstance(release, Release):
            raise ValueError(f"Expected a kind of release that the ledger knows, got {type(release).__name__}.")
    return relations.one(release.relation for release in releases)


def grid_delta(releases: Sequence[Release], epsilon: float) -> float:
    """What the grid costs in delta at epsilon: the bound for discrete noise less the continuous Gaussian's curve."""
    of = [one for r in releases for one in (r.phases if isinstance(r, PhasesRelease) else [r])]
    gaussians = [r for r in of if isinstance(r, Gaussian)]
    if not gaussians or epsilon == math.inf:
        return 0.0
    up, down = _factors(gaussians)
    bound = 1.0  # where the factors are all of epsilon, the comparison says nothing
    if epsilon >= up + down:
        bound = math.exp(up) * gaussian.delta(epsilon - up - down, math.hypot(*(r.mu for r in gaussians)))
    return max(0.0, bound - gaussian.delta(epsilon, math.hypot(*(r.continuous for r in gaussians))))


def check(releases: Sequence[Release], budget: Budget) -> float:
    """The recomputed epsilon, or BudgetExceeded."""
    if releases:
        relation_of(releases)
    if budget.epsilon == math.inf:
        return math.inf
    computed = epsilon_of(releases, budget.delta)
    if not computed <= budget.epsilon * (1 + 1e-9):
        raise BudgetExceeded(
            f"Expected epsilon at most {budget.epsilon:g} at delta {budget.delta:g}, got {computed:.6g} "
            "from the noise that would be used."
        )
    return computed


def _factors(releases: Sequence[Gaussian]) -> tuple[float, float]:
    return math.fsum(r.factors[0] for r in releases), math.fsum(r.factors[1] for r in releases)


def _composed(releases: Sequence[Release]) -> bool:
    """Whether these are sums of one batch, each with the epsilon of all of them."""
    batch = [r for r in releases if isinstance(r, ShuffledRelease) and r.together]
    return len(batch) == len(releases) and len({(r.epsilon, r.delta, r.users, r.minimum) for r in batch}) == 1


def _stated_epsilon(release: ShuffledRelease | LocalRelease, delta: float) -> float:
    """The epsilon that the release was made with: it holds at its own delta and at larger ones."""
    if not release.delta <= delta or not release.epsilon >= 0:
        raise ValueError(f"Expected a release whose epsilon is known at delta {delta:g}, got one at {release.delta:g}.")
    return release.epsilon
