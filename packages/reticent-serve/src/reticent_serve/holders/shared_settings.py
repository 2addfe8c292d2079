"""What all workers of a bandit do alike: how long a choice waits until it enters, how long its answer is kept, when a
release is used, what silence means, and which actions there are. It stands in the bandit's row: the worker that was
opened last decides, with an event, and the others follow in their next transaction. Actions can only be added and
retired (reticent.core.actions), at the number of choices that the row has then."""

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from reticent import checks, durations
from reticent.core import actions
from reticent.core.actions import Declared
from reticent.core.assignment import OVER, RETIRED, Assignment
from reticent.core.onepass import OnePass
from reticent.core.validation import Validator
from reticent.errors import Retired
from reticent.features.schema import Schema
from reticent_serve.holders import rows
from reticent_serve.holders.opening import BanditStore, made_with
from reticent_serve.holders.rows import BanditRow, Head

COUNTED = ("actions", "ages", "holdout_ended")  # settings that say since which choice, or step
SHORTEST = 1e-6  # seconds: a release is visible at a multiple of the delay, whose number has to be finite
NO_WINDOW = (
    "Expected Reward(window=...), the time after which a choice counts with the reward that came by then, got none. "
    'Take the age by which nine in ten rewards have come ("10 minutes" for a click on a page, "1 day" for one in an '
    "e-mail), rather longer than shorter: what comes later is lost, and nothing is learnt sooner. If you do not know, "
    'take "1 day".'
)


@dataclass(frozen=True)
class WorkerSettings:
    """All public. window, delay: seconds; window is 0 until it is known. ages: (step, seconds): how old the last choice
    of a step is when its release is visible, from that step on; what was shown does not change when window or delay do.
    holdout_ended: the last number with a group, where a holdout has ended."""

    pending: int
    delay: float
    default: float | None
    window: float
    actions: tuple[Declared, ...] = ()
    ages: tuple[tuple[int, float], ...] = ()
    holdout_ended: int | None = None

    def age(self, step: int) -> float:
        return next((age for since, age in reversed(self.ages) if since <= step), self.window + self.delay)


WORKER_SETTINGS = [field.name for field in fields(WorkerSettings)]


def checked(algorithm: OnePass, *, pending: int, delay: float | str) -> WorkerSettings:
    """As one worker is opened with; ValueError."""
    delay = durations.seconds(delay, "delay")
    checks.non_negative(delay=delay)
    if 0 < delay < SHORTEST:
        raise ValueError(f"Expected delay to be 0 or at least {SHORTEST:g} seconds, got {delay:g}.")
    checks.positive_int(pending=pending)
    window, default = algorithm.plan.reward.window, algorithm.plan.reward.default
    if window is not None and not isinstance(window, str):
        raise ValueError(f'Expected a window that is a time, as "1 hour", on a database, got {window!r} choices.')
    lasts = 0.0
    if window is not None:
        lasts = durations.seconds(window, "window")
        checks.positive(window=lasts)
    return WorkerSettings(int(pending), float(delay), default, lasts)


def recorded(head: Head, row: BanditRow) -> tuple[Declared, ...]:
    """The actions of a bandit, as far as it is known."""
    recorded_actions = json.loads(head.settings or "{}").get("actions")
    return made_with(row) if recorded_actions is None else actions.read(recorded_actions)


def inherited(head: Head) -> str:
    """The settings of a bandit for the one that takes its place: all but those whose numbers begin anew."""
    found = json.loads(head.settings or "{}")
    kept = {name: value for name, value in found.items() if name not in COUNTED}
    if found.get("holdout_ended") is not None:
        kept["holdout_ended"] = 0
    return json.dumps(kept, sort_keys=True)


