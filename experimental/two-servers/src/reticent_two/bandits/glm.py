"""Our own: generalised linear bandits under two aggregators, neither of which is trusted alone."""

import math
import secrets
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.random import default_rng

from reticent import checks
from reticent.data import Array, Integers
from reticent.errors import BadState, HorizonReached, WrongBatch
from reticent.kernels.block import Block
from reticent.kernels.glm import Posterior
from reticent.mechanisms.memory import PrefixSums
from reticent.privacy import ledger, settings
from reticent.privacy.budget import Budget
from reticent.privacy.certificate import DEVICES, SIMULATED_DEVICES, Certificate, certify
from reticent.privacy.words import rate
from reticent_devices.bandits.server import Server
from reticent_devices.roles.device import Device
from reticent_two import words
from reticent_two.bandits import memory
from reticent_two.bandits.curator import AGAINST, MODELS, Asked, Curator, Elsewhere
from reticent_two.bandits.memory import BothAggregators
from reticent_two.roles import board as boards
from reticent_two.roles import wire
from reticent_two.roles.board import NOTHING, TwoServerBoard
from reticent_two.roles.device import TwoServerClient
from reticent_two.roles.signed import UNSIGNED, Billboard
from reticent_two.roles.task import HELPER, LEADER, Task, TaskSteps, committed
from reticent_two.roles.wire import LeafShare
from reticent_two.shares import joined

SIMULATED = "00" * 32, "11" * 32  # identities and commitments of nobody


class TwoState(NamedTuple):
    """All of it is public or has noise."""

    counts: Integers  # users, and where the open step closes
    prefix: PrefixSums  # what was released; in simulation, sums as well
    estimate: Posterior
    reports: Integers  # (window,): in each of the last steps


