"""A bandit in memory: `Bandit(JointGLM(...))`."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator, default_rng

from reticent import checks
from reticent.algorithms.schedules import Weeks
from reticent.algorithms.trial_sums import TrialSums
from reticent.core import actions as declared_actions
from reticent.core import compiling, logs, repeated, snapshot
from reticent.core.actions import Declared
from reticent.core.assignment import LOGS, NONE, OVER, RETIRED, Assignment, new_key
from reticent.core.claim import Counts, Sources, claimed
from reticent.core.memory import Memory, Resident, Sums
from reticent.core.onepass import OnePass
from reticent.core.reward import window_in_choices
from reticent.core.snapshot import decoded, encoded
from reticent.core.validation import Persons, Validator
from reticent.data import Array
from reticent.errors import BadState
from reticent.experiment import Algorithm, Experiment
from reticent.features import frames
from reticent.features.schema import Schema
from reticent.flat import fitting, flat, named
from reticent.joint import JointGLM
from reticent.kernels.rounds import BOUNDARY, CHOICES
from reticent.mechanisms import leaves
from reticent.mechanisms.entering import NOBODY
from reticent.model.arms import Arms
from reticent.model.holdout import Holdout
from reticent.privacy.certificate import Certificate
from reticent.privacy.noise import Secure, Simulated, policy_of
from reticent.process import locked, owner_only

WINDOW = 8  # choices, of a twin in an experiment


class Bandit(Resident):
    """`Bandit(JointGLM(...))`, or of an `Experiment`, in memory. seed: choices and noise are those of this seed, for
    experiments: repeatable, and not private. pending: how many choices may wait for a reward. source, policy: in place
    of a seed, where noise is from (Secure or Simulated), and what draws of choices are from."""

    learns: ClassVar[type[Sums]] = Sums

    def __init__(
        self,
        algorithm: Algorithm,
        seed: int | None = None,
        *,
        pending: int = 100_000,
        source: Secure | Simulated | None = None,
        policy: Generator | None = None,
    ) -> None:
        source = _source(seed, source)
        if not isinstance(policy, Generator | None):
            raise ValueError(f"Expected policy to be None or a NumPy Generator, got {type(policy).__name__}.")
        checks.positive_int(pending=pending)
        if not isinstance(algorithm, JointGLM | Experiment):
            raise ValueError(f"Expected an algorithm, e.g. JointGLM(...), got {type(algorithm).__name__}.")
        self.algorithm = algorithm
        self.source, self.policy_given = source, policy is not None
        self.one_pass: OnePass = algorithm.one_pass(exact=source.private)
        plan = self.plan = self.one_pass.plan
        window = window_in_choices(plan.reward, plan.per_day)
        if window is not None and window >= pending:
            raise ValueError(f"Expected a window below pending = {pending} choices, got {window}.")
        holdout = self.one_pass.holdout
        policy = policy_of(source) if policy is None else policy
        key = None if holdout is None else new_key(policy if self.policy_given else getattr(source, "policy", None))
        most, week = plan.limits.most, plan.limits.week
        weeks = None if most is None or week is None else Weeks(plan.schedule, week)
        declared = declared_actions.of(plan.features)
        self.sums = self.learns(self.one_pass, source, policy, window=window, declared=declared)
        memory = Memory(
            self.sums,
            Validator.of(self.one_pass),
            pending=int(pending),
            size=plan.row,
            persons=Persons(most, weeks=weeks, later=True),
            window=window,
            default=plan.reward.default,
        )
        if holdout is not None and key is not None:
            memory.assignment = Assignment(holdout, key)
        self._reside(memory, private=source.private)

    # what may be shown

    @property
    def privacy(self) -> Certificate:
        """The claim, and what it rests on."""
        counts = Counts(self.choices, self.memory.logged, self.sums.steps)
        return claimed(self.one_pass, Sources(self.source, self.policy_given), counts, self.sums.declared)

    @owner_only
    def interval(
        self, arms: Arms | Mapping[str, Any], *, actions: Any = None, level: float = 0.9
    ) -> list[tuple[float, float]]:
        """For each arm, given as in `choose`, an interval that holds its mean reward with at least that probability,
        from released sums only. What is proven and what is measured of it: see the algorithm."""
        checks.probability(level=level)
        features = self.memory.validator.offer(arms, None, actions).features
        _, low, high = self.one_pass.intervals(self.sums.estimator.estimate, features, level)
        return list(zip(low.tolist(), high.tolist(), strict=True))

    @property
    @owner_only
    def theta(self) -> Array:
        """The estimate that choices are made by: a function of released sums."""
        return self.one_pass.theta(self.sums.estimator.estimate)

    # actions

    @property
    def features(self) -> Schema | None:
        """The schema, with the actions that there are now."""
        return self.memory.validator.schema

    @property
    def actions(self) -> tuple[Declared, ...]:
        """Those that the schema names, with the numbers of choices since and until when each is offered. Public."""
        return self.sums.declared

    def add_action(self, name: str) -> None:
        """From now on that action may be offered, too, in the next of the schema's `max_actions` places."""
        self._redeclare(lambda schema: schema.with_action(name))

    def retire_action(self, name: str) -> None:
        """From now on that action is not offered any more, for good. Choices that were made may still be answered."""
        assignment = self.memory.assignment
        if assignment is not None and assignment.ended is None and name in assignment.named:
            raise ValueError(RETIRED)
        self._redeclare(lambda schema: schema.without_action(name))

    @locked
    def _redeclare(self, change: Callable[[Schema], Schema]) -> None:
        """At the present number of choices."""
        self._own()
        schema = self.features
        if schema is None:
            raise ValueError("Expected features=Schema(...), which names actions, got none.")
        self._declare(declared_actions.changed(self.actions, change(schema), self.choices))
        self.sums.offer(self.sums.declared)

    def _declare(self, declared: tuple[Declared, ...]) -> None:
        """What may be asked for."""
        self.sums.declared = declared
        self.memory.validator = Validator.of(self.one_pass, declared)

    # logs

    @locked
    def learn_log(self, table: Any, *, actions: Any = None) -> Mapping[int, str]:
        """Learn from logged rounds whose people are protected by the same budget, before or between live choices: each
        row is a choice that was made elsewhere, and its reward. Returns row -> reason for those that were refused;
        ValueError, and nothing is learnt, if more than a tenth would be for what is in them.

        table: a frame or a mapping of columns: `reward` (none: it never came), `action`, `person` where the budget is a
        person's, and the features, as fields of the schema, x0, x1, ... or `arms` (docs/coming-from.md). actions: their
        names in the order of their coordinates, or what the schema takes. A row must be learnt once: the same log is
        refused a second time, and on a database `Stored.learn_log` goes on after a crash."""
        memory, validator = self.memory, self.memory.validator
        if memory.assignment is not None:
            raise ValueError(LOGS)
        if not isinstance(table, logs.LongLog):
            table = frames.columns(table)  # an Arrow stream is read once
        else:
            logs.check_columns(validator, table.fields)
            anywhere = memory.persons.most is None and self.sums.summer is not None
            sums = table.sums(validator, actions, anywhere=anywhere)
            if sums is not None:
                logs.check_sums(sums, table, validator.rewards)
                self._begin(table, table.count)
                return self._learn_steps(table, sums)
        return self._learn_rows(table, actions)

    def _begin(self, table: Any, count: int) -> None:
        """HorizonReached or ValueError for a log that has no room or was learnt before. From now on it was: also if
        this call is interrupted."""
        self.room(count)
        memory = self.memory
        digest = repeated.digest(memory.validator, table, memory.key)
        if digest is not None:
            if digest in memory.logs:
                raise ValueError(repeated.TWICE)
            memory.logs |= {digest}

    def _learn_rows(self, table: Any, actions: Any) -> dict[int, str]:
        """Row -> reason for those that were refused."""
        memory = self.memory
        count, rows_from = logs.source(memory.validator, table, actions)
        logs.check_rows(rows_from(0), memory.validator.rewards, memory.persons.digest)
        self._begin(table, count)
        refused = {}
        for row, logged in enumerate(rows_from(0)):
            self.tend()
            found = self.curator.logged(logged, memory.size)
            memory.logged += 1
            if found.problem is not None:
                refused[row] = found.problem
            if found.void:
                memory.void()
                continue
            number = memory.keep(found.row, NOBODY if found.person is None else memory.persons.count(found.person))
            if found.reward is not None:
                memory.write(number, found.reward)
        return refused

    def _learn_steps(self, log: logs.LongLog, sums: logs.LogSums) -> dict[int, str]:
        """Step by step: the rows of a step are summed at the estimate that it opened with, wherever that is done."""
        refused: dict[int, str] = {}
        first, memory = 0, self.memory
        while first < log.count:
            self.tend()
            counts = self.sums.counts
            count = min(log.count - first, int(counts[BOUNDARY] - counts[CHOICES]))
            summer = self.sums.summer
            assert summer is not None
            total, wrong = sums(first, count, summer)
            self.sums.state.prefix.join(total)  # a row counts for no more than the bandit learns
            counts[CHOICES] += count
            memory.logged += count
            refused |= logs.reasons(wrong, first, memory.validator.rewards)
            first += count
        return refused

    # an experiment

    @locked
    def end_experiment(self) -> None:
        """Its holdout ends, for good: numbers after the present block are all the bandit's. The last interval before
        stands."""
        self._own()
        assignment = self.memory.assignment
        if assignment is None:
            raise ValueError(NONE)
        if assignment.ended is not None:
            raise ValueError(OVER)
        assignment.ended = assignment.end_after(self.choices)

    @property
    @owner_only
    def trial_sums(self) -> TrialSums | None:
        """What the experiment has released so far, as sums over people; None without one."""
        assignment = self.memory.assignment
        if assignment is None:
            return None
        return self.one_pass.trial_sums(self.sums.estimator.looks, assignment.counts, assignment.ended)

    # files and compiled code

    def warm_up(self) -> float:
        """Compile all that choices, rewards and releases need: once on a machine, for seconds, and not in somebody's
        request. Nothing of this bandit changes and nothing is spent. The log "reticent" says so; returns the
        seconds."""
        return warm_up(self.algorithm, private=self.source.private)

    def _forked(self) -> None:
        if not self.policy_given:
            self.sums.draw_from(default_rng())  # its own draws, and not its siblings'

    def _saved(self) -> dict[str, Any]:
        if type(self.algorithm) not in (JointGLM, Experiment):
            name = type(self.algorithm).__name__
            raise ValueError(f"Expected JointGLM or an Experiment in what is saved, got a class of your own, {name}.")
        sums, assignment = self.sums, self.memory.assignment
        last = None if sums.estimator.last is sums.estimator.estimate else sums.estimator.last.arrays
        experiment = None
        if assignment is not None:
            looks = encoded(np.array(sums.estimator.looks))
            experiment = {"key": assignment.key.hex(), "ended": assignment.ended, "looks": looks}
        return super()._saved() | {
            "settings": {name: encoded(value) for name, value in flat(self.algorithm).items()},
            "source": encoded(self.source),
            "policy": encoded(sums.policy),
            "policy given": self.policy_given,
            "pending": self.memory.pending,
            "plan": encoded(self.plan.numbers),
            "state": snapshot.written(sums.state),
            "actions": declared_actions.written(self.actions),
            "last": [] if last is None else snapshot.written(last),
            "experiment": experiment,
        }

    @classmethod
    def _restored(cls, body: dict[str, Any], where: str) -> Self:
        try:
            algorithm = named(**{name: decoded(value) for name, value in body["settings"].items()})
            made = cls(algorithm, pending=body["pending"], source=decoded(body["source"]))
        except (TypeError, ValueError):
            raise BadState(f"Expected settings of a {cls.__name__} in {where}, got others.") from None
        if list(decoded(body["plan"])) != list(made.plan.numbers):
            raise BadState(f"Expected {where} to have the noise that its settings give now, got another calibration.")
        made._wait_again(body)
        sums, experiment = made.sums, body["experiment"]
        if not snapshot.put(sums.state, body["state"]):
            raise BadState(f"Expected the state of a {cls.__name__} in {where}, of its size, got another.")
        sums.draw_from(decoded(body["policy"]))  # drawing the initial state may have moved it
        made.policy_given = body["policy given"]
        if body["actions"]:
            made._declare(declared_actions.read(body["actions"]))
        sums.resume(list(map(decoded, body["last"])) or None)
        if experiment is not None:
            assert made.memory.assignment is not None
            key, ended = bytes.fromhex(experiment["key"]), experiment["ended"]
            made.memory.assignment = Assignment(made.memory.assignment.holdout, key, ended=ended)
            sums.estimator.looks = [leaves.read(look.tobytes(), look.size) for look in decoded(experiment["looks"])]
        return made

    def __repr__(self) -> str:
        return f"<Bandit({self.algorithm!r}): {self.choices} choices, {self.sums.steps} releases>"


