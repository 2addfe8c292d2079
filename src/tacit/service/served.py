"""One bandit at work: its store, its two groups of those who wait for a commit, and what may be shown of it.

Status and metrics are functions of public numbers (choices so far, the schedule) and of releases. How many rewards,
waiting choices and offers of an arm there were is raw: it is counted nowhere here."""

import asyncio
import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np

from tacit.bandits.stored.asks import Ask, Report, StoredChoice
from tacit.bandits.stored.face import Stored
from tacit.bandits.stored.history import LEVEL
from tacit.errors import BadState, TacitError
from tacit.privacy.certificate import Certificate
from tacit.service import bodies, config, history
from tacit.service.groups import Group

LATE = 5.0  # seconds after its delay


class Served:
    """A thread of its own makes its commits, so that the loop goes on meanwhile."""

    def __init__(
        self, name: str, setting: config.BanditSetting, waiting: int, clock: Callable[[], float] = time.time
    ) -> None:
        self.name, self.setting = name, setting
        bandit = config.build(setting)
        bandit.warm_up()
        fields = ("keys", "delay", "on_limit", "degraded", "population", *config.SILENCE)
        options = {field: getattr(setting, field) for field in fields}
        self.stored = Stored(bandit, setting.durable, name=name, clock=clock, **options)
        failure = getattr(bandit, "failure", None)
        self.past = history.History(self.stored, setting, LEVEL if failure is None else 1 - failure)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"tacit {name}")
        self._other = ThreadPoolExecutor(1, thread_name_prefix=f"tacit {name} shows")
        self.chooses: Group[Ask, StoredChoice | TacitError] = Group(self.stored.choose_group, self._writer, waiting)
        self.rewards: Group[Report, None] = Group(self._observe, self._writer, waiting)
        self.activations: Group[bytes, None] = Group(self._activate, self._writer, waiting)
        self._behind = -1, 0.0  # the version when it was last looked at, and since when

    def _observe(self, reports: Sequence[Report]) -> list[None]:
        self.stored.observe_group(reports)
        return [None] * len(reports)

    def _activate(self, tickets: Sequence[bytes]) -> list[None]:
        self.stored.activate_group(tickets)
        return [None] * len(tickets)

    # requests

    def ask(self, body: bodies.ChooseBody, asker: str) -> Ask:
        """ValueError says which rule is broken."""
        if len(body.arms) > self.setting.most_arms:
            raise ValueError(f"Expected at most {self.setting.most_arms} arms.")
        given: dict[str, Any] = {
            key: value
            for key, value in (("request", body.request), ("person", body.person))
            if value is not bodies.UNSET
        }
        return self.stored.ask(body.arms, available=_mask(body), asker=asker, deferred=body.deferred is True, **given)

    def report(self, body: bodies.RewardBody) -> Report:
        return self.stored.report(body.id, body.reward)

    def ticket(self, body: bodies.ActivateBody) -> bytes:
        return self.stored.ticket(body.id)

    async def with_propensities(self, asks: Sequence[Ask], asked: Sequence[bool]) -> list[Ask]:
        """With propensities where they are asked for: computed before the commit, so that nobody else waits for it, and
        one at a time, so that others get their turn."""
        return [
            await self.show(functools.partial(self.stored.with_propensity, ask)) if wanted else ask
            for ask, wanted in zip(asks, asked, strict=True)
        ]

    def chosen(self, choice: StoredChoice, propensity: bool) -> bodies.Chosen:
        out = bodies.Chosen(choice.index, choice.name, choice.id, degraded=choice.degraded)
        if propensity:
            out.propensity = _propensity(choice)
        return out

    # what may be shown

    async def show(self, work: Any) -> Any:
        """Off the loop, and beside the commits."""
        return await asyncio.get_running_loop().run_in_executor(self._other, work)

    def certificate(self) -> Certificate:
        return self.stored.privacy

    def status(self) -> dict[str, Any]:
        head, privacy, last = self.stored.head, self.stored.privacy, self.stored.history[-1]
        return {
            "bandit": self.name,
            "kind": self.setting.kind,
            "dim": self.setting.dim,
            "choices": head.choices,
            "version": self.stored.version,
            "next_release_after": head.boundary,
            "last_release_after": last.choices,
            "released_at": last.visible_at or None,
            "privacy": {
                "private": privacy.private,
                "epsilon": privacy.epsilon,
                "delta": privacy.delta,
                "spent": privacy.spent,
                "max_rounds_per_person": self.setting.max_rounds_per_person,
            },
            "retired": self.stored.retired,
            "population": msgspec.to_builtins(self.stored.population),
            "events": [{"at": at, "what": what} for at, what in self.stored.events],
        }

    def estimate(self) -> dict[str, Any]:
        """What choices are made by: functions of what was released, all of one version."""
        while True:
            version = self.stored.version
            if self.setting.kind == "joint-glm":
                found = {"theta": self.stored.theta.tolist()}
            else:
                released = self.stored.statistics
                found = {name: np.asarray(getattr(released, name)).tolist() for name in released._fields}
            if self.stored.version == version:  # none has become visible meanwhile
                return {"bandit": self.name, "version": version, **found}

    def ready(self) -> None:
        """TacitError if its database is away or was taken back in time, or if a release is late. In an outage that
        choices go on in, it is ready: whoever looks asks `stored.degraded` as well."""
        if self.stored.degraded or self.stored.retired:
            return
        version, closed, now = self.stored.version, self.stored.head.step, time.monotonic()
        if version >= closed or version != self._behind[0]:
            self._behind = version, now
        elif now - self._behind[1] > self.setting.delay + LATE:
            raise BadState("Expected the last release, got an earlier one.")

    def close(self) -> None:
        """After all that waits is committed."""
        self._writer.shutdown(wait=True)
        self._other.shutdown(wait=True)
        self.stored.close()


def _mask(body: bodies.ChooseBody) -> list[bool] | None:
    given = body.available
    if given is bodies.UNSET or isinstance(given, str):
        return None
    if all(isinstance(one, bool) for one in given):
        return [bool(one) for one in given]
    names = set(given)
    if not isinstance(body.arms, dict) or not names <= set(body.arms):
        raise ValueError("Expected available to be a mask, or names of arms that have names.")
    return [name in names for name in body.arms]


def _propensity(choice: StoredChoice) -> float | None:
    """None with an answer that was given before without: what it was drawn from is gone."""
    try:
        return choice.propensity
    except BadState:
        return None
