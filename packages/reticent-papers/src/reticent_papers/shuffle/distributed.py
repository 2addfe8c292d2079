"""Arms without features, whose rewards alone are private: batches that rule arms out, by sums modulo m."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from reticent import checks
from reticent.data import Array, Coded, Integers
from reticent.errors import BadReport, BatchTooSmall
from reticent.kernels.block import Block
from reticent.privacy import ledger, relations
from reticent.privacy.certificate import Certificate, certify
from reticent.privacy.ledger import LaplaceRelease
from reticent_devices.bandits.shuffle.server import BehindShuffler
from reticent_devices.mechanisms.shuffle.encoding import nothing_coded
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch
from reticent_devices.roles import wire
from reticent_devices.roles.analyzer import check_shares, fewest, honest, liars
from reticent_devices.roles.device import Device
from reticent_papers.mechanisms.laplace import LaplacePlan, calibrate, decoded, with_shares
from reticent_papers.shuffle.aggregation import FORMAT, LARGEST, MIDDLE, Aggregator, ArmClient, read
from reticent_papers.shuffle.distributed_kernel import add_rounded, arm_rounds

FOREVER = 10**12  # users that the modulus is made for where there is no horizon
USERS, VERSION, BATCH, PLACE, REPORTS = range(5)  # in the state's counts


class ArmState(NamedTuple):
    """Public: functions of sums that were released."""

    counts: Integers  # (5,): users, sums, batches, sums of the open batch, fewest reports in one of these
    alive: Integers  # (K,): 1 for an arm that is left
    thetas: Array  # (K,): the mean of each arm in its last batch, as a share of the range of rewards


@dataclass(kw_only=True, eq=False)
class DistributedElimination(BehindShuffler):
    """Batches of doubling length. In a batch each arm that is left is shown to l users, one arm after the other; the
    server is shown the noisy sum of each arm's rewards. At its end arms whose upper bound is below another's lower
    bound are ruled out, by the sums of this batch alone. Arms are the unit vectors, `dim` of them, the same for all.

    Guarantee: (epsilon, 0)-privacy of all that the server sees for replacing one user's reward, whatever later users
    do: another reward, a late one or none. Which arm a user is shown is public: it follows from the number of the
    choice and from earlier sums. A user is in one sum, and replaced moves it by at most g cells (a reward is clipped,
    rounded within the range, and counts as its middle where none came; everybody reports): the noise is discrete
    Laplace, epsilon = g ln(1 / b), computed (mechanisms.laplace). This rests on an aggregator that hands on the
    sum modulo m alone, and on the shares of noise of `honest` of the n users: those who surely report (dropout) less
    those who leave their noise out (malicious). Their shares are made larger for it; a sum of fewer reports than were
    promised is refused.
    Reference: Chowdhury & Zhou 2022, "Distributed Differential Privacy in Multi-Armed Bandits", arXiv:2206.05772,
    Algorithm 1 and Theorem 1 (pure DP by secure aggregation); the constants of beta are those of the authors' code.
    Departure: shares are of 1 / honest and not of 1 / n; b is rounded up to 48 bits, and g is at most 4096. Shares are
    drawn from whole random words with exactly their law; the authors' code draws others (docs/papers/shuffle.md). Where
    not all reports came, the mean is over those that did. Batches grow no more at 2^18 users an arm. There is no
    secure aggregation in reticent: the Aggregator is a shuffler that adds up. Its other variants, Skellam noise (RDP)
    and shuffling, are not here.

    first, growth: users of an arm in the first batch, and the factor by which they grow; 2 and 2 as printed, 4 and 4 in
    the authors' experiments. failure: p of the bounds, 0.1 as there. width_scale: of their half-width."""

    first: int = 2
    growth: float = 2.0
    failure: float = 0.1
    width_scale: float = 1.0
    _state: ArmState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive_int(first=self.first)
        checks.probability(failure=self.failure)
        checks.non_negative(width_scale=self.width_scale)
        check_shares(self.dropout, self.malicious)
        if not 1 <= self.growth < math.inf:
            raise ValueError(f"Expected growth of at least 1, got {self.growth!r}.")
        if not self.first <= LARGEST:
            raise ValueError(f"Expected first to be at most {LARGEST}, got {self.first}.")
        self._plans: list[LaplacePlan] = []
        self._plan_of(0)
        self._state = self.init()

    def init(self) -> ArmState:
        k = self.dim
        return ArmState(np.zeros(5, np.int64), np.ones(k, np.int64), np.full(k, MIDDLE))

    def _plan_of(self, batch: int) -> LaplacePlan:
        """Of each sum of batch 0, 1, ...; BudgetExceeded if its noise were too little."""
        while len(self._plans) <= batch:
            users = math.ceil(min(LARGEST, self.first * self.growth ** len(self._plans)))
            sure, horizon = honest(users, self.dropout, self.malicious), self.horizon or FOREVER
            made = calibrate(self.budget.epsilon, users=users, honest=sure, horizon=horizon)
            ledger.check((self._release(made),), self.budget)
            self._plans.append(made)
        return self._plans[batch]

    @property
    def _coding(self) -> LaplacePlan:
        """Of the open sum."""
        return self._plan_of(int(self._state.counts[BATCH]))

    def _half_width(self, batch: int, arms: int, reports: int) -> float:
        """beta(b) for so many reports of each of the arms that are left; b counts from 1."""
        plan, epsilon = self._plan_of(batch), self.budget.epsilon
        logs = math.log(2 * arms * (batch + 1) ** 2 / self.failure)
        noise = math.sqrt(2 * plan.users / plan.honest * logs) / epsilon + logs / epsilon
        return self.width_scale * (math.sqrt((logs + math.log(2)) / (2 * reports)) + noise / reports)

    # the protocol

    @property
    def version(self) -> int:
        return int(self._state.counts[VERSION])

    @property
    def wanted(self) -> int:
        return self._coding.users

    @property
    def arm(self) -> int:
        """That is shown now."""
        return int(np.flatnonzero(self._state.alive)[self._state.counts[PLACE]])

    @property
    def theta(self) -> Array:
        """The mean reward of each arm in the last batch that had it: a function of noisy sums."""
        low, high = self.rewards
        return np.asarray(low + (high - low) * self._state.thetas)

    def _board(self) -> dict[str, Any]:
        plan = self._coding
        return {
            "format": FORMAT,
            "version": wire.VERSION,
            "model": "shuffle",
            "bandit": type(self).__name__,
            "batch": self.version,
            "dim": self.dim,
            "features": self._schema,
            "rewards": list(map(float, self.rewards)),
            "arm": self.arm,
            "plan": {
                "users": plan.users,
                "minimum": fewest(plan.users, self.dropout),
                "malicious": min(liars(plan.users, self.malicious), fewest(plan.users, self.dropout) - plan.honest),
                "honest": plan.honest,
                "cells": plan.cells,
                "chance": plan.chance,
                "reach": plan.reach,
                "epsilon": None if math.isinf(self.budget.epsilon) else self.budget.epsilon,
                "delta": self.budget.delta,
            },
        }

    def _check_board(self, billboard: bytes) -> None:
        read(billboard)

    def device(self) -> ArmClient:
        return ArmClient(self.billboard(), features=self.schema, noise=self._noise())

    def observe(self, report: bytes) -> None:
        """Take the sum that the aggregator hands over."""
        reports, sums = wire.decode_batch(report, read(self.billboard())[0])
        least = fewest(self._coding.users, self.dropout)
        if reports < least:
            raise BatchTooSmall(f"Expected at least {least} reports, got {reports}.")
        if not 0 <= sums[0] < self._coding.modulus:
            raise BadReport("Expected a sum modulo m, got one that was not reduced.")
        self._plan_of(int(self._state.counts[BATCH]) + 1)  # raises before anything has changed, if it cannot be made
        self._take(reports, sums)

    def _take(self, reports: int, sums: Coded) -> None:
        state, plan, arm = self._state, self._coding, self.arm
        state.thetas[arm] = decoded(sums, plan)[0] / reports
        state.counts[REPORTS] = min(reports, state.counts[REPORTS] or reports)
        state.counts[USERS] += reports
        state.counts[VERSION] += 1
        state.counts[PLACE] += 1
        if state.counts[PLACE] == state.alive.sum():
            self._rule_out()

    def _rule_out(self) -> None:
        """At the end of a batch."""
        state = self._state
        left = state.alive == 1
        half = self._half_width(int(state.counts[BATCH]), int(left.sum()), int(state.counts[REPORTS]))
        state.alive[:] = left & (state.thetas + half >= (state.thetas - half)[left].max())
        state.counts[BATCH] += 1
        state.counts[[PLACE, REPORTS]] = 0

    # simulation

    def transit(self) -> OpenBatch:
        return OpenBatch(np.zeros(1, np.int64), nothing_coded(1))

    def hear(self, device: Device, x: Array, reward: float | None, transit: OpenBatch) -> None:
        """With simulated noise the shares are drawn together, when the sum is full."""
        assert isinstance(device, ArmClient)
        if transit.reports[0] >= self._coding.users:
            return  # people of one `choose_many` may be more than the sum has room for
        if self.source is None:
            self._send(device.report(x, reward), transit)
        else:
            add_rounded(self._generators()[1], device.value(x, reward), self._coding.cells, transit.sums)
            transit.reports[0] += 1

    def _send(self, report: bytes, transit: OpenBatch) -> None:
        Aggregator(self.billboard(), into=transit).add(report)

    def _advance(self, transit: OpenBatch, users: int) -> bool:
        inside, plan = users - self.users, self._coding
        if inside < plan.users:
            return False
        for _ in range(plan.users - int(transit.reports[0])):  # rewards that never came
            self.hear(self.device(), np.zeros(self.dim), None, transit)
        if self.source is None:
            self.observe(Aggregator(self.billboard(), into=transit).close())
        else:
            self._take(plan.users, with_shares(self._generators()[1], transit.sums, plan))
        self._state.counts[USERS] += inside - plan.users
        transit.reports[0] = 0
        transit.sums[:] = 0
        return True

    def _play(self, block: Block, transit: OpenBatch) -> None:
        played, (low, high) = 0, map(float, self.rewards)
        while played < len(block.noise):
            self._advance(transit, self.users + int(transit.reports[0]))
            rng, plan = self._generators()[1], self._coding
            played = arm_rounds(rng, block, played, self.arm, plan.users, low, high, plan.cells, transit)

    def _compile_more(self) -> None:
        self._take(self.wanted, nothing_coded(1))

    def _plan_numbers(self) -> list[float]:
        return [float(number) for number in self._plan_of(0)]

    # what may be shown

    @property
    def privacy(self) -> Certificate:
        closed = [self._plan_of(k) for k in range(int(self._state.counts[BATCH]) + (self._state.counts[PLACE] > 0))]
        worst = max({*closed, self._coding}, key=lambda plan: plan.epsilon)
        spent = max(closed, key=lambda plan: plan.epsilon, default=None)
        return certify(
            type(self).__name__,
            model="shuffle",
            budget=self.budget,
            releases=(self._release(worst),),
            spent=() if spent is None else (self._release(spent),),
            source=self._origin,
            features=self.schema,
            horizon=self.horizon,
            rounds=self.users,
            caveats=(aggregator_assumes(self.malicious),),
        )

    def _release(self, plan: LaplacePlan) -> LaplaceRelease:
        low, high = self.rewards
        return LaplaceRelease(
            "sum modulo m",
            "the sum of an arm's rewards over a batch, one number; each user in one sum",
            plan.cells,
            plan.chance,
            plan.users,
            fewest(plan.users, self.dropout),
            plan.honest,
            (plan.modulus - 1).bit_length(),
            float(high - low),
            relation=relations.named(public=True),
        )


def aggregator_assumes(malicious: float) -> str:
    """What a certificate says where the server is shown a sum modulo m."""
    share = f"at most {100 * malicious:g} %" if malicious else "none"
    return (
        "This assumes that the server is shown the sum of a batch modulo m and nothing else, by an honest aggregator "
        "or by a protocol of secure aggregation, which reticent does not have: a single report hides next to nothing. "
        f"And it assumes that {share} of a batch's reports come from the server or from whoever works with it "
        f"(malicious = {malicious:g}): each report has a share of the noise, and whoever sends all the "
        "others reads the one that is left."
    )
