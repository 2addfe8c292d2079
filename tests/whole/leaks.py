"""Leaks that the replay must find: each tells a little of what is raw, or of how much there is of it."""

import logging

import numpy as np

from tacit import JointGLM
from tacit.errors import UnknownChoice
from tacit.kernels.rounds import BOUNDARY, CHOICES, ENTERED
from tacit.mechanisms.opening import opened
from tests.whole import replay


class Raw:
    """What came so far is in the estimate, a little."""

    def _join(self, row, reward):
        self._came = getattr(self, "_came", 0.0) + self._grain(opened(row), opened(reward))
        super()._join(row, reward)

    def _grain(self, x, reward):
        return float(reward + x.sum())

    def _advance(self):
        super()._advance()
        estimate(self)[0] += 1e-9 * getattr(self, "_came", 0.0)


class Counted(Raw):
    """How many answered is."""

    def _grain(self, x, reward):
        return 1.0


class Timed:
    """A step does not close while the last reward is waited for."""

    def _advance(self):
        counts = self._state.counts
        if opened(self._tickets).ids[self.choices % self.pending] == self.choices > 0:
            counts[BOUNDARY] = max(counts[BOUNDARY], counts[CHOICES] + 1)
        super()._advance()


class Answered:
    """The same for a server: batches are of answers, not of users."""

    def _join(self, row, reward):
        self._answers = getattr(self, "_answers", 0) + 1
        super()._join(row, reward)

    def _advance(self):
        self.server._advance(self._state.transit, getattr(self, "_answers", 0))


class Waiting:
    """Who is still waited for makes the next choice another one."""

    def _pick(self, features):
        return (super()._pick(features) + np.count_nonzero(opened(self._tickets).ids)) % features.shape[1]


class Entered(Raw):
    """What has entered so far is in the estimate, a little, where choices have deadlines."""

    def _entry(self, number):
        entry = super()._entry(number)
        self._came = getattr(self, "_came", 0.0) + (opened(entry.reward) or 0.0)
        return entry


class Patient:
    """A choice that nobody has answered enters later than others."""

    def _enter(self):
        number = int(self._state.counts[ENTERED]) + 1
        answered = not np.isnan(opened(self._tickets).rewards[number % self.pending])
        if answered or self.choices >= number + self.hold + 3:
            super()._enter()


class Told:
    """How many have answered is told to who reports a reward."""

    def _observed(self, ticket, reward):
        return super()._observed(ticket, reward) and np.count_nonzero(~np.isnan(opened(self._tickets).rewards)) > 2


def estimate(bandit):
    """The array that choices are made by."""
    for name, value in replay.chosen_by(bandit).items():
        theta = getattr(value, "theta_tau", getattr(value, "theta", value))
        if name in ("posterior", "estimate", "design", "thetas", "played", "theta"):
            return theta.reshape(-1)
    return replay.chosen_by(bandit)["bases"][0].estimate.theta


# what is said beside choices and estimates


class Quiet(JointGLM):
    """Keeps the exact sum of what came, for those below to tell."""

    def _join(self, row, reward):
        self._came = getattr(self, "_came", 0.0) + opened(reward)
        super()._join(row, reward)

    def _exact(self):
        return getattr(self, "_came", 0.0)


class InItsName(Quiet):
    def __repr__(self):
        return f"{super().__repr__()} {self._exact()}"


class InARefusal(Quiet):
    def _observed(self, ticket, reward):
        try:
            return super()._observed(ticket, reward)
        except UnknownChoice as error:
            raise UnknownChoice(f"{error} {self._exact()}") from None


class InABadRequest(Quiet):
    def choose(self, arms, **given):
        try:
            return super().choose(arms, **given)
        except ValueError as error:
            raise ValueError(f"{error} {self._exact()}") from None


class InTheLog(Quiet):
    def _step(self):
        logging.getLogger("tacit").info("so far %s", self._exact())
        super()._step()


class InAnotherInterval(Quiet):
    def interval(self, arms, *, level=0.9):
        found = super().interval(arms, level=level)
        return found if level == 0.9 else [(low, high + 1e-12 * self._exact()) for low, high in found]


class InManyArms(Quiet):
    def _pick(self, features):
        picked = super()._pick(features)
        return (picked + int(self._exact())) % features.shape[1] if features.shape[1] > 7 else picked


class InMasks(Quiet):
    def choose(self, arms, *, available=None, **given):
        if np.any(available) and int(self._exact()) % 2:
            available = np.array(available)
            available[np.flatnonzero(available)[0]] = available.sum() == 1
        return super().choose(arms, available=available, **given)


BESIDE = (InItsName, InARefusal, InABadRequest, InTheLog, InAnotherInterval, InManyArms, InMasks)
