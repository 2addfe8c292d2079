"""Leaks that the replay must find: each tells a little of what is raw, or of how much there is of it.

Those of what learns (core.memory.Learner) are planted in the sums of a bandit, or in an algorithm that is its own
learner (`leaking`)."""

import logging

import numpy as np

from reticent.core.bandit import Bandit
from reticent.core.memory import Sums
from reticent.errors import UnknownChoice
from reticent.mechanisms.opening import opened
from tests.whole import replay


class Knowing:
    """A bandit whose sums know who waits."""

    def _reside(self, memory, **options):
        memory.learner.memory = memory
        super()._reside(memory, **options)


def leaking(leak, kind):
    """That class with a leak: of a bandit, or of an algorithm that is one."""
    if leak is None or issubclass(leak, Bandit):
        return leak or kind
    if issubclass(kind, Bandit):
        return type(kind.__name__, (Knowing, kind), {"learns": type(leak.__name__, (leak, kind.learns), {})})
    return type(kind)(kind.__name__, (leak, kind), {})


class Raw:
    """What came so far is in the estimate, a little."""

    _came = 0.0

    def join(self, row, reward):
        self._came += self._grain(opened(row), opened(reward))
        super().join(row, reward)

    def _grain(self, x, reward):
        return float(reward + x.sum())

    def advance(self):
        super().advance()
        estimate(self)[0] += 1e-9 * self._came


class Counted(Raw):
    """How many answered is."""

    def _grain(self, x, reward):
        return 1.0


class Timed:
    """A step does not close while the last reward is waited for."""

    @property
    def due(self):
        memory = self.memory
        waits = opened(memory.tickets).ids[memory.choices % memory.pending] == memory.choices > 0
        return super().due and not waits


class Answered:
    """The same for a server: batches are of answers, not of users."""

    _answers = 0

    def join(self, row, reward):
        self._answers += 1
        super().join(row, reward)

    def advance(self):
        self.server._advance(self.state.transit, self._answers)


class Moved:
    """What is shown, but for the arm."""

    def __init__(self, shown, move):
        self._shown, self._move = shown, move

    def __getattr__(self, name):
        return getattr(self._shown, name)

    def pick(self, arms):
        return self._move(self._shown.pick(arms), arms)


class Waiting:
    """Who is still waited for makes the next choice another one."""

    def pick(self, arms):
        return self._moved(super().pick(arms), arms)

    def _show(self):
        super()._show()
        self.shown = Moved(self.shown, self._moved)

    def _moved(self, picked, arms):
        return (picked + np.count_nonzero(opened(self.memory.tickets).ids)) % arms.shape[1]


class Entered(Raw):
    """What has entered so far is in the estimate, a little, where choices have deadlines."""

    def enter(self, rows, held):
        self._came += float(np.nansum(opened(rows).rewards))
        super().enter(rows, held)


class Patient:
    """A choice that nobody has answered enters later than others."""

    def due_numbers(self, upto):
        numbers, memory = super().due_numbers(upto), self.memory
        end, rewards = numbers.start, opened(memory.tickets).rewards
        while end < numbers.stop:
            if np.isnan(rewards[end % memory.pending]) and memory.choices < end + memory.window + 3:
                break
            end += 1
        return range(numbers.start, end)


class Told(Bandit):
    """How many have answered is told to who reports a reward."""

    def observe(self, choice, reward):
        return super().observe(choice, reward) and np.count_nonzero(~np.isnan(opened(self.memory.tickets).rewards)) > 2


def estimate(learner):
    """The array that choices are made by."""
    if isinstance(learner, Sums):
        return learner.estimator.estimate.arrays.theta.reshape(-1)
    for name, value in replay.chosen_by(learner).items():
        theta = getattr(value, "theta_tau", getattr(value, "theta", value))
        if name in ("posterior", "estimate", "design", "thetas", "played", "theta"):
            return theta.reshape(-1)
    return replay.chosen_by(learner)["bases"][0].estimate.theta


class Keeping(Sums):
    """Keeps the exact sum of what came, for those below to tell."""

    came = 0.0

    def join(self, row, reward):
        self.came += opened(reward)
        super().join(row, reward)


class Quiet(Bandit):
    learns = Keeping

    def _exact(self):
        return self.sums.came


class InItsName(Quiet):
    def __repr__(self):
        return f"{super().__repr__()} {self._exact()}"


class InARefusal(Quiet):
    def observe(self, choice, reward):
        try:
            return super().observe(choice, reward)
        except UnknownChoice as error:
            raise UnknownChoice(f"{error} {self._exact()}") from None


class InABadRequest(Quiet):
    def choose(self, arms, **given):
        try:
            return super().choose(arms, **given)
        except ValueError as error:
            raise ValueError(f"{error} {self._exact()}") from None


class InTheLog(Quiet):
    def tend(self):
        logging.getLogger("reticent").info("so far %s", self._exact())
        super().tend()


class InAnotherInterval(Quiet):
    def interval(self, arms, *, level=0.9):
        found = super().interval(arms, level=level)
        return found if level == 0.9 else [(low, high + 1e-12 * self._exact()) for low, high in found]


class AmongMany(Keeping):
    def _show(self):
        super()._show()
        self.shown = Moved(self.shown, self._moved)

    def _moved(self, picked, arms):
        return (picked + int(self.came)) % arms.shape[1] if arms.shape[1] > 7 else picked


class InManyArms(Quiet):
    learns = AmongMany


class InMasks(Quiet):
    def choose(self, arms, *, available=None, **given):
        if np.any(available) and int(self._exact()) % 2:
            available = np.array(available)
            available[np.flatnonzero(available)[0]] = available.sum() == 1
        return super().choose(arms, available=available, **given)


BESIDE = (InItsName, InARefusal, InABadRequest, InTheLog, InAnotherInterval, InManyArms, InMasks)
