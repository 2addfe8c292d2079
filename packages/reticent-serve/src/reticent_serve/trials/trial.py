"""What a holdout says: all of it from released sums and public numbers.

Each look has its interval, and all looks of one line hold at once with the probability `level`, however often one looks
and whenever one stops: the comparison; all declared arms together; the two means together; the average earned. Each of
these four has the error 1 - level of its own. The point estimate of a trial that was stopped because it looked good is
too good (a truth of 2.0 shows 2.7): read the interval. It speaks of the people up to its look."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from reticent_serve.trials import bounds, coins, looks
from reticent_serve.trials.bounds import GroupSum, Interval
from reticent_serve.trials.coins import Centres, Tossed
from reticent_serve.trials.groups import Places

COINS = "coins"  # how groups are assigned; else in blocks


class Releasing(Protocol):
    """Of a release: see algorithms.trial_sums."""

    @property
    def people(self) -> int: ...
    @property
    def counts(self) -> tuple[int, ...]: ...
    @property
    def totals(self) -> tuple[float, ...]: ...
    @property
    def taus(self) -> tuple[float, ...]: ...
    @property
    def pairs(self) -> tuple[tuple[float, float], ...]: ...
    @property
    def pair_tau(self) -> float: ...


class ReleasedSums(Protocol):
    """What was released of a trial: algorithms.trial_sums.TrialSums."""

    @property
    def holdout(self) -> Any: ...
    @property
    def groups(self) -> Sequence[Any]: ...
    @property
    def block(self) -> int: ...
    @property
    def pair_arms(self) -> Sequence[str | int]: ...
    @property
    def rewards(self) -> tuple[float, float]: ...
    @property
    def looks(self) -> Sequence[Releasing]: ...
    @property
    def ended(self) -> int | None: ...
    @property
    def holdout_groups(self) -> Sequence[int]: ...
    @property
    def rounding(self) -> Sequence[float]: ...


class Trial(NamedTuple):
    """At the last look. people: so many had come, `holdout` of them in the holdout's group. value, low, high: what the
    bandit brought on average more than the holdout would have. bandit, holdout_value: what each would have brought to
    everybody; earned: what people brought, whatever their group; arms: what each declared arm would have brought to
    everybody. since: from which person on the interval has not held 0, if it does not; cost: what the holdout's people
    would have brought more with the bandit, about. ended: no more people are in the holdout's group. problem: groups
    are not as planned. Released numbers only."""

    people: int
    holdout: int
    value: float
    low: float
    high: float
    bandit: Interval
    holdout_value: Interval
    earned: Interval
    arms: Mapping[str, Interval]
    since: int | None
    cost: float
    level: float
    bound: str
    ended: bool
    problem: str | None
    noise: tuple[float, float]

    @property
    def clear(self) -> bool:
        """Whether the interval does not hold 0."""
        return self.low > 0 or self.high < 0


def course(sums: ReleasedSums, horizon: int | None = None) -> list[Trial]:
    """The trial at each look so far, the last one as it stands. horizon: of choices, where one was planned for."""
    compared = [look for look in sums.looks if sums.ended is None or look.people <= sums.ended]
    at = looks.picked([_control(sums, look.counts) for look in compared])
    out: list[Trial] = []
    for nth in range(len(at)):
        found = _trial(sums, [compared[i] for i in at[: nth + 1]], horizon)
        before = out[-1] if out else None
        since = None
        if found.clear:
            same = before is not None and before.since is not None and (before.low > 0) == (found.low > 0)
            since = before.since if before is not None and same else found.people
        out.append(found._replace(since=since))
    return out


def trial(sums: ReleasedSums | None, horizon: int | None = None) -> Trial | None:
    """What an experiment says, from its `trial_sums`, with intervals that hold at every look; None before the first
    look, and without an experiment. horizon: of the algorithm, where it has one."""
    found = [] if sums is None else course(sums, horizon)
    return found[-1] if found else None


def _trial(sums: ReleasedSums, at: Sequence[Releasing], horizon: int | None) -> Trial:
    holdout, now, (low, high) = sums.holdout, at[-1], sums.rewards
    share = sum(sums.groups[i].chance for i in sums.holdout_groups)
    most = looks.most(share, horizon, coins=holdout.assign == COINS)
    error = (1 - holdout.level) / most
    of = _Tosses(sums, at) if holdout.assign == COINS else _Blocks(sums, now)
    lost = max(sums.rounding, default=0.0)

    def means(one: Interval) -> Interval:
        return Interval(*(low + (high - low) * float(end) for end in _wider(one, lost)))

    named = [i for i, group in enumerate(sums.groups) if group.name == "arm"]
    count = len(named) + len(sums.pair_arms)
    arms = {str(sums.groups[i].arm): means(of.mean(i, error / count, holdout.bound)) for i in named}
    for arm, pair in zip(sums.pair_arms, now.pairs, strict=True):
        arms[str(arm)] = means(bounds.interval(*pair, now.pair_tau, now.people, error / count))
    value, below, above = (
        (high - low) * float(end) for end in _wider(of.difference(error, holdout.bound), 2 * lost, least=-1.0)
    )
    everybody = sum(total + n / 2 for total, n in zip(now.totals, now.counts, strict=True)) / now.people
    noise = sum(tau * tau for tau in now.taus) ** 0.5 / now.people
    controls = _control(sums, now.counts)
    chances = [group.chance for group in sums.groups]
    return Trial(
        people=now.people,
        holdout=controls,
        value=value,
        low=below,
        high=above,
        bandit=means(of.mean(0, error / 2, holdout.bound)),
        holdout_value=means(of.mean(None, error / 2, holdout.bound)),
        earned=means(bounds.exact(everybody, noise, error)),
        arms=arms,
        since=None,
        cost=controls * value,
        level=holdout.level,
        bound=holdout.bound,
        ended=sums.ended is not None,
        problem=bounds.problem(now.people, now.counts, chances, coins=holdout.assign == COINS, looks=most),
        noise=(_summed(now, sums.holdout_groups)[1], now.taus[0]),
    )


def groups_of(sums: ReleasedSums) -> Places:
    """The places of each group in a block; those that are expected of coins."""
    own = sum(sums.groups[i].places for i in sums.holdout_groups)
    others = [group.places for i, group in enumerate(sums.groups) if i > 0 and i not in sums.holdout_groups]
    return Places(sum(group.places for group in sums.groups), own, tuple(others), divided=len(sums.holdout_groups) > 1)


class _Blocks:
    """Groups of permuted blocks, at a look."""

    def __init__(self, sums: ReleasedSums, now: Releasing) -> None:
        self._sums, self._now, self._blocks, self._groups = sums, now, now.people // sums.block, groups_of(sums)

    def mean(self, i: int | None, error: float, bound: str) -> Interval:
        return bounds.mean(self._group(i), self._groups, self._blocks, error, bound)

    def difference(self, error: float, bound: str) -> Interval:
        return bounds.difference(self._group(0), self._group(None), self._groups, self._blocks, error, bound)

    def _group(self, i: int | None) -> GroupSum:
        """None: the holdout, which may be several."""
        own = self._sums.holdout_groups if i is None else [i]
        return GroupSum(sum(self._sums.groups[j].places for j in own), *_summed(self._now, own))


class _Tosses:
    """Groups by coins, at the last of these looks. Rewards between two looks are centred at the rate of the first."""

    def __init__(self, sums: ReleasedSums, at: Sequence[Releasing]) -> None:
        self._sums, self._at = sums, at
        ends = [0, *(look.people for look in at)]
        every = range(len(sums.groups))
        rates = [min(max(_summed(look, every)[0] / look.people, 0.0), 1.0) for look in at[:-1]]
        people = tuple(after - before for before, after in itertools.pairwise(ends))
        self._centres = Centres(people, (coins.HALF, *rates))

    def mean(self, i: int | None, error: float, bound: str) -> Interval:
        return coins.mean(self._group(i), self._centres, error, bound)

    def difference(self, error: float, bound: str) -> Interval:
        return coins.difference(self._group(0), self._group(None), self._centres, error, bound)

    def _group(self, i: int | None) -> Tossed:
        own = self._sums.holdout_groups if i is None else [i]
        counts = [0, *(sum(look.counts[j] for j in own) for look in self._at)]
        between = tuple(after - before for before, after in itertools.pairwise(counts))
        chance = sum(self._sums.groups[j].chance for j in own)
        return Tossed(chance, between, *_summed(self._at[-1], own), divided=len(own) > 1)


def _summed(look: Releasing, own: Sequence[int]) -> tuple[float, float]:
    """The sum of rewards in [0, 1] in these groups, and the std of its noise."""
    total = sum(look.totals[j] + look.counts[j] / 2 for j in own)
    return total, sum(look.taus[j] ** 2 for j in own) ** 0.5


def _control(sums: ReleasedSums, counts: Sequence[int]) -> int:
    return sum(counts[i] for i in sums.holdout_groups)


def _wider(one: Interval, lost: float, least: float = 0.0) -> Interval:
    """By what rounding may have lost of each person."""
    return Interval(one.value, max(one.low - lost, least), min(one.high + lost, 1.0))
