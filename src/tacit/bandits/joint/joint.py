"""A bandit in memory whose algorithm is a value: what choices, rewards and steps do to its state.
JointGLM is settings of it."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit import checks
from tacit.algorithms import forgetting
from tacit.algorithms.forgetting import FARTHEST, steps_before
from tacit.algorithms.sides import Sides
from tacit.algorithms.weeks import Weeks, fewest_leaves
from tacit.bandits.joint.continual import ContinualBandit
from tacit.bandits.joint.summing import Summer
from tacit.bandits.snapshot import decoded, encoded
from tacit.core import accounting
from tacit.core.choices import Index, check_missing_as
from tacit.core.claim import Counts, Sources, claimed
from tacit.core.door import Door
from tacit.core.fold import Fold
from tacit.core.onepass import OnePass
from tacit.core.persons import Persons
from tacit.core.plan import Limits, Plan
from tacit.data import Array, Integers, Raw, Released
from tacit.features.schema import Schema
from tacit.kernels.block import Block
from tacit.kernels.continual import JointState
from tacit.kernels.rounds import BOUNDARY, CHOICES, ENTERED, Held, Schedule
from tacit.lock import locked, owner_only
from tacit.mechanisms import entering, prefix
from tacit.mechanisms.continual import RowAdder
from tacit.mechanisms.entering import Entry
from tacit.mechanisms.grid import Grid
from tacit.mechanisms.prefix import PrefixSums
from tacit.model.arms import Arms
from tacit.model.chances import Later
from tacit.models.beside import Beside
from tacit.models.protocol import Model
from tacit.privacy.certificate import Certificate
from tacit.privacy.ledger import Release
from tacit.privacy.noise import generator_of

OWN = ("source", "policy", "pending", "hold", "missing_as")  # settings that no plan depends on
LENGTHS = ("week", "forget")  # settings that may be given in days


@dataclass(kw_only=True, eq=False)
class Joint(ContinualBandit):
    """hold: a choice enters the sums once so many later ones have been made, with the reward that came by then; one
    that comes later never counts; in a batch (`choose_many`) each row is a choice that is later than those before it.
    Without hold, a reward joins the step that is open when it comes. missing_as: the reward of a choice that has none
    by then; without, it teaches nothing.
    week: max_rounds_per_person are those of a week of so many choices, or "7 days" of `per_day` choices that are
    expected, and so is the claim."""

    hold: int | None = None
    missing_as: float | None = None
    week: float | str | None = None
    per_day: float | None = None
    algorithm: OnePass = field(init=False, repr=False)
    _state: JointState[PrefixSums] = field(init=False, repr=False)
    _fold: Fold = field(init=False, repr=False)
    _model: Model[Any] = field(init=False, repr=False)
    _sides: Sides | None = field(default=None, init=False, repr=False)
    _adder: tuple[Any, Any] = field(default=(None, None), init=False, repr=False)  # an estimate, and its Adder

    # settings

    def _check(self) -> None:
        lengths = {name: getattr(self, name) for name in LENGTHS if hasattr(self, name)}
        if self.per_day is not None and not any(isinstance(length, str) for length in lengths.values()):
            names = " or ".join(lengths)
            raise ValueError(f'Expected per_day with {names} in days, as "30 days", got it without.')
        for name, length in lengths.items():
            if length is not None:
                setattr(self, name, forgetting.rounds(length, self.per_day, name))
        self.per_day = None
        super()._check()
        if self.week is not None and self.max_rounds_per_person is None:
            raise ValueError("Expected max_rounds_per_person with week, got none.")
        if self.missing_as is not None:
            if self.hold is None:
                raise ValueError("Expected hold= with missing_as=, the later choices after which a reward is missing.")
            check_missing_as(self.missing_as, *self.rewards)
        if self.hold is not None:
            if isinstance(self.hold, str):
                raise ValueError("Expected hold to be a number of later choices, got a text: times are for Stored.")
            checks.positive_int(hold=self.hold)
            if self.hold >= self.pending:
                raise ValueError(f"Expected hold below pending = {self.pending}, got {self.hold}.")
            self.hold = int(self.hold)

    @property
    def _week(self) -> float | None:
        assert not isinstance(self.week, str)
        return self.week

    def _limits(self) -> Persons:
        most, week = self.max_rounds_per_person, self._week
        weeks = None if week is None or most is None else Weeks(self._schedule, week)
        return Persons(most, weeks=weeks, later=True)

    def _columns(self, steps: Schedule) -> dict[str, int]:
        """How many leaves a week has at least, for the mechanism: see mechanisms.together."""
        return {} if self._week is None else {"apart": fewest_leaves(steps, self._week, self.horizon or FARTHEST)}

    @property
    def _bound(self) -> float:
        """How far one person moves the sums, for each unit of the column norm."""
        return self._learnt.sums.sensitivity

    @property
    def _learnt(self) -> Model[Any]:
        """The model that learns, without what is beside it."""
        return self._model.inner if isinstance(self._model, Beside) else self._model

    @property
    def contribution(self) -> Any:
        """What a person adds to what is learnt."""
        return self._learnt.contribution  # type: ignore[attr-defined]

    @property
    def _scale(self) -> float:
        """Of the curvature; 0 where there is none."""
        return float(self.contribution.scale)

    @property
    def _sensitivity(self) -> float:
        """Of both parts as one vector."""
        return self._bound if self._sides is None else float(np.hypot(self._bound, self._sides.sensitivity))

    def _plan(self, statistic: str, *numbers: float, caveats: tuple[str, ...] = ()) -> Plan:
        """statistic: what is released, in words, with {} for how many numbers. numbers: beside the mechanism's, what
        noise is drawn with."""
        most, mechanism, size, sides = self.max_rounds_per_person, self.mechanism, self._learnt.sums.size, self._sides
        words = statistic.format(accounting.numbers(size, self._blocks))
        parts = size, self._bound, sides, most or 1, self._relation
        releases = functools.partial(accounting.entries, words, mechanism, *parts)
        limits = Limits(most, self._week)
        claim = releases(mechanism.leaves), mechanism, limits, self.horizon or FARTHEST
        return Plan(
            name=type(self).__name__,
            settings={f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init and f.name not in OWN},
            budget=self.budget,
            dim=self.dim,
            blocks=self._blocks,
            width=self._width,
            row=self._width + (0 if sides is None else sides.kept),
            rewards=self.rewards,
            radius=self.radius,
            horizon=self.horizon,
            schedule=self._schedule,
            mechanism=mechanism,
            limits=limits,
            features=self.features,
            sides=sides,
            relation=self._relation,
            numbers=(mechanism.step, mechanism.sigma, mechanism.column_norm, *numbers),
            caveats=caveats,
            releases=releases,
            person=functools.partial(accounting.person, *claim),
        )

    def _plan_numbers(self) -> list[float]:
        return list(self.algorithm.plan.numbers)

    def _releases(self, steps: int) -> tuple[Release, ...]:
        return self.algorithm.plan.releases(steps)

    # estimates

    def init(self) -> JointState[PrefixSums]:
        self._fold = Fold(self.algorithm, self._declared)
        arrays = self._fold.estimate.arrays
        return JointState(self._opened(3), PrefixSums(self.mechanism, self.source), arrays)

    @property
    def _estimate(self) -> Any:
        """What choices are made by now."""
        return self._fold.estimate

    @property
    def _live(self) -> Integers:
        """The blocks that the estimate is of."""
        return self._fold.live

    def _show(self) -> None:
        """From now on choices are made by the fold's estimate."""
        self._state = self._state._replace(estimate=self._fold.estimate.arrays)

    def _update(self, released: Released) -> None:
        steps, entries = self._steps, self._entries
        chosen = None if self.hold is None else min(steps - 1, steps_before(entries - self.hold, self._schedule))
        self._fold.follow(released, steps, entries, self._declared, chosen)
        self._fold.offer(self._declared)
        self._show()

    @locked
    def _redeclare(self, change: Callable[[Schema], Schema]) -> None:
        super()._redeclare(change)
        self._fold.offer(self._declared)
        self._show()

    def _resumed(self, last: Any = None) -> None:
        """The fold goes on from the arrays that are in the state."""
        state, steps = self._state, self._steps
        at = self.algorithm.of_arrays(state.estimate, steps)
        self._fold.resume(state.prefix.released, steps, self._entries, at, last)

    def _saved(self) -> dict[str, Any]:
        fold = self._fold
        last = () if fold.last is fold.estimate else fold.last.arrays
        return super()._saved() | {"last": [encoded(part) for part in last]}

    def _resume(self, body: dict[str, Any], where: str) -> None:
        super()._resume(body, where)
        last = None
        if body["last"]:
            last = self.algorithm.of_arrays(type(self._state.estimate)(*map(decoded, body["last"])), self._steps)
        self._resumed(last)

    # choices

    @functools.cached_property
    def _door(self) -> Door:
        return Door.of(self.algorithm, self._declared)

    def _room(self, count: int, *, at_once: int = 1) -> None:
        super()._room(count)
        if self.hold is not None and at_once > self.pending - self.hold:
            most = self.pending - self.hold
            raise ValueError(f"Expected at most {most} rows at once (pending - hold), got {at_once}.")

    def _pick(self, features: Array) -> Index:
        policy: Any = getattr(self, "policy", None)
        return self.algorithm.pick(self._estimate, features, policy)

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        algorithm, now = self.algorithm, self._estimate
        return Later(lambda: algorithm.chance(now, features, index))

    @property
    def _row_size(self) -> int:
        return self.algorithm.plan.row

    def _row(self, offered: Array, picked: int, place: int, name: str | None) -> Raw[Array]:
        return self.algorithm.row(offered, picked, place, name, self._door.names)

    def _logged_row(self, x: Array) -> Raw[Array]:
        return self.algorithm.logged(x)

    # rewards and entries

    def _observed(self, ticket: int, reward: Raw[float]) -> bool:
        """With hold, a reward is only written down."""
        if self.hold is None:
            return super()._observed(ticket, reward)
        if self._tickets.number(ticket, self.choices) <= self.choices - self.hold:
            return False
        self._tickets.write(self._tickets.waiting(ticket, self.choices), reward)
        return True

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        self._state.prefix.add(entering.one(row, reward), self._adds())

    def _adds(self) -> RowAdder:
        """What adds contributions at the present estimate."""
        now = self._estimate
        if self._adder[0] is not now:  # once a release, not once a reward
            self._adder = now, self.algorithm.adder(now)
        adder: RowAdder = self._adder[1]
        return adder

    @property
    def _entries(self) -> int:
        return int(self._state.counts[CHOICES if self.hold is None else ENTERED])

    def _step(self) -> None:
        """With hold: choices whose deadline has passed enter, and each step that they fill is closed."""
        if self._outdated:  # since a choice that was interrupted: what enters now does so at the new estimate
            self._advance()
        self._enter()
        while self._due:
            super()._step()
            self._enter()

    def _enter(self) -> None:
        """They join the open step, up to its end. Who is interrupted finds that all of them have or none; a person's
        round may have been counted twice then, never too rarely."""
        if self.hold is None:
            return
        state = self._state
        stop = min(int(state.counts[CHOICES]) - self.hold, int(state.counts[BOUNDARY]))
        numbers = range(int(state.counts[ENTERED]) + 1, stop + 1)
        if not numbers:
            return
        rows = entering.enter(
            [self._entry(number) for number in numbers],
            size=self._row_size,
            missing_as=self.missing_as,
            once_more=lambda person: self._persons.enters(person, self._steps),
            sides=self._sides_of(numbers),
        )
        state.prefix.enter(rows, self._adds(), self._held(), state.counts[ENTERED : ENTERED + 1])

    def _sides_of(self, numbers: range) -> Integers | None:
        return None  # those of an experiment, if there is one

    def _held(self) -> Raw[Held]:
        return self._tickets.held(self.hold or 0, np.nan if self.missing_as is None else float(self.missing_as))

    def _entry(self, number: int) -> Entry:
        """The choice of that number, at its deadline."""
        return self._tickets.entry(number)

    def _summer(self) -> Summer | None:
        if self.hold is not None or not isinstance(self.mechanism, Grid):
            return None
        return Summer(self._adds(), self.mechanism.size, self.mechanism.cell, self.mechanism.longest)

    # simulation

    def _play(self, block: Block) -> None:
        loop, waits = self.algorithm.loop, self.hold is not None
        other = self._fold.last is not self._fold.estimate  # than that of the last release is shown
        if loop is None or other or (waits and self._persons.most is not None):  # loops count nobody
            super()._play(block)
            return
        if waits and len(block.noise):
            self._step()  # all that is due: the loop lets one choice enter with each that is made
        arrays = self._state.estimate
        self._state = self._state._replace(estimate=type(arrays)(*(part.copy() for part in arrays)))  # others hold them
        for part in self._parts(block) if loop.by_step else [block]:
            given = generator_of(self.source), part, self._held(), self._state, self._live
            prefix.run(loop.play, getattr(self, "policy", None), *given)
        self._resumed()

    def _parts(self, block: Block) -> Iterator[Block]:
        """The rounds of a block, those of one step after the other: the estimate that follows is made here."""
        start, count = 0, len(block.noise)
        while start < count:
            self._step()
            stop = start + max(1, int(self._state.counts[BOUNDARY]) - self._entries)
            parts: Any = (part if len(part) != count else part[start:stop] for part in block)
            yield Block(*parts)
            start = stop

    # what may be shown

    @property
    def privacy(self) -> Certificate:
        given, counts = Sources(self.source, self._policy_given), Counts(self.choices, self._logged, self._steps)
        return claimed(self.algorithm, given, counts, self._declared)

    @owner_only
    def interval(
        self, arms: Arms | Mapping[str, Any], *, actions: Any = None, level: float = 0.9
    ) -> list[tuple[float, float]]:
        """For each arm, given as in `choose`, an interval that holds its mean reward with at least that probability,
        from released sums only. What is proven and what is measured of it: see the algorithm."""
        checks.probability(level=level)
        features = self._door.offer(arms, None, actions).features
        _, low, high = self.algorithm.intervals(self._estimate, features, level)
        return list(zip(low.tolist(), high.tolist(), strict=True))

    @property
    @owner_only
    def theta(self) -> Array:
        """The estimate that choices are made by: a function of released sums."""
        return self.algorithm.theta(self._estimate)