class SharedSettings:
    """The settings that one worker knows, and the validator for them."""

    def __init__(self, given: WorkerSettings, algorithm: OnePass) -> None:
        self.now, self._algorithm, self._schema = given, algorithm, algorithm.plan.features
        self._text, self.ended = "", False
        self.validator = Validator.of(algorithm)
        self.assignment: Assignment | None = None  # who plays which number, where there is a holdout

    @property
    def text(self) -> str:
        """As the database has them."""
        return self._text

    @property
    def schema(self) -> Schema | None:
        return self.validator.schema

    def begin(self, store: BanditStore) -> None:
        """The actions, as they will be when `decide` is called; BadState if those that were declared before are not
        among them."""
        if self._algorithm.holdout is not None:
            self.assignment = Assignment(self._algorithm.holdout, store.groups)
        with store.database.transaction() as run:
            self._declare(rows.head(run, store.uid), store)

    def decide(self, store: BanditStore, at: float) -> None:
        """The given settings, for everybody. A bandit that has ended keeps what it has."""
        with store.database.transaction() as run:
            head = rows.head(run, store.uid, store.database.locking)
            self.ended = head.ended
            before = self._declare(head, store)
            old = json.loads(head.settings or "{}")
            if not self.now.window:
                self.now = replace(self.now, window=old.get("window") or 0.0)
            if not self.now.window and not self.ended:
                raise ValueError(NO_WINDOW)
            self._follow(replace(self.now, holdout_ended=old.get("holdout_ended")))
            self._check_arms()
            self.now = replace(self.now, ages=_ages(old.get("ages"), head, self.now.window + self.now.delay))
            text = json.dumps(asdict(self.now), sort_keys=True)
            if head.settings != text and not head.ended:
                rows.settle(run, store.uid, text)
                new = json.loads(text)
                names = ", ".join(name for name in new if name not in COUNTED and old.get(name) != new[name])
                if names and old:  # it is not new
                    rows.event(run, store.uid, at, f"settings changed for all workers: {names}")
                for what in actions.events(before, self.now.actions):
                    rows.event(run, store.uid, at, what)
        self._text = text

    def end_experiment(self, store: BanditStore, at: float) -> None:
        """For everybody, and for good. Nobody believes it before it is committed."""
        assert self.assignment is not None
        with store.database.transaction() as run:
            head = rows.head(run, store.uid, store.database.locking)
            self.follow(head)
            if self.assignment.ended is not None:
                raise ValueError(OVER)
            now = replace(self.now, holdout_ended=self.assignment.end_after(head.choices))
            rows.settle(run, store.uid, json.dumps(asdict(now), sort_keys=True))
            rows.event(run, store.uid, at, f"holdout ended: the last of its choices is {now.holdout_ended}")
        with store.database.transaction() as run:
            self.follow(rows.head(run, store.uid))

    def _check_arms(self) -> None:
        """ValueError where requests could not offer what a holdout plays."""
        holdout = self._algorithm.holdout
        if holdout is not None and self.now.holdout_ended is None:
            gone = {one.name for one in self.now.actions if one.until is not None}
            if gone & {holdout.action, *holdout.actions}:
                raise ValueError(RETIRED)

    def _declare(self, head: Head, store: BanditStore) -> tuple[Declared, ...]:
        """Takes over the given actions, and returns those before."""
        before = recorded(head, store.bandit)
        new = before if head.ended else actions.changed(before, self._schema, head.choices)
        self._follow(replace(self.now, actions=new))
        return before

    def follow(self, head: Head) -> WorkerSettings:
        """As they are in that row; Retired if the bandit has ended."""
        self.ended = head.ended
        self.at_work()
        if head.settings is not None and head.settings != self._text:
            found = json.loads(head.settings)
            now = replace(self.now, **{name: found[name] for name in WORKER_SETTINGS if name in found})
            self._follow(replace(now, actions=actions.read(found.get("actions") or ()), ages=_read(found.get("ages"))))
            self._text = head.settings
        return self.now

    def _follow(self, now: WorkerSettings) -> None:
        self.now, self.validator = now, Validator.of(self._algorithm, now.actions)
        if self.assignment is not None:
            self.assignment.ended = now.holdout_ended

    def at_work(self) -> None:
        if self.ended:
            raise Retired("Expected a bandit that is at work, got one that was retired.")


def _read(ages: Any) -> tuple[tuple[int, float], ...]:
    return tuple((int(step), float(age)) for step, age in ages or ())


def _ages(recorded: Any, head: Head, age: float) -> tuple[tuple[int, float], ...]:
    """Those on record, and from the open step on this one, if it is another."""
    before = _read(recorded)
    if not before:
        return ((0, age),)
    if head.ended or before[-1][1] == age:
        return before
    return *(one for one in before if one[0] < head.step), (head.step, age)
