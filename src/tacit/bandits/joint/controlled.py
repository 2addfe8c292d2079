"""A bandit with a control group: some numbers of choices are played by others, and their rewards are summed apart
(algorithms.sides)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.algorithms.chances import mixed
from tacit.algorithms.sides import Sides
from tacit.algorithms.trial_sums import TrialSums
from tacit.bandits.joint.joint import Joint
from tacit.bandits.snapshot import decoded, encoded
from tacit.core.assignment import NEEDS_GIVEN, Assignment, new_key
from tacit.core.choices import Choice, Choices
from tacit.core.door import Offer
from tacit.core.persons import Person
from tacit.data import Array, Integers
from tacit.kernels.block import Block
from tacit.kernels.rounds import CHOICES, Schedule
from tacit.lock import locked, owner_only
from tacit.mechanisms import leaves
from tacit.model.arms import Arms
from tacit.model.chances import Later
from tacit.model.control import Control
from tacit.models.beside import Beside
from tacit.models.protocol import Model
from tacit.trials import trial
from tacit.trials.trial import Trial

HELD = (
    "Expected hold and missing_as with control: every choice counts once, at a public time, with the reward that came "
    "by then or with missing_as, got {}."
)
OVER = "Expected a control group that goes on, got one that has ended."
NONE = "Expected a bandit with control=Control(...), got one without."
LOGS = "Expected no log with control: its rows were played by nobody of the experiment, got one."
RETIRED = "Expected the arms of the control among the actions that are offered, got a retired one: end_control first."
UNKNOWN = (
    "Expected a discount whose mechanism keeps all of its steps with control, since people so far are summed, got one "
    "that lets the oldest go."
)


@dataclass(kw_only=True, eq=False)
class Controlled(Joint):
    """control: a control group and its settings; the sums of the experiment are in `trial_sums`."""

    control: Control | None = None
    _assignment: Assignment | None = field(default=None, init=False, repr=False)  # SECRET: its key

    # settings

    def _check_control(self) -> None:
        """ValueError for settings that do not go with a control group."""
        if self.control is None:
            return
        if not isinstance(self.control, Control):
            raise ValueError(f"Expected control to be None or Control(...), got {type(self.control).__name__}.")
        beside = {
            "forget, since people so far are summed,": getattr(self, "forget", None) is not None,
            "week, which a person's numbers on both sides would need noise of their own for,": self.week is not None,
            "max_rounds_per_person, since which numbers count would be private,": self.max_rounds_per_person
            is not None,
        }
        for what, there in beside.items():
            if there:
                raise ValueError(f"Expected no {what} with control, got both.")
        if (self.hold is None) != (self.missing_as is None):
            raise ValueError(HELD.format("one of them" if self.hold is not None else "missing_as alone"))
        named = () if self.features is None else self.features.actions
        arms = [arm for arm in (self.control.arm, *self.control.arms) if arm is not None]
        if named and not set(arms) <= set(named):
            raise ValueError("Expected arms of control that are actions of the features' schema, got others.")

    def _beside(self, model: Model[Any]) -> Model[Any]:
        """With the sums of the experiment, if there is one."""
        self._check_control()
        if self.control is None:
            return model
        self._model = model
        low, high = map(float, self.rewards)
        self._sides = Sides(self.control, low, high, self._bound, self._blocks > 1)
        return Beside(inner=model, sides=self._sides)

    def _in_blocks(self, steps: Schedule) -> Schedule:
        """Steps close where blocks of numbers do."""
        if self.control is None or self.control.assign == "coins":
            return steps
        return steps._replace(block=float(self.control.block))

    def _assign(self) -> None:
        """Once the mechanism and the policy's generator are there."""
        if self.control is not None:
            if self.mechanism.window < self.mechanism.leaves:
                raise ValueError(UNKNOWN)
            own = getattr(self, "policy", None) if self._policy_given else None
            generator = own or getattr(self.source, "policy", None)
            self._assignment = Assignment(self.control, new_key(generator))

    # choices

    @locked
    def choose(
        self,
        arms: Arms | Mapping[str, Any],
        *,
        actions: Any = None,
        available: npt.ArrayLike | None = None,
        person: Person | None = None,
        own: str | int | None = None,
    ) -> Choice:
        """As any bandit's. own: the caller's own choice, where the control plays that. With a control group a bad
        request has a number, too: else it would move everybody else's side."""
        if self._assignment is None:
            if own is not None:
                raise ValueError(NEEDS_GIVEN)
            return super().choose(arms, actions=actions, available=available, person=person)
        self._check_held()
        self._room(1)
        self._step()
        try:
            self._persons.digest(person)
            offer = self._door.offer(arms, available, actions)
            own_index = self._assignment.own(offer, own)
        except Exception:
            self._pick(np.zeros((1, 1, self._width)))  # the same draws, and the same work
            self._state.counts[CHOICES] += 1
            raise
        picked = int(self._pick(offer.arms[None])[0])
        return self._placed(offer, own_index, picked)

    @locked
    def choose_many(
        self,
        arms: Any,
        *,
        actions: Any = None,
        persons: Sequence[Person | None] | None = None,
        own: Sequence[str | int] | None = None,
    ) -> Choices:
        """As any bandit's. own: one for each row, where the control plays that."""
        if self._assignment is None:
            if own is not None:
                raise ValueError(NEEDS_GIVEN)
            return super().choose_many(arms, actions=actions, persons=persons)
        self._check_held()
        rows, problems, names = self._door.batch(arms, actions)
        count = len(rows)
        owned = [None] * count if own is None else list(own)
        if len(owned) != count:
            raise ValueError(f"Expected one own= for each of {count} rows, got {len(owned)}.")
        people = self._persons.check_batch(persons, count)
        if count:
            self._room(count, at_once=count)
            self._step()
        picks = [int(self._pick(row[None])[0]) for row in rows]
        index, ids = np.full(count, -1), np.zeros(count, np.int64)
        chances: list[Callable[[], float] | None] = [None] * count
        for i, row in enumerate(rows):
            offer = Offer(row, names, None)
            try:
                if problems[i] is not None:
                    raise ValueError(problems[i])
                self._persons.digest(people[i])
                own_index = self._assignment.own(offer, owned[i])
            except ValueError as error:
                problems[i] = str(error)
                self._state.counts[CHOICES] += 1
                continue
            made = self._placed(offer, own_index, picks[i])
            index[i], ids[i], chances[i] = made.index, made.id, made._propensity
        return Choices(index, ids, {i: problem for i, problem in enumerate(problems) if problem}, names, chances)

    def _placed(self, offer: Offer, own: int | None, picked: int) -> Choice:
        """The choice of the next number, for which the bandit picked that arm."""
        assert self._assignment is not None
        number = self.choices + 1
        index = self._assignment.played(number, offer, own, picked)
        algorithm, now, arms = self.algorithm, self._estimate, offer.arms
        parts = self._assignment.mixture(number, offer, own)
        place = offer.place(index)
        name = offer.name(place)
        ticket = self._ticket(self._row(arms, index, place, name))
        return Choice(
            place, name, ticket, Later(lambda: mixed(algorithm.chance(now, arms, index, chosen=False), index, parts))
        )

    def _by_side(self, arms: Array, picked: int) -> int:
        if self._assignment is None:
            return picked
        named = () if self.features is None or self._blocks == 1 else self.features.actions
        offer = Offer(arms, tuple(named[int(x[-1])] for x in arms) if named else None, None)
        return self._assignment.played(self.choices + 1, offer, self._assignment.own(offer, None), picked)

    def _play(self, block: Block) -> None:
        if self._assignment is not None:
            self._check_held()
        super()._play(block)

    def _check_held(self) -> None:
        if self.hold is None or self.missing_as is None:
            raise ValueError(HELD.format("neither"))

    def _begin(self, table: Any, count: int) -> None:
        if self.control is not None:
            raise ValueError(LOGS)
        super()._begin(table, count)

    def retire_action(self, name: str) -> None:
        going = self.control is not None and self._assignment is not None and self._assignment.ended is None
        if going and name in (self.control.arm, *self.control.arms):  # type: ignore[union-attr]
            raise ValueError(RETIRED)
        super().retire_action(name)

    # entries and releases

    def _sides_of(self, numbers: range) -> Integers | None:
        return None if self._assignment is None else self._assignment.sides(numbers)

    @locked
    def end_control(self) -> None:
        """The control group ends, for good: numbers after the present block are all the bandit's. The last interval
        before stands."""
        self._own()
        if self._assignment is None:
            raise ValueError(NONE)
        if self._assignment.ended is not None:
            raise ValueError(OVER)
        self._assignment.ended = self._assignment.end_after(self.choices)

    @property
    @owner_only
    def trial_sums(self) -> TrialSums | None:
        """What the experiment has released so far, as sums over people; None without a control group."""
        if self._assignment is None:
            return None
        out: TrialSums = self.algorithm.trial_sums(self._fold.looks, self._assignment.counts, self._assignment.ended)
        return out

    @property
    @owner_only
    def trial(self) -> Trial | None:
        """What the control group says, with intervals that hold at every look (tacit.trials), from released sums alone;
        None without one, and before the first look."""
        sums = self.trial_sums
        return None if sums is None else trial.trial(sums, self.horizon)

    # what a file has beside

    def _saved(self) -> dict[str, Any]:
        if self._assignment is None:
            return super()._saved()
        looks = encoded(np.array(self._fold.looks))
        experiment = {"key": self._assignment.key.hex(), "ended": self._assignment.ended, "looks": looks}
        return super()._saved() | {"experiment": experiment}

    def _resume(self, body: dict[str, Any], where: str) -> None:
        super()._resume(body, where)
        if self.control is not None:
            found = body["experiment"]
            key, ended = bytes.fromhex(found["key"]), found["ended"]
            self._assignment = Assignment(self.control, key, ended=ended)
            self._fold.looks = [leaves.read(look.tobytes(), look.size) for look in decoded(found["looks"])]