def warm_up(algorithm: Algorithm, *, private: bool = True) -> float:
    """The same for a bandit that is still to be made, here or on a database. private: with secure noise."""
    of = algorithm.one_pass(exact=private)
    return compiling.timed(of.plan.name, lambda: _compile_more(algorithm, of, private=private))


def _compile_more(algorithm: Algorithm, of: OnePass, *, private: bool) -> None:
    """With vectors, but for what is made by the schema: sums by fields, or a function's model."""
    plan, given = of.plan, flat(algorithm)
    schema = plan.features if of.by_fields or callable(given["model"]) else None
    settings = fitting(given | {"window": None, "default": None, "prior": None, "rows": None})
    settings |= {"horizon": None, "per_day": settings["per_day"] if _timed(settings) else None}
    settings |= {"features": plan.dim if schema is None else schema}
    if settings["holdout"] is not None:
        settings |= {"window": WINDOW, "default": plan.reward.range[0]}
        settings |= {"holdout": Holdout(policy="uniform", share=0.5)}
    source = Secure() if private else Simulated(0)
    twin = Bandit(named(**settings), pending=compiling.PENDING, source=source, policy=default_rng(0))
    compiling.play_made_up(
        twin,
        width=twin.memory.validator.width,
        rewards=plan.reward.range,
        rounds=min(int(plan.schedule.first) + compiling.AFTER, compiling.MOST),
        people=None if schema is None else dict.fromkeys(schema.context),
        limited=plan.limits.most is not None,
    )


def _timed(settings: Mapping[str, Any]) -> bool:
    """Whether some length among them is a time."""
    unit = settings["budget"].unit
    return any(isinstance(length, str) for length in (settings["forget"], unit and unit.per))


def _source(seed: int | None, source: Any) -> Any:
    if seed is not None and source is not None:
        raise ValueError("Expected seed or source, got both.")
    if seed is not None:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ValueError(f"Expected seed to be a whole number of at least 0, got {seed!r}.")
        return Simulated(seed)
    if source is None:
        return Secure()
    if isinstance(source, type) or not isinstance(getattr(source, "private", None), bool):
        found = f"the class {source.__name__}" if isinstance(source, type) else type(source).__name__
        raise ValueError(f"Expected source to be Secure() or Simulated(seed), got {found}.")
    return source