@dataclass(kw_only=True, eq=False)
class TwoServerGLM(Server):
    """Rewards with mean mu(<x, theta*>): JointGLM's estimate, from sums that nobody sees. Each device splits its datum,
    linearised at the public estimate, into a share for the leader and one for the helper; each adds up its shares, and
    releases them at the end of a step with noise of its own.

    Guarantee: (epsilon, delta)-private for replacing one user against the operator, who runs the leader, whatever it
    and everybody else do, by the helper's noise alone; at `helper_budget` against the helper, by the leader's. It is
    computational, and needs that the two do not work together: against both together there is none.
    Regret: measured, not proven (docs/two-servers.md): JointGLM's with the noise of both, sqrt 2 times as much for two
    equal budgets.
    Reference: Prio3 (reticent_two.vdaf) and reticent_two.shares; the estimate is JointGLM's.
    Departure: none.

    helper_budget: against the helper, by default as against the operator. One that is larger costs less regret.
    first: the smallest step, and how many users get random arms; by default as in JointGLM, for the noise of both.
    curvature: "released", "none" (scores alone), or "auto": what JointGLM would take. forget: rounds after which what
    was learnt counts 1 / e, as in JointGLM; both servers then keep their shares of fewer steps. features: of a schema,
    arms are dense vectors here. When a choice counts is the device's to say (Outbox). Not for two servers: sums by
    fields and base rates, limits for persons, what is known from elsewhere.
    era: 64 hexadecimal digits that no two runs share. identities: the public keys of both aggregators, in hexadecimal
    digits; commitments: to the halves of the key that they verify reports with. Without these two, all secrets are
    drawn, for both aggregators in this process (`Embedded`)."""

    helper_budget: Budget | None = None
    first: int | None = None
    curvature: str = "auto"
    forget: float | None = None
    era: str | None = None
    identities: tuple[str, str] | None = field(default=None, repr=False)
    commitments: tuple[str, str] | None = field(default=None, repr=False)
    _state: TwoState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(list(MODELS), curvature=self.curvature)
        name = type(self).__name__
        if self.helper_budget is None:
            self.helper_budget = self.budget
        settings.check_budget(self.helper_budget)
        for budget in (self.budget, self.helper_budget):
            budget.needs_delta(name)
            budget.of_rounds(name)
        asked = Asked(
            self.dim,
            self.budget,
            self.helper_budget,
            self.reward,
            self.horizon,
            self.first,
            self.curvature,
            self.forget,
        )
        policy = default_rng() if self.policy is None else self.policy
        self._curator = Curator(asked, self.source or Elsewhere(), policy)
        self.first = self._curator.first
        for party, budget in ((LEADER, self.budget), (HELPER, self.helper_budget)):
            ledger.check(self._curator.cost(party, self._curator.mechanism.leaves), budget)
        if (self.identities is None) != (self.commitments is None):
            raise ValueError("Expected identities and commitments, or neither, got one of them.")
        self._own = memory.drawn() if self.commitments is None and not self.simulated else None
        self._last: tuple[bytes, int] = b"", -1  # the last board of aggregators in this process, and its version
        self.task = self._task()
        if not self.simulated:
            self.task.check()
        self._state = self.init()

    def _task(self) -> Task:
        own, mechanism = self._curator, self._curator.mechanism
        assert self.helper_budget is not None
        identities, commitments = self.identities or SIMULATED, self.commitments or SIMULATED
        if self._own is not None:
            identities = self._own.identities.leader.hex(), self._own.identities.helper.hex()
            commitments = committed(self._own.halves[0]), committed(self._own.halves[1])
        schedule = own.schedule
        self.era = self.era or secrets.token_hex(32)
        task = Task(
            era=self.era,
            bandit=type(self).__name__,
            dim=self.dim,
            features=self._schema,
            link=self.link,
            rewards=(float(self.rewards[0]), float(self.rewards[1])),
            scale=0.0 if own.scores else float(own.contribution.scale),
            blend=0.0 if own.scores else float(own.contribution.blend),
            operator=self.budget,
            helper=self.helper_budget,
            steps=TaskSteps(
                int(schedule.first),
                float(schedule.growth),
                mechanism.leaves,
                float(mechanism.fading),
                None if math.isinf(schedule.longest) else int(schedule.longest),
            ),
            identities=identities,
            commitments=commitments,
        )
        return Task.read(task.document)  # raises here rather than at every device

    def init(self) -> TwoState:
        self._window = np.zeros(self._curator.mechanism.window, np.int64)
        return self._shown()

    def _shown(self) -> TwoState:
        state = self._curator.sums.state
        return TwoState(state.counts, state.prefix, state.estimate, self._window)

    # the protocol

    @property
    def version(self) -> int:
        return self._state.prefix.step

    @property
    def over(self) -> bool:
        return self.version >= self.task.steps.leaves

    def board(self, *, version: int, previous: str, leaves: tuple[str, str], made: int, expires: int) -> bytes:
        """The next board, for both aggregators to sign (reticent_two.roles.board)."""
        own = self._curator.present
        at: Posterior = own.arrays
        scores = self._curator.scores
        return boards.written(
            TwoServerBoard(
                self.task,
                version,
                previous,
                self.version,
                leaves,
                made,
                expires,
                bool(own.random),
                at.theta,
                at.centre if scores else at.theta,
                at.inverse,
                np.zeros((0, 0)) if scores else at.axes,
                at.spread,
            )
        )

    def billboard(self) -> bytes:
        """Signed where both aggregators are in this process; else what a simulation takes."""
        last, step = self._last
        if step != self.version or self._own is None:
            now = 0 if self._own is None else self._own.keys[0].since  # a month of it, as of the keys
            last = self.board(
                version=self.version,
                previous=boards.hashed(last) if last else NOTHING,
                leaves=(NOTHING, NOTHING),
                made=now,
                expires=now + boards.LONGEST,
            )
            self._last = last, self.version
        if self._own is None:
            return Billboard(self.task.text, UNSIGNED, last, UNSIGNED, (UNSIGNED, UNSIGNED)).text
        return self._own.signed(self.task, last)

    def device(self) -> TwoServerClient:
        return TwoServerClient(
            self.billboard(),
            identities=self._own.identities if self._own is not None else None,
            features=self.schema,
            noise=self._noise() if self.simulated else None,
            draws=self._draws(),
        )

    def leaves(self, report: bytes) -> tuple[LeafShare, LeafShare]:
        """Both leaves of the next step, the leader's first, checked: HorizonReached after the last step."""
        if self.over:
            raise HorizonReached(f"Expected at most {self.task.steps.leaves} steps, and they have all been released.")
        task, length = self.task, wire.leaf_length(self.task)
        leader, helper = (
            wire.decode_leaf(task, part, party) for party, part in enumerate((report[:length], report[length:]))
        )
        if (leader.step, leader.reports) != (helper.step, helper.reports) or leader.step != self.version:
            raise WrongBatch("Expected both leaves of the next step, of the same reports, got others.")
        return leader, helper

    def observe(self, report: bytes) -> None:
        """Take both leaves of a step (`leaves`)."""
        leader, helper = self.leaves(report)
        task, window, step = self.task, self._window, self.version
        window[step % window.size] = leader.reports
        counts = [int(window[at % window.size]) for at in range(max(0, step + 1 - window.size), step + 1)]
        noisy = joined(task.grids[HELPER], task.circuit, counts, [leader.numbers, helper.numbers])
        self._curator.follow(noisy, self.users + leader.reports)
        self._state = self._shown()

    # simulation, and both aggregators in one process

    def transit(self) -> BothAggregators | None:
        if self.simulated:
            return None
        if self._own is None or self.version:
            raise BadState("Expected a new server without commitments for both aggregators here, got another.")
        return BothAggregators(self.task, self._own)

    def _advance(self, transit: BothAggregators | None, users: int) -> bool:
        if self.over:
            return False
        if transit is None:
            due = self._curator.due(users)
            if due:
                self._curator.close()
                self._state = self._shown()
            return due
        inside = users - self.users
        due = users >= self._boundary
        if due:
            for _ in range(inside - transit.reports):  # rewards that never came: zeros
                transit.add(self.device().report(np.zeros(self.dim), None))
            self.observe(transit.close())
        return due

    @property
    def _boundary(self) -> int:
        """Users at whom the open step closes."""
        return int(self._state.counts[1])

    def hear(self, device: Device, x: Array, reward: float | None, transit: BothAggregators | None) -> None:
        if self.over:
            return
        if transit is not None:
            transit.add(device.report(x, reward))
        elif reward is not None:
            self._curator.hear(x, reward)

    def _play(self, block: Block, transit: Any) -> None:
        self._generators()
        self._curator.run(block)
        self._state = self._shown()

    def _resume(self, body: dict[str, Any], where: str) -> None:
        super()._resume(body, where)
        self._curator.resume()

    def _plan_numbers(self) -> list[float]:
        return [*self._curator.sigmas, self._curator.mechanism.column_norm, self._curator.contribution.scale]

    # what may be shown

    @property
    def theta(self) -> Array:
        """The estimate that devices choose by: a function of what was released."""
        return self._curator.one_pass.theta(self._curator.present)

    @property
    def privacy(self) -> Certificate:
        """Against the operator; `against` has both."""
        own, leaves = self._curator, self._curator.mechanism.leaves
        operator, helper = own.cost(LEADER, leaves), own.cost(HELPER, leaves)
        claim = self.against["the helper"]
        caveats = words.AGAINST.format(*claim, rate(*claim)), words.REVIEW, words.PAGE
        made = certify(
            type(self).__name__,
            model=words.TWO_SERVERS,
            budget=self.budget,
            releases=(*operator, *helper),
            costliest=operator,
            spent=own.cost(LEADER, self.version),
            source=SIMULATED_DEVICES if self.simulated else DEVICES,
            features=self.schema,
            horizon=self.horizon,
            rounds=self.users,
            caveats=(*caveats, words.STAYS.format(own.mechanism.window)),
        )
        return made if self.simulated else msgspec.structs.replace(made, source=words.NOISE, distance=0.0)

    @property
    def against(self) -> dict[str, tuple[float, float]]:
        """Epsilon and delta against each of the two: the certificate's claim is the first of them."""
        own, leaves = self._curator, self._curator.mechanism.leaves
        assert self.helper_budget is not None
        deltas = zip(AGAINST, (self.budget.delta, self.helper_budget.delta), strict=True)
        return {
            f"the {who}": (ledger.epsilon_of(own.cost(party, leaves), delta), delta)
            for party, (who, delta) in enumerate(deltas)
        }
