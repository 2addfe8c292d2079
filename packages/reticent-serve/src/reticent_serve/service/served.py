"""One bandit at work: its store, its two groups of those who wait for a commit, and what may be shown of it.

Status and metrics are functions of public numbers (choices so far, the schedule) and of releases. How many rewards,
waiting choices and offers of an arm there were is raw: it is counted nowhere here."""

import asyncio
import functools
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from reticent.core.bandit import warm_up
from reticent.core.curator import Asked
from reticent.errors import BadState, ReticentError
from reticent.privacy.certificate import Certificate
from reticent_serve.holders.requests import Report, StoredChoice
from reticent_serve.holders.stored import Stored
from reticent_serve.service import bodies, config, history, offers, trial
from reticent_serve.service.groups import Group

LATE = 5.0  # seconds after its delay
SLOT = 0.25  # seconds
OPTIONS = ("keys", "delay", "pending")  # settings that Stored has


class Served:
    """A thread of its own makes its commits, so that the loop goes on meanwhile."""

    def __init__(
        self, name: str, setting: config.BanditSetting, waiting: int, clock: Callable[[], float] | None = None
    ) -> None:
        self.name, self.setting = name, setting
        algorithm = config.build(setting, name)
        warm_up(algorithm)
        options = {field: getattr(setting, field) for field in OPTIONS}
        try:
            self.stored = Stored(algorithm, setting.database, name=name, clock=clock, **options)
        except ValueError as error:
            raise ValueError(f"[bandits.{name}]: {error}") from None
        self.past = history.History(self.stored, setting)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"reticent {name}")
        self._other = ThreadPoolExecutor(1, thread_name_prefix=f"reticent {name} shows")
        self._erasures = ThreadPoolExecutor(1, thread_name_prefix=f"reticent {name} erases")
        self.chooses: Group[Asked, StoredChoice | ReticentError] = Group(self._choose, self._writer, waiting)
        self.written: Group[Report, bool] = Group(self.stored.write_group, self._writer, waiting)
        self._progress = (-1, -1), 0.0  # version and entries when it was last looked at, and since when

    def _choose(self, requests: Sequence[Asked]) -> list[StoredChoice | ReticentError]:
        return self.stored.choose_group(requests, self.chooses.following)

    # requests

    def read(self, body: bytes) -> bodies.ChooseBody:
        """A body of `choose`; ValueError says which rule is broken."""
        schema = self.stored.features
        most = offers.most_containers(schema, self.setting.most_arms)
        found: bodies.ChooseBody = bodies.choose(body, most, offers.fields(schema))
        return found

    def prepare(self, body: bodies.ChooseBody, asker: str) -> Asked:
        """ValueError says which rule is broken."""
        arms, actions, names = offers.offered(body, self.stored.features, self.setting.most_arms)
        optional = {"actions": actions, "request": body.request, "person": body.person, "own": body.own}
        given: dict[str, Any] = {key: value for key, value in optional.items() if value is not bodies.UNSET}
        mask = offers.mask(body.available, names)
        return self.stored.prepare(arms, available=mask, asker=asker, **given)

    def report(self, body: bodies.RewardBody) -> Report:
        return self.stored.report(body.id, body.reward)

    async def erase(self, body: bodies.EraseBody) -> bodies.Erased:
        """Answered at multiples of SLOT after the request: the rows that were deleted take less. One after the other:
        each looks at all choices, and several at once would hold up everyone."""
        began = time.monotonic()
        turn = asyncio.get_running_loop().run_in_executor(self._erasures, self.stored.erase, body.person)
        remains = await turn
        await asyncio.sleep((began - time.monotonic()) % SLOT)
        return bodies.Erased(remains)

    async def end_experiment(self) -> bodies.Acknowledged:
        """No more people are on the holdout's side, for good. What the trial said stands; status has it."""
        await asyncio.get_running_loop().run_in_executor(self._writer, self.stored.end_experiment)
        return bodies.Acknowledged()

    async def with_propensities(self, given: Sequence[Asked], asked: Sequence[bool]) -> list[Asked]:
        """With propensities where they are asked for: computed before the commit, so that nobody else waits for it, and
        one at a time, so that others get their turn."""
        return [
            await self.show(functools.partial(self.stored.with_propensity, one)) if wanted else one
            for one, wanted in zip(given, asked, strict=True)
        ]

    def chosen(self, choice: StoredChoice, propensity: bool) -> bodies.Chosen:
        out = bodies.Chosen(choice.index, choice.name, choice.id)
        if propensity:
            out.propensity, out.propensity_error = _propensity(choice)
        return out

    # what may be shown

    async def show(self, work: Any) -> Any:
        """Off the loop, and beside the commits."""
        return await asyncio.get_running_loop().run_in_executor(self._other, work)

    def certificate(self) -> Certificate:
        return self.stored.privacy

    def status(self) -> dict[str, Any]:
        head, privacy, last = self.stored.head, self.stored.privacy, self.stored.history[-1]
        found = {
            "bandit": self.name,
            "kind": self.setting.kind,
            "dim": self.setting.dim,
            "predecessors": self.stored.predecessors,
            "choices": head.choices,
            "choices_left": self.stored.left,
            "entered": self.stored.entered,
            "window": self.stored.window,
            "default": self.stored.default,
            "version": self.stored.version,
            "next_release_after": head.boundary,
            "due_at": self.stored.due_at,
            "last_release_after": last.choices,
            "released_at": last.visible_at or None,
            "privacy": {
                "private": privacy.private,
                "epsilon": privacy.epsilon,
                "delta": privacy.delta,
                "spent": privacy.spent,
                "rounds": self.setting.budget.rounds,
                "unit": privacy.unit,
                "neighbours": privacy.neighbours,
                "relation": privacy.relation,
            },
            "trial": trial.written(self.past.trial()),
            "retired": self.stored.retired,
            "actions": [one._asdict() for one in self.stored.actions],
            "events": [{"at": at, "what": what} for at, what in self.stored.events],
        }
        return found | {"beginning": offers.sentence(self.setting, found)}

    def estimate(self) -> dict[str, Any]:
        """What choices are made by, and `weights` as the dashboard shows them, the middles of intervals: functions of
        what was released, all of one version."""
        while True:
            version = self.stored.version
            weights = self.stored.history[-1].estimate.tolist()
            theta = self.stored.theta.tolist()
            if self.stored.version == version:  # none has become visible meanwhile
                return {"bandit": self.name, "version": version, "theta": theta, "weights": weights}

    def ready(self) -> None:
        """ReticentError if its database is away or was taken back in time, its keys are others, or entries and releases
        do not go on."""
        if self.stored.retired:
            return
        self.stored.check_keys()
        found, now = (self.stored.version, self.stored.entered), time.monotonic()
        if not self.stored.behind or found != self._progress[0]:
            self._progress = found, now
        elif now - self._progress[1] > self.setting.delay + LATE:
            raise BadState("Expected the last release, got an earlier one.")

    def close(self) -> None:
        """After all that waits is committed."""
        self._writer.shutdown(wait=True)
        self._erasures.shutdown(wait=True)
        self._other.shutdown(wait=True)
        self.stored.close()


def _propensity(choice: StoredChoice) -> tuple[float | None, float | None]:
    """With its standard error. None with an answer that was given before without: what it was drawn from is gone."""
    try:
        error = choice.propensity_error
        return choice.propensity, None if math.isnan(error) else error
    except BadState:
        return None, None
