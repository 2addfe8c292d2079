"""The estimate that follows from what was released: one release after the other, and from nothing else. Public."""

from typing import Any, NamedTuple

import numpy as np

from tacit.core import actions
from tacit.core.actions import Declared
from tacit.data import Integers, Released
from tacit.kernels.rounds import next_boundary
from tacit.mechanisms import leaves
from tacit.mechanisms.grid import Grid
from tacit.protocols import Algorithm


class Prior(NamedTuple):
    """What a predecessor released, and the std of its noise."""

    released: Released
    std: float


class Fold:
    """One algorithm's estimates. Whoever reads the same leaves has the same estimate, to the last bit."""

    def __init__(self, algorithm: Algorithm[Any], declared: tuple[Declared, ...], prior: Prior | None) -> None:
        plan = algorithm.plan
        assert isinstance(plan.mechanism, Grid)
        self.algorithm = algorithm if prior is None else algorithm.after(prior.std)
        self.step = 0  # releases so far
        self.entries = 0  # choices of the steps that were released
        self._times: list[float] = []  # of releases
        self._fading, self._schedule, self._prior = plan.mechanism.fading, plan.schedule, prior
        self._prefixes = leaves.Prefixes(plan.mechanism)
        self._released: Released | None = None
        self.looks: list[Released] = []  # what was released of an experiment, at each step
        self._live = algorithm.live(actions.at(declared, 0))
        self.estimate = self._last = algorithm.blank(self._live)  # _last: whatever was offered since
        if prior is not None:
            self._released = leaves.part(prior.released, slice(None))
            self.estimate = self._last = self._estimated(self._released)

    def follow(self, noisy: Released, declared: tuple[Declared, ...], at: float = 0.0, age: float = 0.0) -> None:
        """One release more. The estimate is that of the actions which were offered when its step ended. at: when it is
        visible. age: how old the last choice of its step is then."""
        released = self._prefixes.following(noisy)
        part = self.algorithm.experiment(released)
        self.looks += [] if part is None else [part]
        self.step += 1
        if self._prior is not None:
            released = leaves.after(self._prior.released, self._fading, self.step, released)
        self.entries = int(next_boundary(self.entries, *self._schedule))
        self._live, self._released = self.algorithm.live(actions.at(declared, self.entries)), released
        chosen = sum(time <= at - age for time in self._times)
        self._times.append(at)
        self.estimate = self._last = self._estimated(released, chosen)

    def offer(self, declared: tuple[Declared, ...]) -> None:
        """The same release for the actions that are offered now. What follows the next release does not depend on it:
        a worker that begins later has never seen it."""
        live = self.algorithm.live(declared)
        if np.array_equal(live, self._live):
            return
        self._live = live
        if self._released is None:
            self.estimate = self.algorithm.blank(live)
        else:
            self.estimate = self._estimated(self._released)

    def _estimated(self, released: Released, chosen: int = 0) -> Any:
        return self.algorithm.estimate(self._last, released, self.step, self._live, chosen)

    @property
    def live(self) -> Integers:
        return self._live
